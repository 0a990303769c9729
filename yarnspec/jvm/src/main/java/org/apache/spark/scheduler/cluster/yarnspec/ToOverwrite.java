package org.apache.spark.scheduler.cluster.yarnspec;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapreduce.lib.output.FileOutputCommitter;

/**
 * All that was in an output when its overwrite began, which is taken at the commit.
 *
 * @param places files and directories in the output; first the mark that all is there
 * @param atMs when that was, by the clock of the file system
 */
record ToOverwrite(List<Path> places, long atMs) {
    static ToOverwrite of(FileSystem files, Path output, long atMs) throws IOException {
        List<Path> places = new ArrayList<>();
        for (FileStatus each : WrittenFiles.list(files, output)) {
            if (isMark(each.getPath())) {
                places.add(0, each.getPath());
            } else if (!each.getPath().equals(WrittenFiles.temporary(output))) {
                places.add(each.getPath());
            }
        }
        return new ToOverwrite(places, atMs);
    }

    static boolean isMark(Path path) {
        return path.getName().equals(FileOutputCommitter.SUCCEEDED_FILE_NAME);
    }

    /**
     * What somebody has put there since would be taken with it: a commit of another write to the same output may even have
     * shown files of this one there.
     */
    void check(FileSystem files) throws IOException {
        List<Callable<Void>> looks = new ArrayList<>();
        for (Path each : places) {
            // Where other writes keep what they have not shown yet.
            boolean isHidden = each.getName().startsWith(".");
            if (!isHidden && !isMark(each)) {
                looks.add(() -> look(files, each));
            }
        }
        WrittenFiles.inParallel(looks);
    }

    private Void look(FileSystem files, Path place) throws IOException {
        try {
            look(files, files.getFileStatus(place));
        } catch (FileNotFoundException e) {
            // It need not be taken any more.
        }
        return null;
    }

    private void look(FileSystem files, FileStatus status) throws IOException {
        if (status.getModificationTime() > atMs) {
            throw new IOException(status.getPath() + " has been changed by somebody else while what is to overwrite it was "
                    + "computed. Nothing is overwritten; run it again when nobody else writes there");
        }
        if (status.isDirectory()) {
            for (FileStatus each : WrittenFiles.list(files, status.getPath())) {
                look(files, each);
            }
        }
    }
}
