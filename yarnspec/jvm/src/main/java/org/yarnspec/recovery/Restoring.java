package org.yarnspec.recovery;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.function.IntPredicate;
import org.apache.spark.MapOutputTrackerMaster;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.ShuffleStatus;
import org.apache.spark.SparkEnv;
import org.apache.spark.storage.BlockManagerId;
import org.yarnspec.channel.Outbox;
import org.yarnspec.fingerprint.Unknown;
import org.yarnspec.mapoutputs.LiveAdoption;
import org.yarnspec.mapoutputs.MapBlob;
import org.yarnspec.mapoutputs.Observed;
import org.yarnspec.mapoutputs.SavedOutputs;
import org.yarnspec.mapoutputs.WatchedShuffleStatus;
import org.yarnspec.signature.RangeBounds;
import org.yarnspec.signature.ShuffleMetrics;
import org.yarnspec.signature.Signature;
import org.yarnspec.spark.Fields;
import org.yarnspec.spark.Scala;
import org.yarnspec.write.StaleShuffles;

/** Begins a shuffle with the map outputs of an earlier driver, as far as executors have taken them over. */
final class Restoring {
    /** So many windows a host that gives more and more is waited for at the longest: the job stands still meanwhile. */
    private static final int WINDOWS_MAX = 10;

    private final SavedOutputs saved;
    private final IntPredicate varies;
    private final IntPredicate changed;
    private final Accumulated accumulated;
    private final Outbox outbox;
    private final long windowMs;
    private final Set<Integer> taken = new HashSet<>();
    private long deadlineNs;
    private long latestNs;

    /** The maps that come back, with what is known of each. */
    record Restored(Map<Integer, MapBlob> maps, SavedOutputs.RestoreOutcome outcome) {
        Set<Integer> indexes() {
            return maps.keySet();
        }
    }

    /** Why a saved shuffle is not taken. */
    private static final class Declined extends Exception {
        private static final long serialVersionUID = 1;

        Declined(String why) {
            super(why, null, false, false);
        }
    }

    /**
     * Knows the saved outputs, and when they may be used.
     *
     * @param varies whether another run of the maps of a shuffle of this driver may give other rows to those above it
     * @param changed whether one has
     */
    Restoring(
            SavedOutputs saved,
            IntPredicate varies,
            IntPredicate changed,
            Accumulated accumulated,
            Outbox outbox,
            long windowMs) {
        this.saved = saved;
        this.varies = varies;
        this.changed = changed;
        this.accumulated = accumulated;
        this.outbox = outbox;
        this.windowMs = windowMs;
    }

    /** The time in which outputs are looked for begins. */
    void begin() {
        deadlineNs = System.nanoTime() + windowNs(1);
        latestNs = System.nanoTime() + windowNs(WINDOWS_MAX);
    }

    private long windowNs(int times) {
        return times * TimeUnit.MILLISECONDS.toNanos(windowMs);
    }

    /** Waits for what executors find of a saved shuffle; null when nothing of it can be used. Tells what it did. */
    Restored restore(
            Questions.Answer answer,
            Signature signature,
            ShuffleDependency<?, ?, ?> dependency,
            List<Signature> below) {
        int id = answer.shuffle();
        SavedOutputs.SavedShuffle there = saved.shuffle(id);
        int wanted = there == null ? 0 : there.outputs().size();
        SavedOutputs.RestoreOutcome outcome = new SavedOutputs.RestoreOutcome(Map.of(), Map.of(), 0);
        Restored restored = null;
        String declined = "";
        try {
            check(there, signature, below);
            outcome = saved.await(id, deadlineNs, windowNs(1), latestNs);
            restored = take(there, outcome);
            checkFound(restored, answer, signature, dependency, there);
        } catch (Declined | Unknown e) {
            declined = e.getMessage();
            restored = null;
        } catch (IOException | RuntimeException | LinkageError e) {
            declined = "what is saved of it cannot be read";
            restored = null;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            declined = "it was interrupted";
        }
        saved.close(id);
        tell(id, signature, wanted, restored, outcome, declined);
        return restored;
    }

    private void check(SavedOutputs.SavedShuffle there, Signature signature, List<Signature> below) throws Declined {
        if (there == null
                || !signature.known()
                || !there.signature().equals(signature.text())
                || there.maps() != signature.maps()
                || there.reduces() != signature.reduces()) {
            throw new Declined("it is not the same");
        }
        synchronized (this) {
            if (!taken.add(there.id())) {
                throw new Declined("it is in use");
            }
        }
        if (!accumulated.known(below)) {
            throw new Declined("what maps below it counted in accumulators is not saved");
        }
        checkParents(there, signature);
    }

    /** The application master compares only what was saved: since that came back executors may have died. */
    private void checkParents(SavedOutputs.SavedShuffle there, Signature signature) throws Declined {
        long oldest = there.outputs().values().stream()
                .mapToLong(SavedOutputs.Saved::mapId)
                .min()
                .orElse(0);
        for (int parent : signature.parents()) {
            if (changed.test(parent)) {
                throw new Declined("a map of a shuffle below it ran again and gave other rows");
            }
            if (varies.test(parent) && !StaleShuffles.isAsBefore(parent, oldest)) {
                throw new Declined(
                        "maps of a shuffle below it run again in this epoch, or wait for another executor, and may "
                                + "give other rows");
            }
        }
    }

    private Restored take(SavedOutputs.SavedShuffle there, SavedOutputs.RestoreOutcome outcome) throws IOException {
        Map<Integer, MapBlob> maps = new TreeMap<>();
        for (Map.Entry<Integer, BlockManagerId> entry : outcome.places().entrySet()) {
            MapBlob map = there.outputs().get(entry.getKey()).content();
            map.status().updateLocation(entry.getValue());
            maps.put(entry.getKey(), map);
        }
        return new Restored(maps, outcome);
    }

