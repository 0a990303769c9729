package org.apache.spark.scheduler.cluster.yarnspec;

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
import scala.collection.immutable.Seq;

/**
 * Spark's own commit of the files that a DataFrame writes, which goes no step further before the journal has it.
 *
 * <p>Made in the driver, before anything is deleted or written; tasks get a copy, which is Spark's in all it does.
 */
public final class RecordedCommitProtocol extends SQLHadoopMapReduceCommitProtocol {
    private static final long serialVersionUID = 1;
    private static final WrittenFiles UNKNOWN = new WrittenFiles(0, "");

    private final String job;
    private final boolean overwritesPartitions;
    private final transient Writes writes;
    private final transient Writes.Write write;
    /** Null of a write that overwrites all, or nothing. */
    private transient Overwritten overwritten;

    public RecordedCommitProtocol(String jobId, String path, boolean dynamicPartitionOverwrite) {
        super(jobId, path, dynamicPartitionOverwrite);
        job = jobId;
        overwritesPartitions = dynamicPartitionOverwrite;
        writes = Writes.current();
        write = writes == null ? null : writes.begin(jobId, path);
    }

    /** From here on it can be told that nothing has been overwritten yet. */
    @Override
    public void setupJob(JobContext context) {
        super.setupJob(context);
        if (write != null && overwritesPartitions) {
            try {
                overwritten = overwritten(write.output().getFileSystem(context.getConfiguration()), write.output());
                overwritten.willTake(List.of());
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    @Override
    public void commitJob(JobContext context, Seq<FileCommitProtocol.TaskCommitMessage> tasks) {
        if (write == null) {
            super.commitJob(context, tasks);
            return;
        }
        StagedFiles staged = StagedFiles.of(tasks);
        if (overwritesPartitions) {
            overwrite(context, staged);
        } else {
            writes.committing(write, files(context, staged));
            super.commitJob(context, tasks);
        }
        writes.finished(write);
    }

    /** As Spark's own commit, but for how it deletes the partitions that are there. */
    private void overwrite(JobContext context, StagedFiles staged) {
        try {
            FileSystem files = write.output().getFileSystem(context.getConfiguration());
            overwritten.willTake(staged.places(write.output()));
            writes.committing(write, files(context, staged));
            committer().commitJob(context);
            staged.show(files, stagingDir(), write.output(), overwritten);
            overwritten.delete();
            removeStaging(files);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** All is shown by then, whether or not this fails. */
    private void removeStaging(FileSystem files) {
        try {
            files.delete(stagingDir(), true);
        } catch (IOException e) {
            System.err.println("yarnspec: what is left of a write's staging directory is not deleted: " + e);
        }
    }

    @Override
    public boolean deleteWithJob(FileSystem files, Path path, boolean recursive) {
        if (write == null) {
            return super.deleteWithJob(files, path, recursive);
        }
        try {
            Path output = files.makeQualified(write.output());
            Path beside = path.equals(output) && !output.isRoot() ? output.getParent() : output;
            Overwritten all = overwritten(files, beside);
            writes.deleting(write);
            boolean deleted = all.take(path);
            all.delete();
            return deleted;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private Overwritten overwritten(FileSystem files, Path beside) throws IOException {
        return new Overwritten(files, beside, job, () -> writes.deleting(write));
    }

    @Override
    public void abortJob(JobContext context) {
        if (write != null) {
            writes.aborting(write);
            undo();
        }
        super.abortJob(context);
    }

    /** A newer driver finds the rest of it, if there is one. */
    private void undo() {
        try {
            if (overwritten != null) {
                overwritten.undo();
            }
        } catch (IOException e) {
            System.err.println("yarnspec: what a write that failed has overwritten is not all put back: " + e);
        }
    }

    @Override
    public OutputCommitter setupCommitter(TaskAttemptContext context) {
        OutputCommitter committer = super.setupCommitter(context);
        return write == null ? committer : OwnAttempts.of(committer, context, () -> writes.deleting(write));
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
