package org.yarnspec.write;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapreduce.JobContext;
import org.apache.hadoop.mapreduce.OutputCommitter;
import org.apache.hadoop.mapreduce.TaskAttemptContext;
import org.apache.hadoop.mapreduce.lib.output.FileOutputCommitter;
import org.apache.spark.internal.io.FileCommitProtocol;
import org.apache.spark.sql.execution.datasources.SQLHadoopMapReduceCommitProtocol;
import org.yarnspec.files.DeleteRights;
import org.yarnspec.files.Overwritten;
import org.yarnspec.files.OwnAttempts;
import org.yarnspec.files.StagedFiles;
import org.yarnspec.files.ToOverwrite;
import org.yarnspec.files.WrittenFiles;
import org.yarnspec.spark.Fields;
import org.yarnspec.stage.CoordinatedCommit;
import scala.collection.immutable.Seq;

/**
 * Spark's own commit of the files that a DataFrame writes, which goes no step further before the journal has it.
 *
 * <p>Made in the driver, before anything is deleted or written; tasks get a copy, which is Spark's in all it does.
 */
public final class RecordedCommitProtocol extends SQLHadoopMapReduceCommitProtocol implements CoordinatedCommit {
    private static final long serialVersionUID = 1;
    private static final WrittenFiles UNKNOWN = new WrittenFiles(0, "");

    private final String job;
    private final boolean overwritesPartitions;
    private final transient Writes writes;
    private final transient Writes.Write write;
    /**
     * The files that stay until the commit, where Spark deletes them before anything is computed; null when it does
     * not.
     */
    private transient ToOverwrite before;
    /** Whether something was deleted before the commit. */
    private transient boolean cleared;
    /** Null before the commit, and of a write that overwrites nothing. */
    private transient Overwritten overwritten;

    public RecordedCommitProtocol(String jobId, String path, boolean dynamicPartitionOverwrite) {
        super(jobId, path, dynamicPartitionOverwrite);
        job = jobId;
        overwritesPartitions = dynamicPartitionOverwrite;
        writes = Writes.current();
        write = writes == null ? null : writes.begin(jobId, path);
    }

