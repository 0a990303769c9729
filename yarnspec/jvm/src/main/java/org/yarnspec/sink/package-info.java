/**
 * The JVM's half of {@code yarnspec.sink}: tasks copy what Python wrote to the output's file system, and the driver answers what
 * Python would need many calls for.
 *
 * <p>No other room may know this one: a program without YARN uses it as well.
 */
package org.yarnspec.sink;
