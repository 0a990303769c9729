package org.yarnspec.files;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapreduce.JobContext;
import org.apache.hadoop.mapreduce.lib.output.FileOutputCommitter;
import org.yarnspec.fingerprint.Fingerprint;

/**
 * The files of one write: those whose names hold its job's id, which no other write has, or all in its directory. Where
 * they are tells how far its commit has come.
 *
 * @param digest of their names below the path of the output, and their lengths; where the names tell nothing of the write,
 *     and a rename keeps it, their modification times as well
 */
public record WrittenFiles(int count, String digest) {
    /** In place of a job's id: all files that are not hidden. */
    public static final String ALL = "";

    /** The part that the names of files have in common that one job of a DataFrame writes. */
    public static final Pattern JOB = Pattern.compile("\\p{XDigit}{8}(-\\p{XDigit}{4}){3}-\\p{XDigit}{12}");

    private static final int LISTINGS = 16;
    private static final String FILES = "*";
    private static final String TEMPORARY = "_temporary";
    private static final String MARK = ".yarnspec-";
    private static final String TASK = "task_";

    private static WrittenFiles of(Map<String, List<Long>> files) {
        Fingerprint all = new Fingerprint();
        files.forEach((name, facts) -> {
            all.add(name);
            facts.forEach(all::add);
        });
        return new WrittenFiles(files.size(), all.hex());
    }

    /** The files that everybody sees. */
    public static WrittenFiles shown(FileSystem files, Path output, String job) throws IOException {
        return of(below(files, output, job));
    }

    /** In place of a directory with all below it: the files in it. */
    public static Path filesIn(Path directory) {
        return new Path(directory, FILES);
    }

    /** The jobs in the name of a file: whoever moves it leaves them there. */
    public static Set<String> jobs(String name) {
        return JOB.matcher(name).results().map(MatchResult::group).collect(Collectors.toSet());
    }

    /** Leaves word in a directory, until its write is committed, that all in it is that write's. */
    public static void mark(Path output, JobContext context, String job) throws IOException {
        Path attempt = new FileOutputCommitter(output, context).getJobAttemptPath(context);
        attempt.getFileSystem(context.getConfiguration())
                .create(mark(attempt, job))
                .close();
    }

    /** Among what tasks have not committed, where no commit looks for files. */
    private static Path mark(Path attempt, String job) {
        return new Path(new Path(attempt, TEMPORARY), MARK + job);
    }

    /** The files of a write to whose directory nobody else writes, as they will be shown. */
    public static WrittenFiles ofCommittedTasks(Path output, JobContext context) throws IOException {
        return ofCommittedTasks(new FileOutputCommitter(output, context), context, ALL);
    }

    /** The files that will be shown when the job is committed: of all tasks that have committed. */
    public static WrittenFiles ofCommittedTasks(FileOutputCommitter committer, JobContext context, String job)
            throws IOException {
        Path attempt = committer.getJobAttemptPath(context);
        FileSystem files = attempt.getFileSystem(context.getConfiguration());
        Map<String, List<Long>> found = belowTasks(files, attempt, job);
        if (areShownByTasks(context)) {
            found.putAll(below(files, attempt.getParent().getParent(), job));
        }
        return of(found);
    }

    /** Algorithm 2 of Hadoop's committers shows what a task has written when that is committed. */
    public static boolean areShownByTasks(JobContext context) {
        int algorithm = context.getConfiguration()
                .getInt(
                        FileOutputCommitter.FILEOUTPUTCOMMITTER_ALGORITHM_VERSION,
                        FileOutputCommitter.FILEOUTPUTCOMMITTER_ALGORITHM_VERSION_DEFAULT);
        return algorithm != 1;
    }

    private static Map<String, List<Long>> belowTasks(FileSystem files, Path attempt, String job) throws IOException {
        List<Callable<Map<String, List<Long>>>> listings = new ArrayList<>();
        for (FileStatus task : list(files, attempt)) {
            if (task.isDirectory() && task.getPath().getName().startsWith(TASK)) {
                listings.add(() -> below(files, task.getPath(), job));
            }
        }
        Map<String, List<Long>> found = new TreeMap<>();
        inParallel(listings).forEach(found::putAll);
        return found;
    }

    /** Several at a time: each listing takes the file system a while. */
    static <T> List<T> inParallel(List<Callable<T>> listings) throws IOException {
        ExecutorService threads = Executors.newFixedThreadPool(LISTINGS);
        try {
            List<Future<T>> begun = new ArrayList<>();
            listings.forEach(each -> begun.add(threads.submit(each)));
            List<T> found = new ArrayList<>();
            for (Future<T> each : begun) {
                found.add(each.get());
            }
            return found;
        } catch (ExecutionException e) {
            throw new IOException(e.getCause().getMessage(), e.getCause());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted in the midst of a commit", e);
        } finally {
            threads.shutdownNow();
        }
    }

    /** Looks at one thing. */
    interface FileSystemCall<T, R> {
        R at(T one) throws IOException;
    }

    /** All that is found at any of them, several looks at a time. */
    static <T, R> List<R> inParallel(List<T> all, FileSystemCall<T, List<R>> look) throws IOException {
        List<Callable<List<R>>> looks = new ArrayList<>();
        all.forEach(each -> looks.add(() -> look.at(each)));
        return inParallel(looks).stream().flatMap(List::stream).toList();
    }

    /** @param listing looks at a directory, and tells what is in it; so at each of those below */
    static void walk(List<FileStatus> directories, FileSystemCall<FileStatus, FileStatus[]> listing)
            throws IOException {
        List<FileStatus> level = directories;
        while (!level.isEmpty()) {
            level = inParallel(level, each -> Stream.of(listing.at(each))
                    .filter(FileStatus::isDirectory)
                    .toList());
        }
    }

