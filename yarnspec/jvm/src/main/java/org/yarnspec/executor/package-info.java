/**
 * What runs inside the executors: map outputs stay on the host when an executor ends, and the next executor there takes
 * them over.
 */
package org.yarnspec.executor;
