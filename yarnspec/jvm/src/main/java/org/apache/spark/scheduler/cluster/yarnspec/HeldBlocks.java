package org.apache.spark.scheduler.cluster.yarnspec;

import org.apache.spark.MapOutputTrackerMaster;
import org.apache.spark.SparkEnv;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.BlockStatus;
import org.apache.spark.storage.StorageStatus;
import scala.Tuple2;
import scala.collection.Iterator;

/**
 * What executors hold for the program beside map outputs of its own stages: cached partitions, local checkpoints, what
 * receivers took in, and map outputs of earlier drivers. Without a local checkpoint its job fails, and a cached partition
 * is computed again, maybe with other values.
 */
final class HeldBlocks {
    private HeldBlocks() {}

    /** How many such blocks an executor holds, as the driver's block manager knows; broadcasts are anybody's. */
    static int of(SparkEnv env, String executorId) {
        MapOutputTrackerMaster tracker = (MapOutputTrackerMaster) env.mapOutputTracker();
        int count = SavedOutputs.get().heldBy(executorId, shuffle -> tracker.shuffleStatuses().contains(shuffle));
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
}