    private static Map<String, List<Long>> below(FileSystem files, Path directory, String job) throws IOException {
        Map<String, List<Long>> found = new TreeMap<>();
        collect(files, directory, "", job, found);
        if (!job.equals(ALL) || !Overwritten.takes(files, directory)) {
            found.replaceAll((name, facts) -> facts.subList(0, 1)); // the length
        }
        return found;
    }

    private static void collect(
            FileSystem files, Path directory, String above, String job, Map<String, List<Long>> found)
            throws IOException {
        for (FileStatus each : list(files, directory)) {
            String name = each.getPath().getName();
            if (!each.isDirectory() && name.contains(job) && !(job.equals(ALL) && isHidden(name))) {
                found.put(above + name, List.of(each.getLen(), each.getModificationTime()));
            } else if (each.isDirectory() && !isHidden(name)) {
                try {
                    collect(files, each.getPath(), above + name + "/", job, found);
                } catch (IOException e) {
                    if (!isClosed(files, each)) {
                        throw e;
                    }
                }
            }
        }
    }

    /** Whether Spark hides it: a partition's directory may begin with an underscore. */
    private static boolean isHidden(String name) {
        return name.startsWith(".") || name.startsWith("_") && !name.contains("=");
    }

    /** Where tasks write what is not shown yet. */
    public static Path temporary(Path output) {
        return new Path(output, TEMPORARY);
    }

    /** The entries of a directory; none when it is not there. */
    static FileStatus[] list(FileSystem files, Path directory) throws IOException {
        try {
            return files.listStatus(directory);
        } catch (FileNotFoundException e) {
            return new FileStatus[0];
        }
    }

    /** Whether nothing can be in it of a write of this user's; false when that is not known. */
    private static boolean isClosed(FileSystem files, FileStatus entry) {
        try {
            return entry.isDirectory() && DeleteRights.isClosed(files, entry);
        } catch (IOException e) {
            return false;
        }
    }

    /**
     * Removes what is left of a write that was not committed. First what it might still move: a driver that is thought
     * dead and is not finds nothing any more.
     */
    public static void undo(FileSystem files, Path output, String job, int epoch) throws IOException {
        removeTemporary(files, output, job, epoch);
        removeOwn(files, output, job, false);
    }

    /** Removes its files in a directory that everybody sees, and the directory when that empties it. */
    static void removeShown(FileSystem files, Path directory, String job) throws IOException {
        if (removeOwn(files, directory, job, false)) {
            removeIfEmpty(files, directory);
        }
    }

    /** Removes a directory unless there is something in it. */
    public static void removeIfEmpty(FileSystem files, Path output) throws IOException {
        removeEmpty(files, output, false);
    }

    /**
     * Removes a directory that holds nothing but what was not committed of one write; false when that cannot be told: then
     * only what is empty goes.
     */
    public static boolean undoSave(FileSystem files, Path output, String job, int epoch) throws IOException {
        Path temporary = new Path(output, TEMPORARY);
        Path attempt = new Path(temporary, String.valueOf(epoch));
        if (files.exists(mark(attempt, job)) && list(files, temporary).length == 1) {
            return files.delete(output, true);
        }
        for (Path each : new Path[] {new Path(attempt, TEMPORARY), attempt, temporary, output}) {
            removeIfEmpty(files, each);
        }
        return !files.exists(output);
    }

    /** Does what a commit does when all files are shown. */
    public static void finish(FileSystem files, Path output, String job, int epoch, Configuration conf)
            throws IOException {
        removeTemporary(files, output, job, epoch);
        if (conf.getBoolean(FileOutputCommitter.SUCCESSFUL_JOB_OUTPUT_DIR_MARKER, true)) {
            files.create(new Path(output, FileOutputCommitter.SUCCEEDED_FILE_NAME), true)
                    .close();
        }
    }

    private static void removeTemporary(FileSystem files, Path output, String job, int epoch) throws IOException {
        Path temporary = new Path(output, TEMPORARY);
        Path attempt = new Path(temporary, String.valueOf(epoch));
        removeOwn(files, attempt, job, true);
        removeIfEmpty(files, attempt);
        files.delete(new Path(output, ".spark-staging-" + job), true);
        removeIfEmpty(files, temporary);
    }

    /**
     * Removes its files below a directory, and the directories that this empties; others may write there as well. What
     * the write has overwritten stays.
     *
     * @param empty whether directories that were empty already go too
     * @throws IOException where one of them cannot be looked at; from the others they are removed
     */
    private static boolean removeOwn(FileSystem files, Path directory, String job, boolean empty) throws IOException {
        boolean removed = false;
        IOException failed = null;
        for (FileStatus each : list(files, directory)) {
            Path path = each.getPath();
            try {
                if (!each.isDirectory()) {
                    removed |= path.getName().contains(job) && files.delete(path, false);
                } else if (!isOwnHidden(path, job) && (removeOwn(files, path, job, empty) || empty)) {
                    removed = true;
                    removeEmpty(files, path, empty);
                }
            } catch (IOException e) {
                failed = failed == null && !isClosed(files, each) ? e : failed;
            }
        }
        if (failed != null) {
            throw failed;
        }
        return removed;
    }

    private static boolean isOwnHidden(Path directory, String job) {
        return directory.getName().startsWith(MARK) && directory.getName().endsWith(job);
    }

    /** @param hidden whether what is not listed goes too: a local file may have been moved without its checksum */
    private static void removeEmpty(FileSystem files, Path directory, boolean hidden) throws IOException {
        if (files.exists(directory) && list(files, directory).length == 0) {
            files.delete(directory, hidden);
        }
    }
}
