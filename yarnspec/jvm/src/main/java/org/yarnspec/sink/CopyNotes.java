package org.yarnspec.sink;

import java.io.IOException;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerStageSubmitted;
import org.apache.spark.scheduler.SparkListenerTaskStart;
import org.apache.spark.scheduler.TaskInfo;
import org.apache.spark.storage.RDDInfo;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Notes each copy of a sink's task, as it starts, by an empty file among the attempts: when this driver dies, the next one
 * finds there which of its tasks had copies.
 */
public final class CopyNotes extends SparkListener implements AutoCloseable {
    static final String COPY = ".copy";

    private final SparkContext context;
    private final int rdd;
    private final Path directory;
    private final int epoch;
    private final Configuration conf;
    private final Set<Integer> stages = ConcurrentHashMap.newKeySet();

    CopyNotes(SparkContext context, int rdd, String attempts, int epoch) {
        this.context = context;
        this.rdd = rdd;
        this.directory = new Path(attempts);
        this.epoch = epoch;
        this.conf = context.hadoopConfiguration();
    }

    /** Only the job's last stage has the RDD of the attempts. */
    @Override
    public void onStageSubmitted(SparkListenerStageSubmitted event) {
        for (RDDInfo each : CollectionConverters.asJava(event.stageInfo().rddInfos())) {
            if (each.id() == rdd) {
                stages.add(event.stageInfo().stageId());
            }
        }
    }

    @Override
    public void onTaskStart(SparkListenerTaskStart event) {
        TaskInfo task = event.taskInfo();
        if (task.speculative() && stages.contains(event.stageId())) {
            String name = AttemptWriter.name(task.partitionId(), epoch, task.taskId());
            // Others listen on this thread, too, and a file system may hang.
            Thread noting = new Thread(() -> note(name), "yarnspec-sink-copy-" + name);
            noting.setDaemon(true);
            noting.start();
        }
    }

    private void note(String name) {
        try {
            FileSystem files = AttemptWriter.files(directory, conf);
            AttemptWriter.create(files, new Path(directory, name + COPY)).close();
        } catch (IOException e) {
            // It costs the next driver this note: nothing that is published hangs on it.
        }
    }

    /** When the job has ended. */
    @Override
    public void close() {
        context.removeSparkListener(this);
    }
}