    @Override
    public void commitJob(JobContext context, Seq<FileCommitProtocol.TaskCommitMessage> tasks) {
        if (write == null) {
            super.commitJob(context, tasks);
            return;
        }
        StagedFiles staged = StagedFiles.of(tasks);
        try {
            if (overwritesPartitions) {
                overwrite(context, staged);
            } else if (before != null) {
                replace(context, tasks, staged);
            } else {
                writes.committing(write, files(context, staged));
                super.commitJob(context, tasks);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        writes.finished(write);
    }

    /** Commits as Spark does, but deletes the partitions that are there in our way. */
    private void overwrite(JobContext context, StagedFiles staged) throws IOException {
        FileSystem files = filesOf(context);
        List<Path> places = staged.places(write.output());
        if (Overwritten.takes(files, write.output())) {
            DeleteRights.checkAll(files, places);
        }
        overwritten = overwritten(files, write.output());
        overwriting(places, context, staged);
        committer().commitJob(context);
        staged.show(files, stagingDir(), write.output(), overwritten);
        shown();
        for (String failed : writes.replacedIn(write, places)) {
            remove(() -> Overwritten.drop(files, write.output(), failed), "what a write that failed has overwritten");
        }
        remove(() -> files.delete(stagingDir(), true), "what is left of a write's staging directory");
    }

    /** Commits as Spark does, once the old files are out of its way. */
    private void replace(JobContext context, Seq<FileCommitProtocol.TaskCommitMessage> tasks, StagedFiles staged)
            throws IOException {
        overwritten = overwritten(filesOf(context), write.output());
        overwriting(before.places(), context, staged);
        for (Path each : before.places()) {
            overwritten.take(each);
        }
        before.check(overwritten);
        super.commitJob(context, tasks);
        shown();
        writes.replaced(write);
    }

    /** From here on something that was there may be gone. */
    private void overwriting(List<Path> places, JobContext context, StagedFiles staged) throws IOException {
        overwritten.willTake(places);
        writes.committing(write, files(context, staged));
    }

    /** Whatever fails from here on, it is not put back any more. */
    private void shown() {
        Overwritten done = overwritten;
        overwritten = null;
        remove(done::delete, "what a write has overwritten");
    }

    private FileSystem filesOf(JobContext context) throws IOException {
        return write.output().getFileSystem(context.getConfiguration());
    }

    private interface Removal {
        void run() throws IOException;
    }

    /** All is shown by then, whether or not this fails. */
    private static void remove(Removal removal, String what) {
        try {
            removal.run();
        } catch (IOException | RuntimeException e) {
            System.err.println("yarnspec: " + what + " is not deleted: " + e);
        }
    }

    @Override
    public boolean deleteWithJob(FileSystem files, Path path, boolean recursive) {
        if (write == null) {
            return super.deleteWithJob(files, path, recursive);
        }
        try {
            boolean mayWait = write.defers() && !cleared && isOutput(files, path) && Overwritten.takes(files, path);
            if (mayWait && isPlain(files, path)) {
                before = leave(files, path);
                return true;
            }
            writes.clearing(write);
            clearWhatWaits(files); // else it would be put back without this
            return clear(files, List.of(path));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Of a link Spark deletes the link alone, and one that is moved may lead nowhere. */
    private static boolean isPlain(FileSystem files, Path path) throws IOException {
        return files.getFileStatus(path).isDirectory()
                && !DeleteRights.isLink(files, path)
                && !DeleteRights.holdsLink(files, path);
    }

    /** But for what tasks have not shown: the commit would show that too. */
    private ToOverwrite leave(FileSystem files, Path output) throws IOException {
        DeleteRights.checkIn(files, output); // before anything goes
        Overwritten gone = overwritten(files, output);
        writes.deleting(write);
        long nowMs = gone.nowMs();
        gone.clear(List.of(WrittenFiles.temporary(output)));
        return new ToOverwrite(files, output, nowMs);
    }

    private boolean isOutput(FileSystem files, Path path) {
        return path.equals(files.makeQualified(write.output()));
    }

    private void clearWhatWaits(FileSystem files) throws IOException {
        cleared = true;
        if (before != null) {
            clear(files, before.places());
            before = null;
        }
    }

    /** At once, as Spark does: when this driver dies nobody can put it back. */
    private boolean clear(FileSystem files, List<Path> paths) throws IOException {
        boolean all = paths.size() == 1
                && isOutput(files, paths.get(0))
                && !write.output().isRoot();
        Overwritten gone = overwritten(files, all ? write.output().getParent() : write.output());
        writes.deleting(write);
        try {
            return gone.clear(paths);
        } finally {
            if (gone.hasStranded()) {
                writes.overwrittenInPart(write, job, !all, paths);
            }
        }
    }

    private Overwritten overwritten(FileSystem files, Path beside) throws IOException {
        return new Overwritten(files, beside, job, () -> writes.deleting(write));
    }

    @Override
    public void abortJob(JobContext context) {
        boolean interrupted = Thread.interrupted(); // else nothing could be asked, and nothing were put back
        try {
            if (write != null) {
                if (overwritten != null && overwritten.hasTaken()) {
                    writes.overwrittenInPart(
                            write,
                            job,
                            before == null,
                            overwritten.places()); // also when the next question is not answered
                }
                writes.aborting(write);
                undo();
            }
            super.abortJob(context);
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** A newer driver finds the rest of it, if there is one. */
    private void undo() {
        try {
            if (overwritten != null && overwritten.undo(write.output())) {
                writes.putBack(write);
            }
        } catch (IOException e) {
            System.err.println("yarnspec: what a write that failed has overwritten is not all put back: " + e);
        }
    }

    @Override
    public OutputCommitter setupCommitter(TaskAttemptContext context) {
        OutputCommitter committer = super.setupCommitter(context);
        if (write == null) {
            return committer;
        }
        OutputCommitter own = OwnAttempts.of(committer, context, () -> writes.deleting(write));
        // Else files may be shown before the commit: what they take the place of must be gone by then.
        boolean waits = OwnAttempts.isOne(own) && !WrittenFiles.areShownByTasks(context);
        if (!waits && before != null) {
            try {
                writes.clearing(write);
                clearWhatWaits(filesOf(context));
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
        return own;
    }

    /** Of a committer that keeps its files elsewhere nobody can tell later whether it had finished. */
    private WrittenFiles files(JobContext context, StagedFiles staged) {
        // Spark moves what belongs elsewhere when all others are shown.
        if (!staged.elsewhere().isEmpty() || !OwnAttempts.isOne(committer())) {
            return UNKNOWN;
        }
        try {
            return WrittenFiles.ofCommittedTasks((FileOutputCommitter) committer(), context, job);
        } catch (IOException e) {
            System.err.println("yarnspec: it is not known which files a write has written: " + e);
            return UNKNOWN;
        }
    }

    private OutputCommitter committer() {
        return (OutputCommitter) Fields.get(this, "committer");
    }
}
