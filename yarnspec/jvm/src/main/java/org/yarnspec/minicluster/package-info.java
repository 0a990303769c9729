/**
 * Runs in the daemons of a mini cluster, for tests and demonstrations only.
 *
 * <p>This room knows no other room, and no other room may know it.
 */
package org.yarnspec.minicluster;
