package org.yarnspec.write;

import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Predicate;
import org.apache.spark.MapOutputTrackerMaster;
import org.apache.spark.SparkEnv;
import org.apache.spark.scheduler.ShuffleMapStage;
import org.apache.spark.scheduler.Stage;
import org.yarnspec.mapoutputs.EpochNumbers;
import org.yarnspec.mapoutputs.LiveAdoption;
import org.yarnspec.signature.DriverSignatures;
import org.yarnspec.signature.Signature;
import org.yarnspec.spark.Lineage;

/**
 * Which shuffles hold, or will hold, other records than what an earlier driver made a write of that is not done again.
 *
 * <p>The program's functions may give other rows when a map runs again. What is computed from such a shuffle does not go
 * with what was written: rows would be in both, or in none. So stages that read it do not run, nor is committed what was
 * made of it, and it is said why.
 */
public final class StaleShuffles {
    private final DriverSignatures signatures;
    private final Map<Integer, String> why = new ConcurrentHashMap<>();
    /** The shuffles that this driver's shown outputs were made of, each with the shuffles below it. */
    private final Map<Integer, Set<Integer>> shown = new HashMap<>();

    private final Map<Integer, KeptEpochs> kept = new HashMap<>();

    public StaleShuffles(DriverSignatures signatures) {
        this.signatures = signatures;
    }

    /** Whether all map outputs of a shuffle are there to stay, and of none the task had that number or a later one. */
    public static boolean isAsBefore(int shuffle, long task) {
        LiveAdoption live = LiveAdoption.current();
        if (live == null) {
            return isAsBefore(shuffle, task, executorId -> false);
        }
        synchronized (live) { // else what waits may be given up between the two questions
            return isAsBefore(shuffle, task, live::keeps);
        }
    }

    /** @param waits whether what an executor had waits for another one, and may have to run again */
    private static boolean isAsBefore(int shuffle, long task, Predicate<String> waits) {
        MapOutputTrackerMaster tracker = (MapOutputTrackerMaster) SparkEnv.get().mapOutputTracker();
        return tracker.shuffleStatuses()
                .get(shuffle)
                .exists(status -> status.withMapStatuses(all -> {
                    for (var each : all) {
                        if (each == null
                                || each.mapId() >= task
                                || waits.test(each.location().executorId())) {
                            return false;
                        }
                    }
                    return true;
                }));
    }

    /**
     * A write of an earlier epoch is not done again: what it is computed from must be what it was then, and with it what
     * this driver has made of that already, or an epoch in between.
     *
     * @throws IllegalStateException something that was made of it has been shown by this driver, or is kept as well
     */
    void skipped(Signature write, String output, int epoch) {
        long later = (epoch + 1) * EpochNumbers.TASKS_PER_EPOCH;
        Set<Integer> below = varyingBelow(write.parents());
        Set<Integer> mixed = new HashSet<>(below);
        mixed.removeIf(shuffle -> isAsBefore(shuffle, later));
        String said = whyKept(output);
        Set<Integer> found = mixed;
        while (!found.isEmpty()) { // what comes above those that are marked already will be marked as it comes
            found.forEach(shuffle -> why.putIfAbsent(shuffle, said));
            mixed.addAll(found);
            found = signatures.shufflesAbove(mixed);
            found.removeIf(shuffle -> mixed.contains(shuffle) || isAsBefore(shuffle, later));
        }
        synchronized (kept) {
            below.forEach(shuffle ->
                    kept.computeIfAbsent(shuffle, each -> new KeptEpochs()).readIn(epoch));
            mixed.forEach(shuffle ->
                    kept.computeIfAbsent(shuffle, each -> new KeptEpochs()).changedSince(epoch));
            below.removeIf(shuffle -> !kept.get(shuffle).isMixed());
        }
        synchronized (shown) {
            mixed.retainAll(shown.keySet());
        }
        below.addAll(mixed);
        if (!below.isEmpty()) {
            String marked = whyNot(below);
            refuse(marked.isEmpty() ? said : marked); // a shuffle may have been dropped meanwhile, and its mark with it
        }
    }

    /** A shuffle, and the epochs of those kept writes that read it, and of those for which it, or one below it, has changed. */
    private static final class KeptEpochs {
        private int newest;
        private int oldestBefore = Integer.MAX_VALUE;

        void readIn(int epoch) {
            newest = Math.max(newest, epoch);
        }

        /** The shuffle is not what it was for a write of this epoch. */
        void changedSince(int epoch) {
            oldestBefore = Math.min(oldestBefore, epoch);
        }

        /** Whether one was done by an epoch in which it may have been computed again, and another one before. */
        boolean isMixed() {
            return newest > oldestBefore;
        }
    }

    /** The shuffles among these, and all below them, whose maps may give other rows in another run. */
    private Set<Integer> varyingBelow(Collection<Integer> shuffles) {
        Set<Integer> found = signatures.shufflesBelow(shuffles);
        found.removeIf(shuffle -> !signatures.varies(shuffle));
        return found;
    }

    private static String whyKept(String output) {
        return "yarnspec: " + output
                + " was written by an earlier driver epoch and is kept, but a part of what it "
                + "was computed from is lost, and may be other rows when it is computed again; this would mix the two. Remove "
                + "the output and submit the program again, or say that its functions always give the same: "
                + "--set recovery.repeatable=true";
    }

    /** Why a stage must not run; empty when it may. */
    String refusalOf(Stage stage) {
        if (why.isEmpty()) {
            return "";
        }
        Set<Integer> involved = Lineage.shufflesOf(stage.rdd()); // below what is cached as well: that was read from it
        if (stage instanceof ShuffleMapStage maps) {
            involved.add(maps.shuffleDep().shuffleId());
        }
        return whyNot(involved);
    }

    private String whyNot(Collection<Integer> shuffles) {
        return shuffles.stream()
                .map(why::get)
                .filter(Objects::nonNull)
                .findFirst()
                .orElse("");
    }

    /**
     * Lets nothing be replaced by rows that were made of these shuffles.
     *
     * @throws IllegalStateException they are such ones
     */
    void refuse(Collection<Integer> shuffles) {
        String reason = whyNot(shuffles);
        if (!reason.isEmpty()) {
            refuse(reason);
        }
    }

    private static void refuse(String reason) {
        System.err.println(reason); // for whoever does not see what the program does with the error
        throw new IllegalStateException(reason);
    }

    /**
     * Checks rows made of these shuffles that are about to be shown.
     *
     * @throws IllegalStateException they turned out to be such ones since it was begun
     */
    void showing(Collection<Integer> shuffles) {
        refuse(shuffles);
        for (int shuffle : shuffles) {
            Set<Integer> below = varyingBelow(Set.of(shuffle));
            synchronized (shown) {
                shown.put(shuffle, below);
            }
        }
        refuse(shuffles); // another thread may just have found out
    }

    /** A shuffle has just got this number. What comes back of it was made of what it reads as that is today. */
    public void registered(int shuffle, Signature signature) {
        String reason = whyNot(signature.parents());
        if (!reason.isEmpty()) {
            why.putIfAbsent(shuffle, reason);
        }
    }

    public void forget(int shuffle) {
        why.remove(shuffle);
        synchronized (shown) {
            // Nobody can tell any more whether it was as before. What is not known any more was dropped before this
            // one.
            Set<Integer> below = signatures.known(shown.getOrDefault(shuffle, Set.of()));
            below.forEach(each -> shown.putIfAbsent(each, Set.of()));
            shown.remove(shuffle);
        }
        synchronized (kept) {
            kept.remove(shuffle);
        }
    }
}
