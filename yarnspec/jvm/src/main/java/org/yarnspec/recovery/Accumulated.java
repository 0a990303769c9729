package org.yarnspec.recovery;

import java.io.IOException;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import org.apache.spark.api.python.PythonAccumulatorV2;
import org.apache.spark.util.AccumulatorContext;
import org.apache.spark.util.AccumulatorContext$;
import org.apache.spark.util.AccumulatorV2;
import org.yarnspec.mapoutputs.MapBlob;
import org.yarnspec.mapoutputs.Observed;
import org.yarnspec.mapoutputs.SavedOutputs;
import org.yarnspec.signature.Signature;
import org.yarnspec.spark.Failures;
import org.yarnspec.spark.Fields;
import org.yarnspec.spark.Scala;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Counts what maps add to the program's accumulators in Python, each map once: of those that ran in an earlier driver when
 * a job first needs the shuffle, as the program would have seen them then; of those that run when Spark's tracker takes
 * their output. Spark itself counts whatever a result brings that it looks at, and some of those it never looks at: a map
 * whose executor is lost, or whose job is given up, before its result has come.
 *
 * <p>So it does with what {@code observe} counts in the maps of earlier drivers. Of those that run Spark counts that itself:
 * it knows which map each update is from, and what a map gives replaces what it gave before.
 */
final class Accumulated {
    private final SavedOutputs saved;
    private final Map<Integer, Set<Integer>> counted = new HashMap<>();
    private final Set<Integer> used = new HashSet<>();
    private final Map<SavedOutputs.OutputKey, List<AccumulatorV2<?, ?>>> waiting = new ConcurrentHashMap<>();

    Accumulated(SavedOutputs saved) {
        this.saved = saved;
    }

    /**
     * Whether everything can be counted that will not be counted by running: the updates of each map below.
     *
     * @param below the shuffles that are not run when this one is there as a whole
     */
    boolean known(Iterable<Signature> below) {
        for (Signature each : below) {
            SavedOutputs.SavedShuffle there = each.accumulates() ? saved.shuffle(each.text()) : null;
            if (each.accumulates() && (there == null || there.outputs().size() < each.maps())) {
                return false;
            }
        }
        return true;
    }

    /** Whether a job uses a shuffle for the first time. */
    synchronized boolean first(int shuffle) {
        return used.add(shuffle);
    }

    /** Takes the program's updates from a result until it is known what becomes of its output. Returns the others. */
    scala.collection.immutable.Seq<AccumulatorV2<?, ?>> take(
            int shuffle, long task, scala.collection.immutable.Seq<AccumulatorV2<?, ?>> updates) {
        Map<Boolean, List<AccumulatorV2<?, ?>>> byProgram = CollectionConverters.asJava(updates).stream()
                .collect(Collectors.partitioningBy(each -> each instanceof PythonAccumulatorV2));
        waiting.put(new SavedOutputs.OutputKey(shuffle, task), byProgram.get(true)); // none, too: it has run here
        return CollectionConverters.asScala(byProgram.get(false)).toList();
    }

    /** Spark's tracker has an output: what its map counted is, unless another run of that map was counted before. */
    void accepted(int shuffle, int index, long task) {
        List<AccumulatorV2<?, ?>> updates = waiting.remove(new SavedOutputs.OutputKey(shuffle, task));
        if (updates == null || !first(shuffle, index)) {
            return;
        }
        for (AccumulatorV2<?, ?> update : updates) {
            if (Scala.orNull(AccumulatorContext.get(update.id())) instanceof PythonAccumulatorV2 own) {
                try {
                    own.merge((PythonAccumulatorV2) update);
                } catch (Exception e) { // as in Spark, where it does not end the job either
                    Failures.keepInterrupt(e);
                    System.err.println("yarnspec: what a map counted could not be told to the program: " + e);
                }
            }
        }
    }

    private synchronized boolean first(int shuffle, int index) {
        return counted.computeIfAbsent(shuffle, any -> new HashSet<>()).add(index);
    }

    void forget(int shuffle) {
        waiting.keySet().removeIf(key -> key.shuffle() == shuffle);
        synchronized (this) {
            counted.remove(shuffle);
            used.remove(shuffle);
        }
    }

    /**
     * Counts the updates of saved maps.
     *
     * @param record the shuffle in this driver
     * @param indexes those maps, or null for all
     */
    void count(ShuffleRecord record, SavedOutputs.SavedShuffle from, Set<Integer> indexes) throws IOException {
        List<byte[]> updates = new ArrayList<>();
        for (Map.Entry<Integer, SavedOutputs.Saved> entry : from.outputs().entrySet()) {
            int index = entry.getKey();
            if (indexes == null || indexes.contains(index)) {
                MapBlob map = entry.getValue().content();
                if (map.counts() && first(record.id, index)) {
                    updates.addAll(map.accumulated());
                    for (Observed each : map.observed()) {
                        each.count(record.signature.observers(), record.rdd(), index);
                    }
                }
            }
        }
        if (!updates.isEmpty()) {
            PythonAccumulatorV2 own = driversOwn();
            PythonAccumulatorV2 all = own.copyAndReset();
            updates.forEach(all::add);
            own.merge(all); // hands them to the program
        }
    }

    /** The accumulator behind all of the program's; null when there is none, or more than one. */
    static PythonAccumulatorV2 driversOwn() {
        PythonAccumulatorV2 found = null;
        Map<?, ?> originals = (Map<?, ?>) Fields.get(AccumulatorContext$.MODULE$, "originals");
        for (Object each : originals.values()) {
            Object accumulator = ((WeakReference<?>) each).get();
            if (accumulator instanceof PythonAccumulatorV2 python && ((AccumulatorV2<?, ?>) python).isRegistered()) {
                if (found != null) {
                    return null;
                }
                found = python;
            }
        }
        return found;
    }
}
