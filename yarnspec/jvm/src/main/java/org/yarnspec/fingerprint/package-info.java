/**
 * Puts plans, RDDs, functions, files and values into a digest. The digest is the same in two drivers only if they are the same.
 *
 * <p>This room must not know shuffles of earlier drivers, writes or the negotiator.
 */
package org.yarnspec.fingerprint;
