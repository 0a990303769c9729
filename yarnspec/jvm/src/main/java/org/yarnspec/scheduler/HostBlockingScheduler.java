package org.yarnspec.scheduler;

import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.IntFunction;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;
import org.apache.spark.resource.ResourceProfile;
import org.apache.spark.resource.ResourceProfileManager;
import org.apache.spark.scheduler.ExecutorLossReason;
import org.apache.spark.scheduler.Pool;
import org.apache.spark.scheduler.Schedulable;
import org.apache.spark.scheduler.ShuffleMapStage;
import org.apache.spark.scheduler.Stage;
import org.apache.spark.scheduler.TaskDescription;
import org.apache.spark.scheduler.TaskSchedulerImpl;
import org.apache.spark.scheduler.TaskSet;
import org.apache.spark.scheduler.TaskSetManager;
import org.apache.spark.scheduler.WorkerOffer;
import org.yarnspec.channel.Outbox;
import org.yarnspec.feed.StageFacts;
import org.yarnspec.feed.TaskFeed;
import org.yarnspec.mapoutputs.LiveAdoption;
import org.yarnspec.mapoutputs.LiveScheduler;
import org.yarnspec.recovery.Recovery;
import org.yarnspec.spark.Scala;
import org.yarnspec.spark.Streams;
import org.yarnspec.stage.StageFlags;
import org.yarnspec.stage.TaskInputs;
import org.yarnspec.write.Writes;
import scala.Option;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;
import scala.collection.mutable.HashMap;
import scala.collection.mutable.HashSet;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Spark's task scheduler, which starts no task where the negotiator blocks it, and copies of tasks where it asks for
 * them. Tasks that run on a blocked host already go on.
 *
 * <p>Spark's own exclusion of hosts and executors after failures works underneath, unchanged.
 */
public final class HostBlockingScheduler extends TaskSchedulerImpl implements LiveScheduler {
    private final boolean speculation;
    private final boolean speculationAsked;
    private final int notCopied;
    private final TaskSpreading spreading;
    private final Outbox outbox;
    private final StageFacts stages;
    private final TaskInputs inputs;
    private final Set<WatchedTaskSet> withCopies = new LinkedHashSet<>();
    // Executors that Spark is not offered because of blocks, with their hosts.
    private final Map<String, String> keptBack = new LinkedHashMap<>();
    private Blocks blocks = Blocks.NONE;
    private boolean streamTold;

    public HostBlockingScheduler(SparkContext context, Outbox outbox, TaskFeed feed) {
        super(context);
        this.outbox = outbox;
        stages = new StageFacts(feed, this::executorProfile);
        inputs = new TaskInputs(mapOutputTracker());
        speculation = context.conf().getBoolean("spark.yarnspec.speculation", false);
        speculationAsked = context.conf().getBoolean("spark.yarnspec.speculationAsked", false);
        notCopied = StageFlags.NO_COPIES
                | unless(context.conf(), "spark.yarnspec.copyWriters", StageFlags.WRITES)
                | unless(context.conf(), "spark.yarnspec.copyReaders", StageFlags.READS)
                | unless(context.conf(), "spark.yarnspec.copyCached", StageFlags.KEEPS);
        spreading = TaskSpreading.of(context.conf());
    }

    /** Without dynamic allocation the usual executors run the tasks of every profile. */
    private int executorProfile(int stageProfile) {
        int usual = ResourceProfile.DEFAULT_RESOURCE_PROFILE_ID();
        return sc().resourceProfileManager().canBeScheduled(stageProfile, usual) ? usual : stageProfile;
    }

    private static int unless(SparkConf conf, String allowed, int flag) {
        return conf.getBoolean(allowed, false) ? 0 : flag;
    }

    /** What is known of the stages that run, for who tells of their tasks. */
    public StageFacts stages() {
        return stages;
    }

    /** Whether yarnspec copies tasks; if not, all that copies need is as in Spark. */
    boolean copies() {
        return speculation;
    }

    /** Replaces the blocks. What may start now, or elsewhere, waits for offers. */
    public synchronized void block(Blocks newBlocks) {
        boolean hosts = !blocks.withoutTasks().cover(newBlocks.withoutTasks());
        blocks = newBlocks;
        if (hosts) {
            forEachTaskSet(WatchedTaskSet::blocked);
        }
    }

    synchronized Blocks blocks() {
        return blocks;
    }

