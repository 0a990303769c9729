package org.apache.spark.scheduler.cluster.yarnspec;

import org.apache.spark.TaskFailedReason;
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
import org.apache.spark.scheduler.TaskInfo;

/** Turns what Spark's listener bus tells into events for the negotiator; it copies and never waits. */
final class ApplicationFeed extends SparkListener {
    private static final int FAILURE_CHARS_MAX = 4_000;

    private final Outbox outbox;
    private final Progress progress;

    ApplicationFeed(Outbox outbox, Progress progress) {
        this.outbox = outbox;
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
                .put("reason", shortened(removed.reason())));
    }

    @Override
    public void onNodeExcluded(SparkListenerNodeExcluded excluded) {
        outbox.add("host_excluded", event -> event.put("host", excluded.hostId())
                .put("failures", excluded.executorFailures()));
    }

    @Override
    public void onNodeUnexcluded(SparkListenerNodeUnexcluded unexcluded) {
        outbox.add("host_unexcluded", event -> event.put("host", unexcluded.hostId()));
    }

    @Override
    public void onJobStart(SparkListenerJobStart started) {
        progress.jobStarted();
    }

    @Override
    public void onJobEnd(SparkListenerJobEnd ended) {
        progress.jobEnded();
    }

    @Override
    public void onStageSubmitted(SparkListenerStageSubmitted submitted) {
        StageInfo stage = submitted.stageInfo();
        progress.stageStarted(stage.stageId(), stage.attemptNumber(), stage.name(), stage.numTasks());
        outbox.add("stage_started", event -> event.put("stage", stage.stageId())
                .put("stage_attempt", stage.attemptNumber())
                .put("name", stage.name())
                .put("tasks", stage.numTasks()));
    }

    @Override
    public void onStageCompleted(SparkListenerStageCompleted completed) {
        StageInfo stage = completed.stageInfo();
        String failure = Scala.orNull(stage.failureReason());
        progress.stageFinished(stage.stageId(), stage.attemptNumber(), failure != null);
        outbox.add("stage_finished", event -> event.put("stage", stage.stageId())
                .put("stage_attempt", stage.attemptNumber())
                .put("failure", shortened(failure)));
    }

    @Override
    public void onTaskStart(SparkListenerTaskStart started) {
        progress.taskStarted(started.stageId(), started.stageAttemptId());
    }

    @Override
    public void onTaskEnd(SparkListenerTaskEnd ended) {
        TaskInfo task = ended.taskInfo();
        if (task == null) {
            return; // Spark posts such an end when it can no longer say which task it was.
        }
        progress.taskEnded(ended.stageId(), ended.stageAttemptId(), task.status());
        String failure = ended.reason() instanceof TaskFailedReason failed ? failed.toErrorString() : null;
        outbox.addOfTask("task_finished", event -> event.put("stage", ended.stageId())
                .put("stage_attempt", ended.stageAttemptId())
                .put("index", task.index())
                .put("attempt", task.attemptNumber())
                .put("task_id", task.taskId())
                .put("executor_id", task.executorId())
                .put("host", task.host())
                .put("state", task.status())
                .put("launch_ms", task.launchTime())
                .put("finish_ms", task.finishTime())
                .put("failure", shortened(failure)));
    }

    @Override
    public void onApplicationEnd(SparkListenerApplicationEnd ended) {
        outbox.add("stopping", event -> {});
    }

    private static String shortened(String text) {
        return text == null || text.length() <= FAILURE_CHARS_MAX ? text : text.substring(0, FAILURE_CHARS_MAX) + " …";
    }
}
