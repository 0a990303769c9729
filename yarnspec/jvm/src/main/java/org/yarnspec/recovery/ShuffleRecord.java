package org.yarnspec.recovery;

import java.lang.ref.WeakReference;
import java.util.Collection;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.rdd.RDD;
import org.yarnspec.signature.Circumstances;
import org.yarnspec.signature.ShuffleMetrics;
import org.yarnspec.signature.Signature;

/** A shuffle of this driver: what it is, whether its maps are recorded, and what of it an earlier driver did. */
final class ShuffleRecord {
    final int id;
    final Signature signature;
    final ShuffleMetrics metrics;
    /** The circumstances in which it was made and described. */
    final Circumstances made;
    /** The shuffles that read it. */
    final Set<ShuffleRecord> children = ConcurrentHashMap.newKeySet();

    private final WeakReference<RDD<?>> rdd;
    private final Set<Integer> restored = new HashSet<>();
    private boolean recording;
    private boolean poisoned;
    private boolean changed;
    private boolean begun;

    ShuffleRecord(
            int id, Signature signature, ShuffleMetrics metrics, Circumstances made, RDD<?> rdd, boolean recording) {
        this.id = id;
        this.made = made;
        this.rdd = new WeakReference<>(rdd);
        this.signature = signature;
        this.metrics = metrics;
        this.recording = recording;
    }

    /** The RDD that its maps compute; null when Spark has forgotten it. */
    RDD<?> rdd() {
        return rdd.get();
    }

    synchronized boolean recording() {
        return recording;
    }

    /** Stops for good; false when it did not record. */
    synchronized boolean stopRecording() {
        boolean was = recording;
        recording = false;
        return was;
    }

    /** Notes that its rows, and those of the shuffles above, cannot be had again; false when that was known. */
    synchronized boolean poison() {
        boolean was = poisoned;
        poisoned = true;
        return !was;
    }

    synchronized boolean poisoned() {
        return poisoned;
    }

    /** Maps of it begin; true for the first time. */
    synchronized boolean begin() {
        boolean first = !begun;
        begun = true;
        return first;
    }

    /** A map, or one below it, has given other rows than before. */
    synchronized void change() {
        changed = true;
    }

    synchronized boolean changed() {
        return changed;
    }

    /** Takes back the outputs of earlier drivers: this one has to run their maps as well. */
    synchronized void takeBack() {
        restored.clear();
    }

    synchronized void restored(Collection<Integer> indexes) {
        restored.addAll(indexes);
    }

    /** The maps that an earlier driver ran and this one need not. */
    synchronized Set<Integer> restored() {
        return Set.copyOf(restored);
    }

    synchronized boolean cameBack() {
        return !restored.isEmpty();
    }

    boolean whole() {
        return restored().size() == signature.maps();
    }
}
