package org.yarnspec.scheduler;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.TaskFailedReason;
import org.apache.spark.TaskNotSerializableException;
import org.apache.spark.scheduler.DirectTaskResult;
import org.apache.spark.scheduler.ExecutorCacheTaskLocation;
import org.apache.spark.scheduler.ExecutorLossReason;
import org.apache.spark.scheduler.TaskDescription;
import org.apache.spark.scheduler.TaskInfo;
import org.apache.spark.scheduler.TaskLocality;
import org.apache.spark.scheduler.TaskLocation;
import org.apache.spark.scheduler.TaskSet;
import org.apache.spark.scheduler.TaskSetExcludelist;
import org.apache.spark.scheduler.TaskSetManager;
import org.apache.spark.util.SystemClock;
import org.yarnspec.mapoutputs.LiveAdoption;
import org.yarnspec.recovery.Recovery;
import org.yarnspec.spark.Failures;
import org.yarnspec.spark.Scala;
import org.yarnspec.stage.StageFlags;
import scala.Enumeration;
import scala.Option;
import scala.Tuple3;
import scala.collection.immutable.Seq;
import scala.collection.mutable.HashMap;
import scala.collection.mutable.HashSet;
import scala.jdk.javaapi.CollectionConverters;
import scala.math.BigDecimal;

/**
 * One attempt of a stage: Spark's bookkeeping of its tasks, with blocks for the stage and its tasks, and with copies that
 * the negotiator asks for.
 *
 * <p>A copy waits here until a slot is offered that it may take and that no task of the stage waits for, as in Spark: a copy
 * after them is the same work, and may be needless by then. All methods want the scheduler's lock, as in Spark.
 */
public final class WatchedTaskSet extends TaskSetManager {
    private final HostBlockingScheduler scheduler;
    private final int flags;
    private final Set<Integer> reads;
    private final Map<Integer, Copy> waitingCopies = new LinkedHashMap<>();
    private final TaskBlocks taskBlocks;
    private final BitSet anywhere = new BitSet();
    private boolean choosing;

    /** A copy that is wanted: where it must not run, and how many attempts of the task may run at once with it. */
    public record Copy(Set<String> notHosts, int attemptsMax) {}

    /** A copy that was accepted and cannot start any more. */
    record CopyRefusal(int stage, int stageAttempt, int index, String why) {}

    /** @param reads the shuffles that the tasks read, where outputs may come to wait for an executor; else none */
    WatchedTaskSet(HostBlockingScheduler scheduler, TaskSet tasks, int maxTaskFailures, int flags, Set<Integer> reads) {
        super(scheduler, tasks, maxTaskFailures, scheduler.healthTrackerOpt(), new SystemClock());
        this.scheduler = scheduler;
        this.flags = flags;
        this.reads = reads;
        this.taskBlocks = new TaskBlocks(super.taskSetExcludelistHelperOpt());
        blocked();
    }

    /**
     * More is blocked, or executors are gone: waiting tasks that prefer nothing but blocked hosts, of those with executors,
     * may start anywhere at once.
     *
     * <p>Spark takes such a host for busy, and has them wait for it: {@code spark.locality.wait} for each level. Once told
     * so they stay free to go anywhere, also when a block has ended.
     */
    void blocked() {
        Blocks blocks = scheduler.blocks().withoutTasks();
        boolean some = false;
        // Spark takes from the end of its lists, and the first tasks first.
        for (int index = blocks.isEmpty() ? -1 : numTasks() - 1; index >= 0; index--) {
            some |= !successful()[index] && copiesRunning()[index] == 0 && setFree(index, blocks);
        }
        if (some) {
            recomputeLocality();
        }
    }

    private boolean setFree(int index, Blocks blocks) {
        boolean blocked = false;
        for (TaskLocation place : CollectionConverters.asJava(tasks()[index].preferredLocations())) {
            if (blocks.keepOutAll(stageId(), place.host())) {
                blocked = true;
            } else if (scheduler.hasExecutorsAliveOnHost(place.host())) {
                return false;
            }
        }
        if (!blocked || anywhere.get(index)) {
            return false;
        }
        anywhere.set(index);
        pendingTasks().noPrefs().append(index);
        return true;
    }

