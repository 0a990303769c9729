package org.apache.spark.scheduler.cluster.yarnspec;

import java.io.IOException;
import org.apache.hadoop.mapreduce.JobContext;
import org.apache.hadoop.mapreduce.lib.output.FileOutputCommitter;
import org.apache.spark.internal.io.FileCommitProtocol;
import org.apache.spark.sql.execution.datasources.SQLHadoopMapReduceCommitProtocol;
import scala.Tuple2;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Spark's own commit of the files that a DataFrame writes, which goes no step further before the journal has it.
 *
 * <p>Made in the driver, before anything is deleted or written; tasks get a copy, which is Spark's in all it does.
 */
public final class RecordedCommitProtocol extends SQLHadoopMapReduceCommitProtocol {
    private static final long serialVersionUID = 1;
    private static final WrittenFiles UNKNOWN = new WrittenFiles(0, "");

    private final String job;
    private final transient Writes writes;
    private final transient Writes.Write write;

    public RecordedCommitProtocol(String jobId, String path, boolean dynamicPartitionOverwrite) {
        super(jobId, path, dynamicPartitionOverwrite);
        job = jobId;
        writes = Writes.current();
        write = writes == null ? null : writes.begin(jobId, path);
    }

    @Override
    public void commitJob(JobContext context, Seq<FileCommitProtocol.TaskCommitMessage> tasks) {
        if (write == null) {
            super.commitJob(context, tasks);
            return;
        }
        writes.committing(write, elsewhere(tasks) ? UNKNOWN : files(context));
        super.commitJob(context, tasks);
        writes.finished(write);
    }

    @Override
    public void abortJob(JobContext context) {
        if (write != null) {
            writes.aborting(write);
        }
        super.abortJob(context);
    }

    /** Whether some files belong to partitions with a place of their own: Spark moves these when all others are shown. */
    private static boolean elsewhere(Seq<FileCommitProtocol.TaskCommitMessage> tasks) {
        return CollectionConverters.asJava(tasks).stream()
                .anyMatch(task -> task.obj() instanceof Tuple2<?, ?> told
                        && told._1() instanceof scala.collection.Map<?, ?> moved
                        && !moved.isEmpty());
    }

    /** Of a committer that keeps its files elsewhere nobody can tell later whether it had finished. */
    private WrittenFiles files(JobContext context) {
        try {
            return Fields.get(this, "committer") instanceof FileOutputCommitter committer
                    ? WrittenFiles.ofCommittedTasks(committer, context, job)
                    : UNKNOWN;
        } catch (IOException e) {
            System.err.println("yarnspec: it is not known which files a write has written: " + e);
            return UNKNOWN;
        }
    }
}
