package org.yarnspec.mapoutputs;

import org.apache.spark.MapOutputTrackerMaster;
import org.apache.spark.ShuffleStatus;
import org.apache.spark.SparkEnv;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.BlockStatus;
import org.apache.spark.storage.StorageStatus;
import scala.Tuple2;
import scala.collection.Iterator;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The data of the program that would go with an executor: cached partitions, local checkpoints, the records of
 * receivers, and map outputs of earlier drivers and of this one. Without a local checkpoint its job fails. A cached
 * partition is computed again, maybe with other values. A map output is computed again when it is read.
 */
public final class HeldBlocks {
    /**
     * The executor holds only map outputs of shuffles that Spark has not forgotten; the negotiator's ONLY_MAP_OUTPUTS.
     */
    static final int ONLY_MAP_OUTPUTS = -2;

    private HeldBlocks() {}

    /**
     * How many such blocks beside map outputs of this driver an executor holds, as the driver's block manager knows;
     * broadcasts are anybody's. When there is none: 0, or {@link #ONLY_MAP_OUTPUTS}.
     */
    public static int of(SparkEnv env, String executorId) {
        MapOutputTrackerMaster tracker = (MapOutputTrackerMaster) env.mapOutputTracker();
        int count = SavedOutputs.get()
                        .heldBy(executorId, shuffle -> tracker.shuffleStatuses().contains(shuffle))
                + cached(env, executorId);
        if (count > 0) {
            return count;
        }
        // What a shuffle service gives out stays when the executor goes.
        boolean held = !env.blockManager().externalShuffleServiceEnabled()
                && CollectionConverters.asJava(tracker.shuffleStatuses()).values().stream()
                        .anyMatch(shuffle -> isAt(shuffle, executorId));
        return held ? ONLY_MAP_OUTPUTS : 0;
    }

    private static int cached(SparkEnv env, String executorId) {
        int count = 0;
        for (StorageStatus status : env.blockManager().master().getStorageStatus()) {
            if (!status.blockManagerId().executorId().equals(executorId)) {
                continue;
            }
            Iterator<Tuple2<BlockId, BlockStatus>> blocks = status.blocks().iterator();
            while (blocks.hasNext()) {
                Tuple2<BlockId, BlockStatus> block = blocks.next();
                if (!block._1().isBroadcast() && block._2().isCached()) {
                    count++;
                }
            }
        }
        return count;
    }

    /** Whether an executor has at least one of a shuffle's map outputs, of whatever attempt of its stage. */
    private static boolean isAt(ShuffleStatus shuffle, String executorId) {
        return shuffle.withMapStatuses(all -> {
            for (MapStatus each : all) {
                if (each != null && each.location().executorId().equals(executorId)) {
                    return true;
                }
            }
            return false;
        });
    }
}
