package org.apache.spark.scheduler.cluster.yarnspec;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.MapOutputTrackerMaster;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkEnv;
import org.apache.spark.scheduler.DAGScheduler;
import scala.Option;

/**
 * Which shuffles hold, or will hold, other records than what an earlier driver made a write of that is not done again.
 *
 * <p>The program's functions may give other rows when a map runs again. What is computed from such a shuffle now does not
 * go with what was written: rows would be in both, or in none. So the job that reads it fails, and says why.
 */
final class StaleShuffles {
    private final SparkContext context;
    private final Signatures signatures;
    private final Map<Integer, String> why = new ConcurrentHashMap<>();

    StaleShuffles(SparkContext context, Signatures signatures) {
        this.context = context;
        this.signatures = signatures;
    }

    /** Whether all map outputs of a shuffle are there, and none is of a later driver or of a later task than that. */
    static boolean isAsBefore(int shuffle, long task) {
        MapOutputTrackerMaster tracker = (MapOutputTrackerMaster) SparkEnv.get().mapOutputTracker();
        return tracker.shuffleStatuses().get(shuffle).exists(status -> status.withMapStatuses(all -> {
            for (var each : all) {
                if (each == null || each.mapId() >= task) {
                    return false;
                }
            }
            return true;
        }));
    }

    /** A write of an earlier epoch is not done again: what it is computed from must be what it was then. */
    void skipped(Signature write, String output, int epoch) {
        for (int shuffle : signatures.shufflesBelow(write)) {
            if (signatures.varies(shuffle) && !isAsBefore(shuffle, (epoch + 1) * Recovery.TASKS_PER_EPOCH)) {
                why.put(shuffle, "yarnspec: " + output + " was written by an earlier life of the program and is kept, but a "
                        + "part of what it was computed from is lost, and may be other rows when it is computed again; this job "
                        + "would mix the two. Remove the output and submit the program again, or say that its functions "
                        + "always give the same: --set recovery.repeatable=true");
            }
        }
    }

    /** In Spark's scheduler, when a job needs a shuffle and before anything runs for that. */
    void used(int shuffle) {
        String reason = why.get(shuffle);
        if (reason != null) {
            DAGScheduler scheduler = context.dagScheduler();
            scheduler.shuffleIdToMapStage().get(shuffle).foreach(stage -> {
                scheduler.cancelStage(stage.id(), Option.apply(reason));
                return null;
            });
        }
    }

    void forget(int shuffle) {
        why.remove(shuffle);
    }
}
