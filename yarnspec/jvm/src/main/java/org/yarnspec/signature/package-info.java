/**
 * Says what a shuffle or a write is, so that a driver can compare it with one of an earlier driver.
 *
 * <p>In doubt the answer is "unknown": a wrong match is a wrong result. This room must not know whether anything is used again.
 */
package org.yarnspec.signature;
