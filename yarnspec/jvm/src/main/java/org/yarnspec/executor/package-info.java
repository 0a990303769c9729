/**
 * Runs inside the executors: map outputs stay on the host when an executor ends, and the next executor there takes them over.
 *
 * <p>The driver decides which ones. This room must not know any room of the driver; both share the messages here.
 */
package org.yarnspec.executor;
