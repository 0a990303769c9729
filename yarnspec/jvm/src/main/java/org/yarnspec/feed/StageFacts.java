package org.yarnspec.feed;

import java.util.concurrent.ConcurrentHashMap;
import java.util.function.IntUnaryOperator;
import org.apache.spark.scheduler.Stage;
import org.apache.spark.scheduler.StageInfo;
import org.apache.spark.scheduler.TaskSet;
import org.yarnspec.stage.StageFlags;
import org.yarnspec.stage.TaskInputs;

/**
 * Facts about the running stage attempts from before their tasks start: flags, and the input of each task.
 *
 * <p>The thread that submits stages tells them. The listener and the scheduler ask for them.
 */
public final class StageFacts {
    private final TaskFeed feed;
    private final IntUnaryOperator executorProfile;
    private final java.util.Map<StageAttempt, Facts> running = new ConcurrentHashMap<>();
    private final Row row = new Row();

    private record StageAttempt(int stage, int attempt) {}

    private record Facts(int flags, long[] inputBytes) {}

    /** @param executorProfile gives the profile of the executors that run the tasks of a stage with this profile */
    public StageFacts(TaskFeed feed, IntUnaryOperator executorProfile) {
        this.feed = feed;
        this.executorProfile = executorProfile;
    }

    /** Looks at a stage attempt that is about to get its tasks, and tells the feed that it starts. */
    public void submitted(TaskSet tasks, Stage stage, TaskInputs inputs) {
        int flags = stage == null ? StageFlags.WRITES : StageFlags.of(stage, tasks.properties());
        long[] inputBytes = stage == null ? new long[0] : inputs.of(stage, tasks.tasks());
        running.put(new StageAttempt(tasks.stageId(), tasks.stageAttemptId()), new Facts(flags, inputBytes));
        if (stage == null) {
            return;
        }
        tell(stage.latestInfo(), tasks.stageAttemptId(), flags);
    }

    /** Tells that a stage starts which had nothing to run, or never got as far as to be submitted. */
    void ended(StageInfo stage) {
        if (running.remove(new StageAttempt(stage.stageId(), stage.attemptNumber())) == null) {
            tell(stage, stage.attemptNumber(), 0);
        }
    }

    private synchronized void tell(StageInfo stage, int attempt, int flags) {
        long startedMs = stage.submissionTime().isDefined()
                ? ((Number) stage.submissionTime().get()).longValue()
                : System.currentTimeMillis();
        feed.add(row.begin(Row.RowKind.STAGE_STARTED, startedMs, stage.stageId(), attempt)
                .state(Row.State.RUNNING)
                .set(Column.TASKS, stage.numTasks())
                .set(Column.FLAGS, flags)
                .set(Column.PROFILE, executorProfile.applyAsInt(stage.resourceProfileId()))
                .text(stage.name()));
    }

    /** The flags of a running stage attempt; one that is not known counts as writing. */
    public int flags(int stage, int attempt) {
        Facts facts = running.get(new StageAttempt(stage, attempt));
        return facts == null ? StageFlags.WRITES : facts.flags();
    }

    /** How many bytes a task will read in all; -1 when that is not known. */
    long inputBytes(int stage, int attempt, int index) {
        Facts facts = running.get(new StageAttempt(stage, attempt));
        return facts == null || index >= facts.inputBytes().length ? -1 : facts.inputBytes()[index];
    }
}
