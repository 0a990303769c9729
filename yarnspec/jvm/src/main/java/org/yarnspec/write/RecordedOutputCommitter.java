package org.yarnspec.write;

import java.io.IOException;
import java.util.UUID;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileAlreadyExistsException;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapred.FileOutputFormat;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.JobContext;
import org.apache.hadoop.mapred.JobContextImpl;
import org.apache.hadoop.mapreduce.JobStatus;
import org.apache.hadoop.mapreduce.lib.output.FileOutputCommitter;
import org.apache.spark.api.java.JavaRDDLike;
import org.yarnspec.files.OwnAttempts;
import org.yarnspec.files.WrittenFiles;

/**
 * Hadoop's own commit of what an RDD is saved to through its older interface ({@code saveAsTextFile} and the like), which
 * in the driver goes no step further before the journal has it, and deletes no file that is there. In tasks it is Hadoop's
 * in all it does.
 */
public final class RecordedOutputCommitter extends org.apache.hadoop.mapred.FileOutputCommitter {
    private Writes writes;
    private Writes.Write write;
    private boolean showing;

    /**
     * For the program's Python, which asks before it saves an RDD (program_hook/sitecustomize.py): whether an earlier driver
     * has done it.
     *
     * @param call by which call, and how, other than where
     */
    public static boolean isThere(JavaRDDLike<?, ?> rdd, String path, String call) {
        Writes writes = Writes.current();
        return writes != null && writes.isThere(rdd.rdd(), new Path(path), call);
    }

    /** Notes that that call is over. */
    public static void leave(String path) {
        Writes writes = Writes.current();
        if (writes != null) {
            writes.leave(new Path(path));
        }
    }

    @Override
    public void setupJob(JobContext context) throws IOException {
        writes = Writes.current();
        Path output = FileOutputFormat.getOutputPath(context.getJobConf());
        String job = UUID.randomUUID().toString();
        write = writes == null || output == null ? null : writes.save(output, job);
        super.setupJob(context);
        if (write != null) {
            WrittenFiles.mark(output, context, job);
        }
    }

    @Override
    public void commitJob(JobContext context) throws IOException {
        if (write == null) {
            super.commitJob(context);
            return;
        }
        writes.committing(write, WrittenFiles.ofCommittedTasks(write.output(), context));
        FileOutputCommitter hadoops = own(context);
        JobConf conf = new JobConf(context.getJobConf());
        showing = true;
        if (!hadoops.isCommitJobRepeatable(context)) {
            show(hadoops.getJobAttemptPath(context), write.output(), conf);
            // What is left to do is all that a commit of the second algorithm does.
            conf.setInt(FileOutputCommitter.FILEOUTPUTCOMMITTER_ALGORITHM_VERSION, 2);
        }
        JobContext rest = new JobContextImpl(conf, context.getJobID());
        own(rest).commitJob(rest);
        writes.finished(write);
    }

    private FileOutputCommitter own(JobContext context) throws IOException {
        return new OwnAttempts.OfFiles(write.output(), context, () -> writes.deleting(write));
    }

    /**
     * Moves what tasks have committed to where everybody sees it. Hadoop deletes what is there already; but nothing can be, as
     * the directory was made for this, unless it is a newer driver's.
     */
    private static void show(Path attempt, Path output, Configuration conf) throws IOException {
        FileSystem files = attempt.getFileSystem(conf);
        for (FileStatus task : files.listStatus(attempt)) {
            if (!task.getPath().getName().equals(FileOutputCommitter.PENDING_DIR_NAME)) {
                merge(files, task.getPath(), output);
            }
        }
    }

    private static void merge(FileSystem files, Path from, Path to) throws IOException {
        for (FileStatus each : files.listStatus(from)) {
            Path target = new Path(to, each.getPath().getName());
            if (!files.exists(target)) {
                if (!files.rename(each.getPath(), target)) {
                    throw new IOException(each.getPath() + " cannot be moved to " + target);
                }
            } else if (each.isDirectory() && files.getFileStatus(target).isDirectory()) {
                merge(files, each.getPath(), target);
            } else {
                throw new FileAlreadyExistsException(target
                        + " is there already: another task has written a file of the same name, or somebody else has");
            }
        }
    }

    @Override
    public void abortJob(JobContext context, int state) throws IOException {
        if (write == null) {
            super.abortJob(context, state);
            return;
        }
        writes.aborting(write);
        if (writes.isStopping() && !showing) {
            return; // tasks may still write there: the next driver finds the mark of setupJob, and removes all
        }
        own(context).abortJob(context, JobStatus.State.FAILED);
    }
}
