/**
 * Copies what Spark's listener bus tells of stages and tasks, and sends it to the negotiator as Arrow batches and events.
 *
 * <p>Nothing here waits for a reader or decides anything. This room must not know recovery or the scheduler.
 */
package org.yarnspec.feed;
