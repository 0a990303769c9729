package org.yarnspec.feed;

import com.codahale.metrics.Counter;
import com.fasterxml.jackson.databind.node.ArrayNode;
import java.util.HashSet;
import java.util.Set;
import org.apache.spark.Resubmitted$;
import org.apache.spark.SparkConf;
import org.apache.spark.scheduler.HealthTracker;
import org.apache.spark.scheduler.JobFailed;
import org.apache.spark.scheduler.LiveListenerBus;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerApplicationEnd;
import org.apache.spark.scheduler.SparkListenerExecutorAdded;
import org.apache.spark.scheduler.SparkListenerExecutorRemoved;
import org.apache.spark.scheduler.SparkListenerJobEnd;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.apache.spark.scheduler.SparkListenerNodeExcluded;
import org.apache.spark.scheduler.SparkListenerNodeUnexcluded;
import org.apache.spark.scheduler.SparkListenerStageCompleted;
import org.apache.spark.scheduler.SparkListenerStageSubmitted;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.apache.spark.scheduler.SparkListenerTaskStart;
import org.apache.spark.scheduler.StageInfo;
import org.yarnspec.channel.Outbox;
import org.yarnspec.spark.Failures;
import org.yarnspec.spark.Streams;
import scala.jdk.javaapi.CollectionConverters;

/** Turns what Spark's listener bus tells into events for the negotiator; it copies and never waits. */
public final class ApplicationFeed extends SparkListener {
    /** A queue of our own: another listener that is slow cannot make the bus drop what the negotiator needs. */
    public static final String QUEUE = "yarnspec";

    private final Outbox outbox;
    private final TaskFeed tasks;
    private final Progress progress;
    private final Counter droppedBySpark;
    private final long excludedMs;
    private final Set<Integer> ofStreams = new HashSet<>();
    private long droppedTold;

    /** Events that follow on tasks say how many rows the feed of tasks had taken by then: the two are read apart. */
    public ApplicationFeed(LiveListenerBus bus, SparkConf conf, Outbox outbox, TaskFeed tasks, Progress progress) {
        this.droppedBySpark = bus.metrics().metricRegistry().counter("queue." + QUEUE + ".numDroppedEvents");
        this.excludedMs = HealthTracker.getExcludeOnFailureTimeout(conf);
        this.outbox = outbox;
        this.tasks = tasks;
        this.progress = progress;
    }

    @Override
    public void onExecutorAdded(SparkListenerExecutorAdded added) {
        outbox.add("executor_registered", event -> event.put("executor_id", added.executorId())
                .put("host", added.executorInfo().executorHost())
                .put("cores", added.executorInfo().totalCores()));
    }

    @Override
    public void onExecutorRemoved(SparkListenerExecutorRemoved removed) {
        outbox.add("executor_removed", event -> event.put("executor_id", removed.executorId())
                .put("reason", Failures.shortened(removed.reason())));
    }

    @Override
    public void onNodeExcluded(SparkListenerNodeExcluded excluded) {
        outbox.add("host_excluded", event -> event.put("host", excluded.hostId())
                .put("failures", excluded.executorFailures())
                .put("timeout_ms", excludedMs));
    }

    @Override
    public void onNodeUnexcluded(SparkListenerNodeUnexcluded unexcluded) {
        outbox.add("host_unexcluded", event -> event.put("host", unexcluded.hostId()));
    }

    @Override
    public void onJobStart(SparkListenerJobStart started) {
        progress.jobStarted();
        if (Streams.own(started.properties())) {
            ofStreams.add(started.jobId());
        }
        outbox.add("job_started", event -> {
            ArrayNode stages = event.put("job", started.jobId()).putArray("stages");
            CollectionConverters.asJava(started.stageIds()).forEach(stage -> stages.add((Integer) stage));
            ArrayNode parents = event.putArray("parents");
            for (StageInfo stage : CollectionConverters.asJava(started.stageInfos())) {
                if (!stage.parentIds().isEmpty()) {
                    ArrayNode read = parents.addArray().add(stage.stageId()).addArray();
                    CollectionConverters.asJava(stage.parentIds()).forEach(parent -> read.add((Integer) parent));
                }
            }
        });
    }

    @Override
    public void onJobEnd(SparkListenerJobEnd ended) {
        progress.jobEnded();
        String failure = ended.jobResult() instanceof JobFailed failed
                ? failed.exception().getMessage()
                : "";
        boolean stream = ofStreams.remove(ended.jobId());
        outbox.add("job_ended", event -> event.put("job", ended.jobId())
                .put("failure", Failures.shortened(failure == null ? "it failed" : failure))
                .put("stream", stream)
                .put("feed_rows", tasks.rows()));
    }

    @Override
    public void onStageSubmitted(SparkListenerStageSubmitted submitted) {
        StageInfo stage = submitted.stageInfo();
        progress.stageStarted(stage.stageId(), stage.attemptNumber(), stage.name(), stage.numTasks());
    }

    @Override
    public void onStageCompleted(SparkListenerStageCompleted completed) {
        StageInfo stage = completed.stageInfo();
        progress.stageFinished(
                stage.stageId(), stage.attemptNumber(), stage.failureReason().isDefined());
        tellDropped();
    }

    /** Spark drops events of its own when a queue of it is full; it counts them and nobody is told. */
    private void tellDropped() {
        long more = droppedBySpark.getCount() - droppedTold;
        if (more > 0) {
            droppedTold += more;
            outbox.add("feed_dropped", event -> event.put("count", more));
        }
    }

    @Override
    public void onTaskStart(SparkListenerTaskStart started) {
        progress.taskStarted(started.stageId(), started.stageAttemptId());
    }

    @Override
    public void onTaskEnd(SparkListenerTaskEnd ended) {
        if (ended.reason() == Resubmitted$.MODULE$) {
            progress.outputLost(ended.stageId(), ended.stageAttemptId());
        } else if (ended.taskInfo() != null) {
            progress.taskEnded(
                    ended.stageId(), ended.stageAttemptId(), ended.taskInfo().status());
        }
    }

    @Override
    public void onApplicationEnd(SparkListenerApplicationEnd ended) {
        outbox.add("stopping", event -> event.put("feed_rows", tasks.rows()));
    }
}