    @Override
    @SuppressWarnings("unchecked") // Scala's filterNot loses its collection's type on the way to Java
    public synchronized Seq<Seq<TaskDescription>> resourceOffers(
            IndexedSeq<WorkerOffer> offers, boolean isAllFreeResources) {
        Blocks.Places blocked = blocks.all();
        for (WorkerOffer offer : CollectionConverters.asJava(offers)) {
            if (blocked.hold(offer.host(), offer.executorId())) {
                keptBack.put(offer.executorId(), offer.host());
            } else {
                keptBack.remove(offer.executorId());
            }
        }
        IndexedSeq<WorkerOffer> allowed =
                (IndexedSeq<WorkerOffer>) offers.filterNot(offer -> blocked.hold(offer.host(), offer.executorId()));
        try {
            // A round that the blocks made empty must not reach Spark: it would count as "everything was offered and
            // nothing was rejected" and restart the timers of locality scheduling.
            return allowed.isEmpty() && !offers.isEmpty()
                    ? Scala.emptySeq()
                    : super.resourceOffers(allowed, isAllFreeResources);
        } finally {
            refuseImpossibleCopies();
        }
    }

    /** Called once for each round of offers: tasks start in this order. */
    @Override
    public IndexedSeq<WorkerOffer> shuffleOffers(IndexedSeq<WorkerOffer> offers) {
        if (spreading == null || offers.size() < 2) {
            return super.shuffleOffers(offers); // one alone is an executor whose task has ended
        }
        Map<String, Integer> running = new LinkedHashMap<>();
        runningTasksByExecutors().foreach(entry -> running.put(entry._1(), (Integer) entry._2()));
        Map<String, Set<String>> executors = new LinkedHashMap<>();
        hostToExecutors().foreach(entry -> executors.put(entry._1(), CollectionConverters.asJava(entry._2())));
        List<WorkerOffer> ordered =
                spreading.order(CollectionConverters.asJava(offers), running, executors, waitingByExecutorProfile());
        return CollectionConverters.asScala(ordered).toIndexedSeq();
    }

    private IntFunction<List<ResourceProfile>> waitingByExecutorProfile() {
        Set<Integer> waiting = new LinkedHashSet<>();
        forEachOf(rootPool(), TaskSetManager.class, tasks -> {
            if (waits(tasks)) {
                waiting.add(tasks.taskSet().resourceProfileId());
            }
        });
        ResourceProfileManager profiles = sc().resourceProfileManager();
        return executorProfile -> waiting.stream()
                .filter(profile -> profiles.canBeScheduled(profile, executorProfile))
                .map(profiles::resourceProfileFromId)
                .toList();
    }

    /** Whether a task or a copy waits for a slot: Spark's lists also hold tasks that have started meanwhile. */
    private static boolean waits(TaskSetManager tasks) {
        if (!tasks.isSchedulable()) {
            return false;
        }
        boolean copies = !tasks.pendingSpeculatableTasks().all().isEmpty()
                || tasks instanceof WatchedTaskSet watched && watched.copiesWait();
        return copies
                || CollectionConverters.asJava(tasks.pendingTasks().all()).stream()
                        .mapToInt(index -> (Integer) index)
                        .anyMatch(index -> !tasks.successful()[index] && tasks.copiesRunning()[index] == 0);
    }

    /** The executors that Spark knows of, and those that only blocks keep back from it. */
    synchronized HashMap<String, HashSet<String>> withKeptBack(HashMap<String, HashSet<String>> hostToExecutors) {
        if (keptBack.isEmpty()) {
            return hostToExecutors;
        }
        HashMap<String, HashSet<String>> all = new HashMap<>();
        all.addAll(hostToExecutors);
        keptBack.forEach((executorId, host) -> {
            HashSet<String> there = new HashSet<>();
            if (all.contains(host)) {
                there.addAll(all.apply(host));
            }
            there.add(executorId);
            all.update(host, there);
        });
        return all;
    }

    private void refuseImpossibleCopies() {
        for (WatchedTaskSet tasks : List.copyOf(withCopies)) {
            for (WatchedTaskSet.CopyRefusal refusal : tasks.refuseImpossible()) {
                outbox.add("copy_refused", event -> event.put("stage", refusal.stage())
                        .put("stage_attempt", refusal.stageAttempt())
                        .put("index", refusal.index())
                        .put("why", refusal.why()));
            }
            if (!tasks.copiesWait()) {
                withCopies.remove(tasks);
            }
        }
    }

    /** Asks for a copy of a task; empty when it will start as soon as a slot fits, else why there will be none. */
    public synchronized String askForCopy(int stage, int stageAttempt, int index, WatchedTaskSet.Copy copy) {
        TaskSetManager found = Scala.orNull(taskSetManagerForAttempt(stage, stageAttempt));
        if (!(found instanceof WatchedTaskSet tasks)) {
            return found == null ? "the stage attempt has ended" : "the stage belongs to a stream";
        }
        String why = tasks.ask(index, copy, notCopied);
        if (why.isEmpty()) {
            withCopies.add(tasks);
        }
        return why;
    }