    private void checkFound(
            Restored restored,
            Questions.Answer answer,
            Signature signature,
            ShuffleDependency<?, ?, ?> dependency,
            SavedOutputs.SavedShuffle there)
            throws Declined, IOException {
        checkParents(there, signature); // once more: it was waited for
        boolean whole = answer.whole() || signature.determinism() == Signature.Determinism.INDETERMINATE;
        if (whole && restored.maps().size() < signature.maps()) {
            throw new Declined("its records are others each time, and not all of its maps are there");
        }
        ShuffleMetrics metrics = ShuffleMetrics.of(dependency);
        boolean counts = false;
        for (MapBlob map : restored.maps().values()) {
            if (metrics.any() && (map.dataSize() < 0 || map.recordsWritten() < 0)) {
                throw new Declined("its rows were not counted");
            }
            counts |= !map.accumulated().isEmpty();
            for (Observed each : map.observed()) {
                if (!each.fits(signature.observers())) {
                    throw new Declined("what it observes is not to be found");
                }
            }
        }
        if (counts && Accumulated.driversOwn() == null) {
            throw new Declined("its accumulators are not to be found");
        }
        if (restored.maps().isEmpty()) {
            throw new Declined("");
        }
        RangeBounds bounds = RangeBounds.of(dependency);
        if (bounds != null && !bounds.putBack(there.facts())) {
            throw new Declined("it was sorted by other bounds");
        }
    }

    private void tell(
            int id,
            Signature signature,
            int wanted,
            Restored restored,
            SavedOutputs.RestoreOutcome outcome,
            String declined) {
        Map<String, Integer> byHost = new TreeMap<>();
        Map<String, Integer> notRestored = new TreeMap<>(outcome.notRestored());
        for (BlockManagerId place : outcome.places().values()) {
            if (restored != null) {
                byHost.merge(place.host(), 1, Integer::sum);
            }
        }
        if (restored == null && !declined.isEmpty()) {
            notRestored.clear();
            notRestored.put(declined, wanted);
        }
        outbox.add("shuffle_restored", event -> {
            event.put("shuffle", id)
                    .put("signature", signature.text())
                    .put("wanted", wanted)
                    .put("restored", restored == null ? 0 : restored.maps().size())
                    .put("waited_ms", outcome.waitedMs());
            var hosts = event.putObject("by_host");
            byHost.forEach(hosts::put);
            var whys = event.putObject("not_restored");
            notRestored.forEach(whys::put);
        });
    }

    /** Puts a shuffle into Spark's list, with what was restored. Before its scheduler knows the shuffle. */
    void putIn(
            int id,
            ShuffleDependency<?, ?, ?> dependency,
            Signature signature,
            WatchedShuffleStatus.ShuffleWatcher watcher,
            Restored restored) {
        MapOutputTrackerMaster tracker = (MapOutputTrackerMaster) SparkEnv.get().mapOutputTracker();
        boolean migrations = Boolean.TRUE.equals(Fields.get(tracker, "bufferRacingMigrations"));
        WatchedShuffleStatus status =
                new WatchedShuffleStatus(id, signature.maps(), signature.reduces(), migrations, watcher);
        if (restored != null) {
            restored.maps().forEach((index, map) -> status.restore(index, map.status()));
        }
        scala.collection.concurrent.Map<Object, ShuffleStatus> all = tracker.shuffleStatuses();
        all.put(id, status);
        if (restored != null) {
            addMetrics(dependency, restored);
            removeLost(id, tracker, restored);
        }
    }

    /** Lets all maps of these shuffles run again. Those that it does not know, or no more, are left out. */
    void takeBack(Collection<Integer> shuffles) {
        MapOutputTrackerMaster tracker = (MapOutputTrackerMaster) SparkEnv.get().mapOutputTracker();
        for (int each : shuffles) {
            if (Scala.orNull(tracker.shuffleStatuses().get(each)) instanceof WatchedShuffleStatus status) {
                status.takeBack();
            }
        }
        tracker.incrementEpoch(); // executors ask anew where outputs are
        LiveAdoption live = LiveAdoption.current();
        if (live != null) {
            live.settled(); // nobody need wait for what is not wanted any more
        }
    }

    /** Takes a shuffle out of Spark's list, as if it had not been put in. */
    void takeOut(int id) {
        scala.collection.concurrent.Map<Object, ShuffleStatus> all =
                ((MapOutputTrackerMaster) SparkEnv.get().mapOutputTracker()).shuffleStatuses();
        all.remove(id);
    }

    private static void addMetrics(ShuffleDependency<?, ?, ?> dependency, Restored restored) {
        ShuffleMetrics metrics = ShuffleMetrics.of(dependency);
        if (metrics.any()) {
            restored.maps().values().forEach(map -> metrics.add(map.dataSize(), map.recordsWritten()));
        }
    }

    /** An executor may go between its word and here; of those that go later Spark itself removes what they had. */
    private void removeLost(int id, MapOutputTrackerMaster tracker, Restored restored) {
        List<String> executors = new ArrayList<>();
        restored.outcome().places().values().forEach(place -> executors.add(place.executorId()));
        LiveAdoption live = LiveAdoption.current();
        executors.stream().distinct().filter(saved::isLost).forEach(executorId -> {
            tracker.removeOutputsOnExecutor(executorId);
            if (live != null) {
                live.added(id, executorId); // what is left of it, because all that it had waits for another one
            }
        });
    }
}
