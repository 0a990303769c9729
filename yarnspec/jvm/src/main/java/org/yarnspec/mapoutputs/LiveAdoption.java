package org.yarnspec.mapoutputs;

import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.apache.spark.MapOutputTrackerMaster;
import org.apache.spark.ShuffleStatus;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.ExecutorExited;
import org.apache.spark.scheduler.ExecutorLossReason;
import org.apache.spark.scheduler.LossReasonPending$;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.scheduler.MapStatus$;
import org.apache.spark.storage.BlockManagerId;
import org.yarnspec.channel.Outbox;
import org.yarnspec.mapoutputs.SavedOutputs.OutputKey;
import org.yarnspec.spark.Scala;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Lets the map outputs of an executor that died wait for a new one on its host, while the driver lives.
 *
 * <p>As long as they wait Spark's list has them where they were, no task starts that would read them, and no map runs
 * again. Then they are where the new executor says, or Spark hears what it would have heard before: that they are lost.
 */
public final class LiveAdoption {
    /** How much longer than agreed the negotiator is waited for, which gives up in time. */
    private static final long NEGOTIATOR_MS = 5_000;

    private static volatile LiveAdoption current;

    private final SparkContext context;
    private final Outbox outbox;
    private final long deadlineMs;
    private final Map<String, Waiting> waiting = new ConcurrentHashMap<>();
    private final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor(task -> {
        Thread thread = new Thread(task, "yarnspec-live-adoption");
        thread.setDaemon(true);
        return thread;
    });
    private volatile long epoch;

    /** The outputs of one executor. */
    private static final class Waiting {
        final LiveScheduler scheduler;
        final String executorId;
        final String host;
        final int outputs;
        final long sinceNs = System.nanoTime();
        final Set<Integer> shuffles = ConcurrentHashMap.newKeySet();
        volatile ExecutorLossReason reason;
        int adopted;
        int refused;

        Waiting(LiveScheduler scheduler, String executorId, String host, int outputs) {
            this.scheduler = scheduler;
            this.executorId = executorId;
            this.host = host;
            this.outputs = outputs;
        }
    }

    public LiveAdoption(SparkContext context, Outbox outbox, long deadlineMs) {
        this.context = context;
        this.outbox = outbox;
        this.deadlineMs = deadlineMs;
    }

    /** This JVM's; null when the outputs of an executor that dies are lost while the driver lives, as in Spark. */
    public static LiveAdoption current() {
        return current;
    }

    /** Recovery begins or ends. */
    public static void set(LiveAdoption live) {
        current = live;
    }

    // what Spark's scheduler does

    /** An executor is lost, and Spark does not know yet. */
    public synchronized void lost(LiveScheduler scheduler, String executorId, ExecutorLossReason reason) {
        boolean known = reason != LossReasonPending$.MODULE$;
        Waiting already = waiting.get(executorId);
        if (already != null) {
            already.reason = known ? reason : already.reason;
        } else if (scheduler.sc() == context && (!known || reason instanceof ExecutorExited)) {
            try {
                begin(scheduler, executorId, known ? reason : null);
            } catch (RuntimeException | LinkageError e) {
                waiting.remove(executorId); // what it had is lost with it, as in Spark
                System.err.println("yarnspec: nobody waits for what executor " + executorId + " had: " + e);
            }
        }
    }

    private void begin(LiveScheduler scheduler, String executorId, ExecutorLossReason reason) {
        int outputs = 0;
        String host = "";
        Set<Integer> shuffles = ConcurrentHashMap.newKeySet();
        for (WatchedShuffleStatus status : statuses()) {
            List<MapStatus> there = status.at(executorId);
            if (!there.isEmpty()) {
                outputs += there.size();
                host = there.get(0).location().host();
                shuffles.add(status.shuffle());
            }
        }
        if (outputs == 0 || scheduler.isBlocked(host, executorId)) {
            return;
        }
        Waiting begun = new Waiting(scheduler, executorId, host, outputs);
        begun.reason = reason;
        begun.shuffles.addAll(shuffles);
        waiting.put(executorId, begun);
        for (WatchedShuffleStatus status : statuses()) { // those that it had none of before it was known to wait
            if (!status.at(executorId).isEmpty()) {
                begun.shuffles.add(status.shuffle());
            }
        }
        timer.schedule(
                () -> end(executorId, "the negotiator has said nothing in time"),
                deadlineMs + NEGOTIATOR_MS,
                TimeUnit.MILLISECONDS);
        outbox.add("live_adoption_began", event -> event.put("executor_id", executorId)
                .put("host", begun.host)
                .put("outputs", begun.outputs));
    }

    /** Whether what an executor had is not lost yet. */
    public boolean keeps(String executorId) {
        return waiting.containsKey(executorId);
    }

    /** Spark took a result of an executor: that one may have died just before. */
    public void added(int shuffle, String executorId) {
        Waiting there = waiting.get(executorId);
        if (there != null) {
            there.shuffles.add(shuffle);
        }
    }

    /** Whether a task that reads these shuffles would find outputs that wait. */
    public boolean holdsBack(Collection<Integer> shuffles) {
        for (Waiting each : waiting.values()) {
            for (int shuffle : shuffles) {
                if (each.shuffles.contains(shuffle)) {
                    return true;
                }
            }
        }
        return false;
    }

    /** Whether a finished map need not run again although the executor that ran it is lost. */
    public boolean isSafe(int shuffle, int partition, String executorId) {
        WatchedShuffleStatus status = status(shuffle);
        BlockManagerId place = status == null ? null : status.placeOf(partition);
        return place != null && (!place.executorId().equals(executorId) || keeps(executorId));
    }