    /** A task waits to start over. */
    @Override
    public void addPendingTask(int index, boolean resolveRacks, boolean speculatable) {
        super.addPendingTask(index, resolveRacks, speculatable);
        // Spark's constructor calls this before there is anything of ours.
        if (scheduler != null && !speculatable) {
            anywhere.clear(index);
            if (setFree(index, scheduler.blocks())) {
                recomputeLocality();
            }
        }
    }

    /** Whether Spark has found a slow task, where the user leaves copies to Spark. In a job without copies it looks for none. */
    @Override
    public boolean checkSpeculatableTasks(long leastRuntimeMs) {
        return (flags & StageFlags.NO_COPIES) == 0 && super.checkSpeculatableTasks(leastRuntimeMs);
    }

    /**
     * Asks for a copy of a running task; the answer is empty, or says why there will be none.
     *
     * @param notCopied the flags of stages whose tasks are not copied
     */
    String ask(int index, Copy copy, int notCopied) {
        String why = index < 0 || index >= numTasks() ? "it has no such task" : whyNever(flags & notCopied);
        why = why.isEmpty() ? whyNot(index, copy) : why;
        if (why.isEmpty()) {
            waitingCopies.put(index, copy);
        }
        return why;
    }

    private String whyNever(int against) {
        if (isBarrier()) {
            return "tasks of a barrier stage run together or not at all";
        } else if (taskSet().isPipelined()) {
            return "the stage hands its records on while it runs";
        } else if ((against & StageFlags.NO_COPIES) != 0) {
            return "the program asks for no copies of the stage's tasks";
        } else if ((against & StageFlags.WRITES) != 0) {
            return "the stage writes without Spark's commit coordinator, and two attempts of a task could both write";
        } else if ((against & StageFlags.READS) != 0) {
            return "the stage reads a source that is no file, and two attempts of a task could both read it";
        } else if ((against & StageFlags.KEEPS) != 0) {
            return "the stage caches records, and two attempts of a task could leave different ones";
        }
        return "";
    }

    private String whyNot(int index, Copy copy) {
        if (successful()[index]) {
            return "the task has finished";
        } else if (isZombie()) {
            return "the stage attempt has ended";
        }
        int attempts = runningAttempts(index);
        if (attempts == 0) {
            return "no attempt of the task runs";
        }
        return attempts < copy.attemptsMax() ? "" : attempts + " attempts of the task run already";
    }

    void withdraw(int index) {
        waitingCopies.remove(index);
    }

    boolean copiesWait() {
        return !waitingCopies.isEmpty();
    }

    /** Forgets the copies that can no longer start, and says which and why. */
    List<CopyRefusal> refuseImpossible() {
        List<CopyRefusal> refused = new ArrayList<>();
        for (Iterator<Map.Entry<Integer, Copy>> all = waitingCopies.entrySet().iterator(); all.hasNext(); ) {
            Map.Entry<Integer, Copy> entry = all.next();
            String why = whyNot(entry.getKey(), entry.getValue());
            if (!why.isEmpty()) {
                refused.add(new CopyRefusal(stageId(), taskSet().stageAttemptId(), entry.getKey(), why));
                all.remove();
            }
        }
        return refused;
    }

    private int runningAttempts(int index) {
        int running = 0;
        for (TaskInfo attempt : attempts(index)) {
            running += attempt.running() ? 1 : 0;
        }
        return running;
    }

    private Iterable<TaskInfo> attempts(int index) {
        return CollectionConverters.asJava(taskAttempts()[index]);
    }

    @Override
    public boolean isSchedulable() {
        return super.isSchedulable() || !isZombie() && copiesWait();
    }

