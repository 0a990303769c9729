package org.yarnspec.recovery;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.scheduler.DirectTaskResult;
import org.apache.spark.scheduler.MapStatus;
import org.yarnspec.channel.FrameFeed;
import org.yarnspec.channel.Frames;
import org.yarnspec.channel.Outbox;
import org.yarnspec.mapoutputs.EpochNumbers;
import org.yarnspec.mapoutputs.SavedOutputs;
import org.yarnspec.signature.RangeBounds;
import org.yarnspec.spark.Failures;

/**
 * Tells the negotiator of finished maps, so that the next driver can use their outputs, and stops for a shuffle whose
 * outputs must not be used again.
 */
final class FinishedMaps {
    private final int epoch;
    private final Outbox outbox;
    private final FrameFeed frames;
    private final Map<SavedOutputs.OutputKey, MapResult> results = new ConcurrentHashMap<>();

    FinishedMaps(int epoch, Outbox outbox, FrameFeed frames) {
        this.epoch = epoch;
        this.outbox = outbox;
        this.frames = frames;
    }

    /** Sends the facts of a shuffle as a whole: the bounds by which it sorts, if it does. */
    void sendFacts(ShuffleRecord record, ShuffleDependency<?, ?, ?> dependency) {
        RangeBounds bounds = RangeBounds.of(dependency);
        if (bounds != null) {
            send(record, Frames.header("shuffle_facts").put("shuffle", record.id), bounds.encode());
        }
    }

    /** Keeps the counts of a finished map until Spark's tracker has its output. */
    void keep(ShuffleRecord record, long task, DirectTaskResult<?> result) {
        if (task >= (epoch + 1) * EpochNumbers.TASKS_PER_EPOCH) {
            poison(
                    record,
                    "its tasks have numbers of the next epoch's"); // which of two ran first could not be told any more
            return;
        }
        MapResult counted;
        try {
            counted = MapResult.of(result.accumUpdates(), record.metrics, record.signature);
        } catch (RuntimeException | LinkageError e) {
            poison(record, "what a map counted cannot be recorded: " + e);
            return;
        }
        if (!counted.other().isEmpty()) {
            poison(record, "a map counts in an accumulator of the kind " + counted.other());
        } else if (!counted.accumulated().isEmpty() && !record.signature.accumulates()) {
            poison(record, "a map counts in an accumulator that its function does not name");
        } else {
            results.put(new SavedOutputs.OutputKey(record.id, task), counted);
        }
    }

    /** Spark's tracker has a map's output: tells of it, if its counts were kept. */
    void added(ShuffleRecord record, int shuffle, int index, MapStatus status) {
        MapResult counted = results.remove(new SavedOutputs.OutputKey(shuffle, status.mapId()));
        if (record == null || counted == null || !record.recording()) {
            return;
        }
        try {
            tellFinished(record, index, status, counted);
        } catch (IOException | RuntimeException e) {
            stopRecording(record, "a map's output cannot be told: " + e); // no reason to end Spark's scheduler
        }
    }

    private void tellFinished(ShuffleRecord record, int index, MapStatus status, MapResult counted) throws IOException {
        ObjectNode header = Frames.header("map_finished")
                .put("shuffle", record.id)
                .put("index", index)
                .put("map_id", status.mapId())
                .put("executor_id", status.location().executorId())
                .put("host", status.location().host())
                .put("bytes", bytes(status, record.signature.reduces()));
        send(record, header, counted.with(status).encode());
    }

    private static long bytes(MapStatus status, int reduces) {
        long bytes = 0;
        for (int i = 0; i < reduces; i++) {
            bytes += status.getSizeForBlock(i);
        }
        return bytes;
    }

    private void send(ShuffleRecord record, ObjectNode header, byte[] blob) {
        try {
            if (!frames.add(Frames.encode(header, blob))) {
                stopRecording(record, "the negotiator does not keep up");
            }
        } catch (IOException e) {
            stopRecording(record, e.getMessage());
        }
    }

    /** Stops recording a shuffle and all that read it, now or later: their outputs cannot be had again. */
    void poison(ShuffleRecord record, String why) {
        ArrayDeque<ShuffleRecord> left = new ArrayDeque<>(List.of(record));
        while (!left.isEmpty()) {
            ShuffleRecord each = left.pop();
            if (each.poison()) {
                stopRecording(each, each == record ? why : "below it: " + why);
                left.addAll(each.children);
            }
        }
    }

    private void stopRecording(ShuffleRecord record, String why) {
        // Of one that is not recorded any more an earlier driver's outputs may be in use, and in the journal.
        if (record.stopRecording() || record.poisoned() && record.cameBack()) {
            forget(record.id);
            outbox.add("recording_stopped", event -> event.put("shuffle", record.id)
                    .put("why", Failures.shortened(why)));
        }
    }

    /** Drops the counts of maps of a shuffle. */
    void forget(int shuffle) {
        results.keySet().removeIf(key -> key.shuffle() == shuffle);
    }
}