    /** The age of Spark's list that tasks have to know at least: executors look again when theirs is older. */
    public long epoch() {
        return epoch;
    }

    // what executors find

    /** Whether an executor that is gone had this output, and it waits. */
    boolean wants(String executorId, OutputKey key) {
        return keeps(executorId) && executorId.equals(executorOf(key));
    }

    /** Whether this output waits, whoever had it. */
    boolean wants(OutputKey key) {
        String executorId = executorOf(key);
        return executorId != null && keeps(executorId);
    }

    private String executorOf(OutputKey key) {
        return executorOf(status(key.shuffle()), key);
    }

    private static String executorOf(WatchedShuffleStatus status, OutputKey key) {
        MapStatus output = status == null ? null : status.of(key.mapId());
        return output == null ? null : output.location().executorId();
    }

    /** Whether an index file with these sizes can be this output's. */
    boolean fits(OutputKey key, long[] sizes) {
        WatchedShuffleStatus status = status(key.shuffle());
        MapStatus output = status == null ? null : status.of(key.mapId());
        return output != null && status.reduces() == sizes.length && fits(output, sizes);
    }

    /** Whether Spark, which keeps sizes roughly, could have been told these. */
    static boolean fits(MapStatus known, long[] sizes) {
        MapStatus found = MapStatus$.MODULE$.apply(known.location(), sizes, known.mapId(), known.checksumValue());
        for (int reducer = 0; reducer < sizes.length; reducer++) {
            if (known.getSizeForBlock(reducer) != found.getSizeForBlock(reducer)) {
                return false;
            }
        }
        return true;
    }

    /** An executor has verified an output and serves it now; false when it does not wait (any more). */
    synchronized boolean adopted(BlockManagerId where, OutputKey key) {
        WatchedShuffleStatus status = status(key.shuffle());
        Waiting there = waitingOf(status, key);
        if (there == null || !status.moved(key.mapId(), where)) {
            return false;
        }
        there.adopted++;
        return true;
    }

    /** An output is not there, or not as Spark knows it; false when it does not wait (any more). */
    synchronized boolean refused(OutputKey key) {
        WatchedShuffleStatus status = status(key.shuffle());
        Waiting there = waitingOf(status, key);
        if (there == null) {
            return false;
        }
        status.gone(key.mapId());
        there.refused++;
        return true;
    }

    /** Null when nothing does; never where there is no status, as of a shuffle that Spark has just dropped. */
    private Waiting waitingOf(WatchedShuffleStatus status, OutputKey key) {
        String executorId = executorOf(status, key);
        return executorId == null ? null : waiting.get(executorId);
    }

    /** An executor has said what became of some outputs. */
    public void settled() {
        for (Waiting each : List.copyOf(waiting.values())) {
            if (count(each.executorId) == 0) {
                // Not by this thread: executors wait for its answer.
                timer.execute(() -> end(each.executorId, "all of them were looked for"));
            }
        }
    }

    private int count(String executorId) {
        return statuses().stream()
                .mapToInt(status -> status.at(executorId).size())
                .sum();
    }

    /** An executor has said all there is on its host. */
    void reported(String host, String executorId) {
        endAll(host, executorId, "executor " + executorId + " has looked for them");
    }

    /** No new executor will come to a host in time. */
    public void hostGone(String host) {
        endAll(host, "", "the negotiator has given them up");
    }

    private void endAll(String host, String notOf, String why) {
        for (Waiting each : List.copyOf(waiting.values())) {
            if (each.host.equals(host) && !each.executorId.equals(notOf)) {
                timer.execute(() -> end(each.executorId, why));
            }
        }
    }

    /** Ends the wait: outputs that nobody took over are lost, and everything goes on. */
    private void end(String executorId, String why) {
        Waiting over;
        int lost;
        synchronized (this) {
            over = waiting.get(executorId);
            if (over == null) {
                return;
            }
            lost = count(executorId); // before Spark's own loop, which may hear of the loss right now, removes them
            waiting.remove(executorId);
            // Makes Spark's list a new one in any case, which executors then ask for.
            tracker().removeOutputsOnExecutor(executorId);
            epoch = tracker().getEpoch();
        }
        if (over.reason != null) {
            over.scheduler.runAgain(executorId, over.host, over.reason);
        }
        outbox.add("live_adoption_ended", event -> event.put("executor_id", executorId)
                .put("host", over.host)
                .put("outputs", over.outputs)
                .put("adopted", over.adopted)
                .put("lost", over.refused + lost)
                .put("waited_ms", TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - over.sinceNs))
                .put("why", why));
        if (!context.isStopped()) {
            over.scheduler.backend().reviveOffers();
        }
    }

    private MapOutputTrackerMaster tracker() {
        return (MapOutputTrackerMaster) context.env().mapOutputTracker();
    }

    private WatchedShuffleStatus status(int shuffle) {
        ShuffleStatus status = Scala.orNull(tracker().shuffleStatuses().get(shuffle));
        return status instanceof WatchedShuffleStatus watched ? watched : null;
    }

    private List<WatchedShuffleStatus> statuses() {
        return CollectionConverters.asJava(tracker().shuffleStatuses()).values().stream()
                .filter(WatchedShuffleStatus.class::isInstance)
                .map(WatchedShuffleStatus.class::cast)
                .toList();
    }
}
