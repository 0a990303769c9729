package org.yarnspec.files;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapreduce.lib.output.FileOutputCommitter;

/** All that was in an output when its overwrite began, which is taken at the commit. */
public final class ToOverwrite {
    /** How one thing in the output was. */
    private record Was(boolean isDirectory, long bytes, long changedMs) {
        static Was of(FileStatus status) {
            // Where a directory is may be a part of how local file systems store it.
            long bytes = status.isDirectory() ? 0 : status.getLen();
            return new Was(status.isDirectory(), bytes, status.getModificationTime());
        }
    }

    private final FileSystem files;
    private final Map<Path, Was> before = new TreeMap<>();
    private final long sinceMs;

    /** @param nowMs by the clock of the file system */
    public ToOverwrite(FileSystem files, Path output, long nowMs) throws IOException {
        this.files = files;
        sinceMs = nowMs;
        for (FileStatus each : WrittenFiles.list(files, output)) {
            before.put(each.getPath(), Was.of(each));
        }
        before.remove(WrittenFiles.temporary(output));
    }

    static boolean isMark(Path path) {
        return path.getName().equals(FileOutputCommitter.SUCCEEDED_FILE_NAME);
    }

    /** Files and directories in the output; first the mark that all is there. */
    public List<Path> places() {
        List<Path> places = new ArrayList<>(before.keySet());
        places.sort((one, other) -> Boolean.compare(isMark(other), isMark(one)));
        return places;
    }

    /**
     * Checks that nothing goes that somebody has put there since: a commit of another write to the same output may even
     * have shown files of this one there. Looked at when all is taken: nobody adds anything by its old path then.
     *
     * @throws IllegalStateException something at the top has been changed since
     * @throws IOException something below has, or it cannot be looked at, or may not be deleted
     */
    public void check(Overwritten taken) throws IOException {
        long nowMs = taken.nowMs(); // files of a later time were copied with that
        Map<Path, FileStatus> there = taken.statuses();
        List<FileStatus> directories = new ArrayList<>();
        before.forEach((place, was) -> {
            FileStatus status = there.get(place);
            // In hidden directories other writes keep what they have not shown yet.
            if (status != null && !place.getName().startsWith(".") && !isMark(place)) {
                if (!Was.of(status).equals(was)) {
                    throw changed(place);
                }
                if (status.isDirectory()) {
                    directories.add(status);
                }
            }
        });
        WrittenFiles.walk(directories, each -> look(each, nowMs));
    }

    private FileStatus[] look(FileStatus directory, long nowMs) throws IOException {
        FileStatus[] all = DeleteRights.list(files, directory);
        for (FileStatus each : all) {
            if (each.getModificationTime() > sinceMs && each.getModificationTime() <= nowMs) {
                throw changed(each.getPath());
            }
        }
        return all;
    }

    private static IllegalStateException changed(Path path) {
        return new IllegalStateException(
                "yarnspec: " + path + " has been changed by somebody else while what is to overwrite it was "
                        + "computed. What was there is put back; run it again when nobody else writes there");
    }
}
