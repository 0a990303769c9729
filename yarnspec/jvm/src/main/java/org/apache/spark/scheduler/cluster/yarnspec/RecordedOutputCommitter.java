package org.apache.spark.scheduler.cluster.yarnspec;

import java.io.IOException;
import java.util.UUID;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapred.FileOutputCommitter;
import org.apache.hadoop.mapred.FileOutputFormat;
import org.apache.hadoop.mapred.JobContext;

/**
 * Hadoop's own commit of what an RDD is saved to through its older interface ({@code saveAsTextFile} and the like), which
 * in the driver goes no step further before the journal has it. In tasks it is Hadoop's in all it does.
 */
public final class RecordedOutputCommitter extends FileOutputCommitter {
    private Writes writes;
    private Writes.Write write;

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
