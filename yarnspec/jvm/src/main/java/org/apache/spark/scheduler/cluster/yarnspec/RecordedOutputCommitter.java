package org.apache.spark.scheduler.cluster.yarnspec;

import java.io.IOException;
import java.util.UUID;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapred.FileOutputCommitter;
import org.apache.hadoop.mapred.FileOutputFormat;
import org.apache.hadoop.mapred.JobContext;
import org.apache.spark.api.java.JavaRDDLike;

/**
 * Hadoop's own commit of what an RDD is saved to through its older interface ({@code saveAsTextFile} and the like), which
 * in the driver goes no step further before the journal has it. In tasks it is Hadoop's in all it does.
 */
public final class RecordedOutputCommitter extends FileOutputCommitter {
    private Writes writes;
    private Writes.Write write;

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

    /** That call is over. */
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
        super.commitJob(context);
        writes.finished(write);
    }

    @Override
    public void abortJob(JobContext context, int state) throws IOException {
        if (write != null) {
            writes.aborting(write);
        }
        super.abortJob(context, state);
    }
}
