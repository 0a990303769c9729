package org.apache.spark.scheduler.cluster.yarnspec;

import java.io.IOException;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.api.python.PythonAccumulatorV2;
import org.apache.spark.util.AccumulatorContext$;
import org.apache.spark.util.AccumulatorV2;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Counts the accumulator updates of maps that ran in an earlier driver: each once, when a job first needs the shuffle, as
 * the program would have seen them then.
 */
final class Accumulated {
    private record CountedMap(int shuffle, int index) {}

    private final SavedOutputs saved;
    private final Set<CountedMap> counted = new HashSet<>();
    private final Set<Integer> used = new HashSet<>();

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

    /** A map has run, and Spark counts its updates; false when they were counted before and must not be again. */
    synchronized boolean ran(int shuffle, int index) {
        return counted.add(new CountedMap(shuffle, index));
    }

    /**
     * Counts the updates of saved maps.
     *
     * @param shuffle the number of the shuffle in this driver
     * @param indexes those maps, or null for all
     */
    void count(int shuffle, SavedOutputs.SavedShuffle from, Set<Integer> indexes) throws IOException {
        List<byte[]> updates = new ArrayList<>();
        for (Map.Entry<Integer, SavedOutputs.Saved> entry : from.outputs().entrySet()) {
            int index = entry.getKey();
            if (indexes == null || indexes.contains(index)) {
                List<byte[]> more = entry.getValue().content().accumulated();
                synchronized (this) {
                    if (!more.isEmpty() && counted.add(new CountedMap(shuffle, index))) {
                        updates.addAll(more);
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

    /** Updates without those of the program's accumulators in Python. */
    static scala.collection.immutable.Seq<AccumulatorV2<?, ?>> withoutPrograms(
            scala.collection.immutable.Seq<AccumulatorV2<?, ?>> updates) {
        List<AccumulatorV2<?, ?>> others = CollectionConverters.asJava(updates).stream()
                .filter(each -> !(each instanceof PythonAccumulatorV2))
                .toList();
        return CollectionConverters.asScala(others).toList();
    }
}
