/**
 * The JVM's half of {@code yarnspec.sink}: tasks that copy what Python wrote to the output's file system, and what the
 * driver asks of Hadoop and Spark in one call instead of many.
 */
package org.yarnspec.sink;
