/**
 * Small helpers for Spark's own objects: fields that Spark keeps to itself, Scala values, RDD lineages, and why a task failed.
 *
 * <p>This room must not know any other room.
 */
package org.yarnspec.spark;
