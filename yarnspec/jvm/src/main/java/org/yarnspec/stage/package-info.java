/**
 * Finds out what a stage is before its tasks start: whether it writes or commits, which sources it reads, whether
 * it runs Python, and how much each task reads.
 *
 * <p>This room looks only at Spark's objects. It must not know who uses its answers.
 */
package org.yarnspec.stage;
