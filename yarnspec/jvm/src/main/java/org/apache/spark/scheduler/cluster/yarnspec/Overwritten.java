package org.apache.spark.scheduler.cluster.yarnspec;

import java.io.IOException;
import java.util.List;
import java.util.Set;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/**
 * What a write overwrites goes into a directory of the write's own before it is deleted.
 *
 * <p>A newer driver removes that directory before its program begins, and nobody makes it again: what this driver renames
 * then, be it frozen ever so long between its last question and that, stays where it is. HDFS tells both in one step.
 */
final class Overwritten {
    /** Elsewhere, in an object store for example, a rename may copy all there is. */
    private static final Set<String> RENAMING = Set.of("hdfs", "viewfs", "file");

    private final FileSystem files;
    private final Path directory;
    private final Runnable ask;
    private final boolean renames;
    private int taken;

    /**
     * Makes the directory. Nothing may be taken before it was asked once more whether this driver may go on.
     *
     * @param beside a directory, on the way to which everything is that will be taken
     * @param ask returns when this driver may go on
     */
    Overwritten(FileSystem files, Path beside, String job, Runnable ask) throws IOException {
        this.files = files;
        this.ask = ask;
        directory = directory(beside, job);
        renames = RENAMING.contains(files.getUri().getScheme()) && files.mkdirs(directory);
    }

    private static Path directory(Path beside, String job) {
        return new Path(beside, ".yarnspec-overwritten-" + job);
    }

    /** Takes a file, or a directory with all below it; false when there is nothing. */
    boolean take(Path path) throws IOException {
        if (!files.exists(path)) {
            return false;
        }
        if (isRenamed(path)) {
            return true;
        }
        ask.run();
        return files.delete(path, true);
    }

    private boolean isRenamed(Path path) {
        try {
            // Local files would make the directory again.
            return renames && files.exists(directory) && files.rename(path, new Path(directory, "" + taken++));
        } catch (IOException e) {
            return false; // from one of HDFS's encryption zones into another, for example
        }
    }

    /** Deletes what was taken. */
    void delete() throws IOException {
        if (renames) {
            files.delete(directory, true);
        }
    }

    /** What the driver of that write has not overwritten yet it cannot overwrite any more. */
    static void shutOut(FileSystem files, Path output, String job) throws IOException {
        Path above = output.getParent();
        for (Path beside : above == null ? List.of(output) : List.of(output, above)) {
            Path directory = directory(beside, job);
            if (files.exists(directory)) { // who may not write there may not delete what is not there either
                files.delete(directory, true);
            }
        }
    }
}
