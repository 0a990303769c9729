package org.yarnspec.feed;

import java.util.HashMap;
import java.util.Map;
import org.apache.spark.Resubmitted$;
import org.apache.spark.scheduler.AccumulableInfo;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerExecutorMetricsUpdate;
import org.apache.spark.scheduler.SparkListenerStageCompleted;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.apache.spark.scheduler.SparkListenerTaskStart;
import org.apache.spark.scheduler.StageInfo;
import org.apache.spark.scheduler.TaskInfo;
import org.yarnspec.spark.Failures;
import org.yarnspec.spark.Scala;
import scala.Tuple4;
import scala.collection.Iterator;
import scala.collection.immutable.Seq;

/** Copies what Spark's listener bus tells of tasks into the feed; it never waits. */
public final class TaskListener extends SparkListener {
    private final TaskFeed feed;
    private final StageFacts stages;
    private final Map<Long, TaskInfo> running = new HashMap<>();
    private final Row row = new Row();

    public TaskListener(TaskFeed feed, StageFacts stages) {
        this.feed = feed;
        this.stages = stages;
    }

    @Override
    public void onStageCompleted(SparkListenerStageCompleted completed) {
        StageInfo stage = completed.stageInfo();
        stages.ended(stage);
        String failure = Scala.orNull(stage.failureReason());
        long endedMs = stage.completionTime().isDefined()
                ? ((Number) stage.completionTime().get()).longValue()
                : System.currentTimeMillis();
        feed.add(row.begin(Row.RowKind.STAGE_ENDED, endedMs, stage.stageId(), stage.attemptNumber())
                .state(failure == null ? Row.State.SUCCESS : Row.State.FAILED)
                .text(Failures.shortened(failure)));
    }

    @Override
    public void onTaskStart(SparkListenerTaskStart started) {
        TaskInfo task = started.taskInfo();
        running.put(task.taskId(), task);
        beginTask(Row.RowKind.TASK_STARTED, task.launchTime(), started.stageId(), started.stageAttemptId(), task);
        row.state(Row.State.RUNNING)
                .set(Column.INPUT_BYTES, stages.inputBytes(started.stageId(), started.stageAttemptId(), task.index()));
        feed.add(row);
    }

    @Override
    public void onTaskEnd(SparkListenerTaskEnd ended) {
        TaskInfo task = ended.taskInfo();
        if (task == null) {
            return; // Spark posts such an end when it can no longer say which task it was.
        }
        running.remove(task.taskId());
        boolean lostLater = ended.reason() == Resubmitted$.MODULE$;
        long endedMs = lostLater ? System.currentTimeMillis() : task.finishTime();
        beginTask(Row.RowKind.TASK_ENDED, endedMs, ended.stageId(), ended.stageAttemptId(), task);
        row.state(lostLater ? Row.State.FAILED : stateOf(task))
                .set(Column.FAILURE, Failures.kindOf(ended.reason()).ordinal())
                .set(Column.FINISH_MS, task.finishTime())
                .text(Failures.textOf(ended.reason()));
        Counters.fill(row, ended.taskMetrics());
        feed.add(row);
    }

    private static Row.State stateOf(TaskInfo task) {
        return task.failed() ? Row.State.FAILED : task.killed() ? Row.State.KILLED : Row.State.SUCCESS;
    }

    @Override
    public void onExecutorMetricsUpdate(SparkListenerExecutorMetricsUpdate update) {
        long nowMs = System.currentTimeMillis();
        Iterator<Tuple4<Object, Object, Object, Seq<AccumulableInfo>>> tasks =
                update.accumUpdates().iterator();
        while (tasks.hasNext()) {
            Tuple4<Object, Object, Object, Seq<AccumulableInfo>> told = tasks.next();
            TaskInfo task = running.get((Long) told._1());
            if (task != null) {
                beginTask(Row.RowKind.TASK_COUNTERS, nowMs, (Integer) told._2(), (Integer) told._3(), task);
                row.state(Row.State.RUNNING);
                Counters.fill(row, told._4());
                feed.add(row);
            }
        }
    }

    private void beginTask(Row.RowKind kind, long timeMs, int stage, int stageAttempt, TaskInfo task) {
        row.begin(kind, timeMs, stage, stageAttempt)
                .set(Column.INDEX, task.index())
                .set(Column.PARTITION, task.partitionId())
                .set(Column.ATTEMPT, task.attemptNumber())
                .set(Column.TASK_ID, task.taskId())
                .set(Column.SPECULATIVE, task.speculative() ? 1 : 0)
                .set(Column.LAUNCH_MS, task.launchTime());
        row.host = task.host();
        row.executor = task.executorId();
    }
}
