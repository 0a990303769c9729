package org.apache.spark.scheduler.cluster.yarnspec;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapreduce.lib.output.FileOutputCommitter;

/** All that was in an output when its overwrite began, which is taken at the commit. */
final class ToOverwrite {
    private final FileSystem files;
    private final Path output;
    private final long sinceMs;
    private final Map<Path, FileStatus> before;

    /** To be made right after something was changed in the output itself, which tells the time by the file system's clock. */
    ToOverwrite(FileSystem files, Path output) throws IOException {
        this.files = files;
        this.output = output;
        sinceMs = changedMs();
        before = children();
    }

    static boolean isMark(Path path) {
        return path.getName().equals(FileOutputCommitter.SUCCEEDED_FILE_NAME);
    }

    private long changedMs() throws IOException {
        return files.getFileStatus(output).getModificationTime();
    }

    private Map<Path, FileStatus> children() throws IOException {
        Map<Path, FileStatus> found = new TreeMap<>();
        for (FileStatus each : WrittenFiles.list(files, output)) {
            found.put(each.getPath(), each);
        }
        found.remove(WrittenFiles.temporary(output));
        return found;
    }

    /** Files and directories in the output; first the mark that all is there. */
    List<Path> places() {
        List<Path> places = new ArrayList<>(before.keySet());
        places.sort((one, other) -> Boolean.compare(isMark(other), isMark(one)));
        return places;
    }

    /**
     * What somebody has put there since would be taken with it: a commit of another write to the same output may even have
     * shown files of this one there. To be called, too, right after a change in the output itself.
     *
     * @throws IOException something has been changed since
     */
    void check() throws IOException {
        long nowMs = changedMs(); // files of a later time were copied with that
        Map<Path, FileStatus> now = children();
        List<FileStatus> level = new ArrayList<>();
        for (FileStatus each : before.values()) {
            FileStatus there = now.get(each.getPath());
            // In hidden directories other writes keep what they have not shown yet.
            boolean counts = !each.getPath().getName().startsWith(".") && !isMark(each.getPath());
            if (counts && there != null) {
                if (!isSame(each, there)) {
                    refuse(there);
                }
                level.add(there);
            }
        }
        while (!level.isEmpty()) {
            level = below(level);
            for (FileStatus each : level) {
                if (each.getModificationTime() > sinceMs && each.getModificationTime() <= nowMs) {
                    refuse(each);
                }
            }
        }
    }

    private static boolean isSame(FileStatus one, FileStatus other) {
        return one.isDirectory() == other.isDirectory()
                && one.getLen() == other.getLen()
                && one.getModificationTime() == other.getModificationTime();
    }

    private static void refuse(FileStatus changed) throws IOException {
        throw new IOException(changed.getPath() + " has been changed by somebody else while what is to overwrite it was computed. "
                + "Nothing is overwritten; run it again when nobody else writes there");
    }

    private List<FileStatus> below(List<FileStatus> level) throws IOException {
        List<Callable<FileStatus[]>> listings = new ArrayList<>();
        for (FileStatus each : level) {
            if (each.isDirectory()) {
                listings.add(() -> WrittenFiles.list(files, each.getPath()));
            }
        }
        List<FileStatus> found = new ArrayList<>();
        WrittenFiles.inParallel(listings).forEach(each -> found.addAll(List.of(each)));
        return found;
    }
}