    /** Forgets a copy that has not started. */
    public synchronized void withdrawCopy(int stage, int stageAttempt, int index) {
        if (Scala.orNull(taskSetManagerForAttempt(stage, stageAttempt)) instanceof WatchedTaskSet tasks) {
            tasks.withdraw(index);
        }
    }

    @Override
    public void executorLost(String executorId, ExecutorLossReason reason) {
        if (Recovery.current() != null) {
            Recovery.current().executorLost(executorId);
        }
        LiveAdoption live = LiveAdoption.current();
        if (live != null) {
            live.lost(this, executorId, reason); // before Spark looks for what is lost with it
        }
        synchronized (this) {
            keptBack.remove(executorId);
        }
        super.executorLost(executorId, reason);
    }

    @Override
    public boolean isBlocked(String host, String executorId) {
        return blocks().all().hold(host, executorId);
    }

    @Override
    public synchronized void runAgain(String executorId, String host, ExecutorLossReason reason) {
        forEachTaskSet(tasks -> tasks.executorLost(executorId, host, reason));
    }

    private void forEachTaskSet(Consumer<WatchedTaskSet> what) {
        forEachOf(rootPool(), WatchedTaskSet.class, what);
    }

    private static <T extends Schedulable> void forEachOf(Schedulable one, Class<T> kind, Consumer<T> what) {
        if (kind.isInstance(one)) {
            what.accept(kind.cast(one));
        } else if (one instanceof Pool pool) {
            pool.schedulableQueue().forEach(each -> forEachOf(each, kind, what));
        }
    }

    /** Fails the job of a stage that cannot run as the user asked for. */
    @Override
    public void submitTasks(TaskSet tasks) {
        Stage stage = Scala.orNull(dagScheduler().stageIdToStage().get(tasks.stageId()));
        String refusal = refusalOf(tasks, stage);
        if (refusal != null) {
            dagScheduler().taskSetFailed(tasks, refusal, Option.empty());
            return;
        }
        if (speculation && isStream(tasks)) {
            tellOfStream();
        }
        stages.submitted(tasks, stage, inputs);
        tellRecovery(tasks, stage);
        super.submitTasks(tasks);
    }

    private void tellRecovery(TaskSet tasks, Stage stage) {
        Recovery recovery = Recovery.current();
        if (recovery != null && stage != null) {
            int flags = stages.flags(tasks.stageId(), tasks.stageAttemptId());
            recovery.unrecorded().begins(stage, flags);
            recovery.begins(stage, flags, tasks);
        }
    }

    @Override
    public TaskSetManager createTaskSetManager(TaskSet tasks, int maxTaskFailures) {
        return isStream(tasks)
                ? super.createTaskSetManager(tasks, maxTaskFailures)
                : new WatchedTaskSet(
                        this,
                        tasks,
                        maxTaskFailures,
                        stages.flags(tasks.stageId(), tasks.stageAttemptId()),
                        shufflesBelow(tasks));
    }

    private Set<Integer> shufflesBelow(TaskSet tasks) {
        Set<Integer> found = new LinkedHashSet<>();
        Stage stage = LiveAdoption.current() == null
                ? null
                : Scala.orNull(dagScheduler().stageIdToStage().get(tasks.stageId()));
        if (stage != null) {
            for (Stage below : CollectionConverters.asJava(stage.parents())) {
                if (below instanceof ShuffleMapStage maps) {
                    found.add(maps.shuffleDep().shuffleId());
                }
            }
        }
        return found;
    }

    private String refusalOf(TaskSet tasks, Stage stage) {
        if (speculation && speculationAsked && isStream(tasks)) {
            return "yarnspec copies slow tasks of batch jobs only, but stage " + tasks.stageId()
                    + " belongs to a stream, and speculation was asked for. Leave that away, or submit the program with"
                    + " --set speculation.enabled=false.";
        }
        Writes writes = Writes.current();
        String refused = writes == null || isStream(tasks) ? "" : writes.refusalOf(stage);
        return refused.isEmpty() ? null : refused;
    }

    /** By default a stream runs as without yarnspec's speculation, which the user hears of once. */
    private synchronized void tellOfStream() {
        if (!streamTold) {
            streamTold = true;
            outbox.add("program_warned", event -> event.put("key", "speculation.enabled")
                    .put("message", "the program runs a stream: none of its tasks is copied, however slow it is"));
        }
    }

    private static boolean isStream(TaskSet tasks) {
        return Streams.own(tasks.properties());
    }
}