    @Override
    public Tuple3<Option<TaskDescription>, Object, Object> resourceOffer(
            String executorId,
            String host,
            Enumeration.Value maxLocality,
            BigDecimal taskCpus,
            scala.collection.immutable.Map<String, scala.collection.immutable.Map<String, Object>> resources)
            throws TaskNotSerializableException {
        LiveAdoption live = LiveAdoption.current();
        if (scheduler.blocks().keepOut(stageId(), host, executorId) || live != null && live.holdsBack(reads)) {
            return new Tuple3<>(Option.empty(), false, -1); // what Spark answers for an excluded host
        }
        return super.resourceOffer(executorId, host, maxLocality, taskCpus, resources);
    }

    @Override
    public Option<Tuple3<Object, Enumeration.Value, Object>> dequeueTaskHelper(
            String executorId, String host, Enumeration.Value maxLocality, boolean speculative) {
        if (speculative && copiesWait()) {
            Option<Tuple3<Object, Enumeration.Value, Object>> copy = dequeueCopy(executorId, host, maxLocality);
            if (copy.isDefined()) {
                return copy;
            }
        }
        choosing = scheduler.blocks().hasTasksOf(stageId());
        try {
            return super.dequeueTaskHelper(executorId, host, maxLocality, speculative);
        } finally {
            choosing = false;
        }
    }

    private Option<Tuple3<Object, Enumeration.Value, Object>> dequeueCopy(
            String executorId, String host, Enumeration.Value maxLocality) {
        for (Iterator<Map.Entry<Integer, Copy>> all = waitingCopies.entrySet().iterator(); all.hasNext(); ) {
            Map.Entry<Integer, Copy> entry = all.next();
            int index = entry.getKey();
            Enumeration.Value locality = localityOf(index, executorId, host);
            if (whyNot(index, entry.getValue()).isEmpty()
                    && mayStart(index, entry.getValue(), executorId, host)
                    && TaskLocality.isAllowed(maxLocality, locality)) {
                all.remove();
                // Only now, as dynamic allocation would ask for a container of its own for a copy that waits.
                scheduler.dagScheduler().speculativeTaskSubmitted(tasks()[index], index);
                return Option.apply(new Tuple3<>(index, locality, true));
            }
        }
        return Option.empty();
    }

    private boolean mayStart(int index, Copy copy, String executorId, String host) {
        if (copy.notHosts().contains(host)
                || taskBlocks.isNodeExcludedForTask(host, index)
                || taskBlocks.isExecutorExcludedForTask(executorId, index)) {
            return false;
        }
        for (TaskInfo attempt : attempts(index)) {
            if (attempt.running() && attempt.host().equals(host)) {
                return false;
            }
        }
        return true;
    }

    private Enumeration.Value localityOf(int index, String executorId, String host) {
        Seq<TaskLocation> preferred = tasks()[index].preferredLocations();
        if (preferred.isEmpty()) {
            return TaskLocality.NO_PREF();
        }
        Enumeration.Value locality = TaskLocality.ANY();
        for (TaskLocation place : CollectionConverters.asJava(preferred)) {
            if (place instanceof ExecutorCacheTaskLocation cached
                    && cached.executorId().equals(executorId)) {
                return TaskLocality.PROCESS_LOCAL();
            }
            locality = place.host().equals(host) ? TaskLocality.NODE_LOCAL() : locality;
        }
        return locality;
    }

    /** Spark asks this list which tasks a host or executor may not get; while a task is chosen ours stands in for it. */
    @Override
    public Option<TaskSetExcludelist> taskSetExcludelistHelperOpt() {
        return choosing ? taskBlocks.some : super.taskSetExcludelistHelperOpt();
    }

    /**
     * Gives no task up because of blocks alone: blocks end. Spark has not been offered such executors, and
     * would take those that it knows for all.
     */
    @Override
    public Option<Object> getCompletelyExcludedTaskIfAny(HashMap<String, HashSet<String>> hostToExecutors) {
        return super.getCompletelyExcludedTaskIfAny(scheduler.withKeptBack(hostToExecutors));
    }

