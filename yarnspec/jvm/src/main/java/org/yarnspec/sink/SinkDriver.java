package org.yarnspec.sink;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.util.concurrent.TimeoutException;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.SparkContext;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.status.api.v1.TaskData;
import org.apache.spark.util.SerializableConfiguration;
import org.yarnspec.recovery.RddIdentity;
import org.yarnspec.signature.DataOrigin;
import scala.jdk.javaapi.CollectionConverters;

/** The calls of {@code yarnspec.sink} in the driver's JVM. The library loads this class out of the jar by itself. */
public final class SinkDriver {
    private static final int LISTENERS_TIMEOUT_MS = 10_000;

    /** The attempts as an RDD of what {@link AttemptWriter} gives, of pieces of files that come from Python. */
    public JavaRDD<byte[]> attempts(JavaRDD<byte[]> chunks, String directory, int epoch) {
        SerializableConfiguration conf =
                new SerializableConfiguration(chunks.context().hadoopConfiguration());
        return chunks.mapPartitions(new AttemptWriter(directory, epoch, conf));
    }

    /** Notes the copies of these attempts' tasks until it is closed. */
    public CopyNotes notes(JavaRDD<byte[]> attempts, String directory, int epoch) {
        CopyNotes notes = new CopyNotes(attempts.context(), attempts.rdd().id(), directory, epoch);
        attempts.context().addSparkListener(notes);
        return notes;
    }

    /** The pieces of files in rows of one column. */
    public JavaRDD<byte[]> chunks(JavaRDD<Row> rows) {
        return rows.map(new ChunkOfRow());
    }

    /** The identity of the pieces, equal in two drivers only when they are the same; empty when that is not known. */
    public String identity(JavaRDD<?> chunks) {
        return RddIdentity.of(chunks.rdd());
    }

    /** The inputs and functions of an RDD; empty when they are not known. */
    public String origin(RDD<?> data) {
        return DataOrigin.of(data);
    }

    /** The inputs and plan of a DataFrame; empty when they are not known. */
    public String origin(Dataset<Row> data) {
        return DataOrigin.of(data);
    }

    /** Size, slash and name of what is in a directory, each with a zero behind it; -1 for a directory's size. */
    public String list(FileSystem files, Path directory) throws IOException {
        StringBuilder told = new StringBuilder();
        try {
            for (FileStatus each : files.listStatus(directory)) {
                if (!each.getPath().equals(directory)) { // a file, listed, is itself
                    told.append(each.isDirectory() ? -1 : each.getLen());
                    told.append('/').append(each.getPath().getName()).append('\0');
                }
            }
        } catch (FileNotFoundException e) {
            return "";
        }
        return told.toString();
    }

    /** Spark's tasks of a stage attempt: partition, task and whether it is a copy, one a line. */
    public String tasks(SparkContext context, int stage, int attempt) throws InterruptedException {
        try {
            context.listenerBus().waitUntilEmpty(LISTENERS_TIMEOUT_MS);
        } catch (TimeoutException e) {
            // Other jobs keep it busy; what is known by now must do.
        }
        StringBuilder told = new StringBuilder();
        for (TaskData task :
                CollectionConverters.asJava(context.statusStore().taskList(stage, attempt, Integer.MAX_VALUE))) {
            told.append(task.partitionId()).append(' ').append(task.taskId());
            told.append(' ').append(task.speculative() ? 1 : 0).append('\n');
        }
        return told.toString();
    }
}
