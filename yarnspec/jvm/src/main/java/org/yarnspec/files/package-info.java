/**
 * Handles the files of one write: it counts them, moves aside what an overwrite replaces, and puts it back.
 *
 * <p>This room only works on the file system. It asks nobody, and it must not know the negotiator or Spark's scheduler.
 */
package org.yarnspec.files;