    /**
     * While another attempt of the task can still finish, one that fails costs nothing and ends no job; the last one that
     * fails counts, be it original or copy. So the task starts over, and is counted, once for all of them.
     */
    @Override
    public void handleFailedTask(long taskId, Enumeration.Value state, TaskFailedReason reason) {
        TaskInfo info = Scala.orNull(taskInfos().get(taskId));
        boolean othersGoOn = scheduler.copies() && info != null && info.running() && runningAttempts(info.index()) > 1;
        super.handleFailedTask(taskId, state, othersGoOn ? Failures.uncounted(reason, info.speculative()) : reason);
    }

    /** An executor that has older places of map outputs than where they were taken over asks for them anew. */
    @Override
    public TaskDescription prepareLaunchingTask(
            String executorId,
            String host,
            int index,
            Enumeration.Value locality,
            boolean speculative,
            BigDecimal taskCpus,
            scala.collection.immutable.Map<String, scala.collection.immutable.Map<String, Object>> resources,
            long launchTime) {
        LiveAdoption live = LiveAdoption.current();
        if (live != null && tasks()[index].epoch() < live.epoch()) {
            tasks()[index].epoch_$eq(live.epoch());
        }
        return super.prepareLaunchingTask(
                executorId, host, index, locality, speculative, taskCpus, resources, launchTime);
    }

    /**
     * Spark runs again what a lost executor had finished, and asks only of one that was decommissioned whether another
     * has it. Here a map whose output waits for a new executor, or has been taken over, does not look finished to it
     * for as long as it looks: so it stays as it is.
     */
    @Override
    public void executorLost(String executorId, String host, ExecutorLossReason reason) {
        List<Integer> safe = new ArrayList<>();
        LiveAdoption live = LiveAdoption.current();
        if (live != null && taskSet().shuffleId().isDefined()) {
            int shuffle = (Integer) taskSet().shuffleId().get();
            for (int index = 0; index < numTasks(); index++) {
                if (successful()[index] && live.isSafe(shuffle, tasks()[index].partitionId(), executorId)) {
                    safe.add(index);
                }
            }
        }
        safe.forEach(index -> successful()[index] = false);
        try {
            super.executorLost(executorId, host, reason);
        } finally {
            safe.forEach(index -> successful()[index] = true);
        }
        blocked(); // of a task's hosts with executors the blocked ones may be left
    }

    /** Keeps what a map counted for the record of its output, which comes when Spark's tracker has taken the output. */
    @Override
    public void handleSuccessfulTask(long taskId, DirectTaskResult<?> result) {
        Recovery recovery = Recovery.current();
        TaskInfo info = Scala.orNull(taskInfos().get(taskId));
        // Spark looks at no result of an attempt that has ended: its executor was lost meanwhile (SPARK-37300).
        if (recovery != null
                && info != null
                && !info.finished()
                && taskSet().shuffleId().isDefined()) {
            recovery.succeeded((Integer) taskSet().shuffleId().get(), taskId, result);
        }
        super.handleSuccessfulTask(taskId, result);
    }

    /** Spark's own exclusions of this stage's tasks, and our blocks on top. */
    private final class TaskBlocks extends TaskSetExcludelist {
        private final Option<TaskSetExcludelist> sparks;
        private final Option<TaskSetExcludelist> some = Option.apply(this);

        private TaskBlocks(Option<TaskSetExcludelist> sparks) {
            super(
                    scheduler.sc().listenerBus(),
                    scheduler.conf(),
                    WatchedTaskSet.this.stageId(),
                    taskSet().stageAttemptId(),
                    new SystemClock(),
                    true);
            this.sparks = sparks;
        }

        @Override
        public boolean isNodeExcludedForTask(String host, int index) {
            return sparks.isDefined() && sparks.get().isNodeExcludedForTask(host, index)
                    || scheduler.blocks().keepOut(stageId(), index, host, null);
        }

        @Override
        public boolean isExecutorExcludedForTask(String executorId, int index) {
            return sparks.isDefined() && sparks.get().isExecutorExcludedForTask(executorId, index)
                    || scheduler.blocks().keepOut(stageId(), index, null, executorId);
        }
    }
}
