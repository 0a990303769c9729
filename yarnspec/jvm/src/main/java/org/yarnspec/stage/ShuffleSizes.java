package org.yarnspec.stage;

import org.apache.spark.MapOutputTrackerMaster;
import org.apache.spark.Partition;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.ShuffleStatus;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.sql.execution.CoalescedMapperPartitionSpec;
import org.apache.spark.sql.execution.CoalescedPartitionSpec;
import org.apache.spark.sql.execution.PartialMapperPartitionSpec;
import org.apache.spark.sql.execution.PartialReducerPartitionSpec;
import org.apache.spark.sql.execution.ShufflePartitionSpec;
import org.apache.spark.sql.execution.ShuffledRowRDDPartition;
import org.yarnspec.spark.Scala;

/** The input of the tasks behind a shuffle, from the sizes of its map outputs. */
final class ShuffleSizes {
    /** Above so many blocks adding their sizes up would keep Spark's scheduler waiting. */
    private static final long BLOCKS_MAX = 20_000_000;

    private final MapStatus[] maps;
    private final int reducers;
    private final long[] byReducer;

    ShuffleSizes(MapOutputTrackerMaster outputs, ShuffleDependency<?, ?, ?> shuffle) {
        ShuffleStatus status = Scala.orNull(outputs.shuffleStatuses().get(shuffle.shuffleId()));
        MapStatus[] statuses = status == null ? null : status.mapStatuses().clone();
        reducers = shuffle.partitioner().numPartitions();
        boolean small = statuses != null && (long) statuses.length * reducers <= BLOCKS_MAX;
        maps = small && !contains(statuses, null) ? statuses : null;
        byReducer = maps == null ? null : outputs.getStatistics(shuffle).bytesByPartitionId();
    }

    private static boolean contains(MapStatus[] statuses, MapStatus wanted) {
        for (MapStatus status : statuses) {
            if (status == wanted) {
                return true;
            }
        }
        return false;
    }

    /** Adds to each partition's bytes what it reads of this shuffle. */
    void addTo(long[] bytes, Partition[] partitions) {
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = TaskInputs.sum(bytes[i], maps == null ? -1 : sizeFor(i, partitions));
        }
    }

    private long sizeFor(int index, Partition[] partitions) {
        if (partitions[index] instanceof ShuffledRowRDDPartition adaptive) {
            return sizeOf(adaptive.spec());
        }
        return partitions.length == reducers ? byReducer[index] : -1;
    }

    private long sizeOf(ShufflePartitionSpec spec) {
        if (spec instanceof CoalescedPartitionSpec coalesced) {
            return reducers(coalesced.startReducerIndex(), coalesced.endReducerIndex());
        } else if (spec instanceof PartialReducerPartitionSpec part) {
            return part.dataSize();
        } else if (spec instanceof PartialMapperPartitionSpec part) {
            return map(part.mapIndex(), part.startReducerIndex(), part.endReducerIndex());
        } else if (spec instanceof CoalescedMapperPartitionSpec coalesced) {
            long bytes = 0;
            for (int i = coalesced.startMapIndex(); i < coalesced.endMapIndex(); i++) {
                bytes += map(i, 0, coalesced.numReducers());
            }
            return bytes;
        }
        return -1;
    }

    private long reducers(int from, int to) {
        long bytes = 0;
        for (int i = from; i < to; i++) {
            bytes += byReducer[i];
        }
        return bytes;
    }

    private long map(int map, int from, int to) {
        long bytes = 0;
        for (int i = from; i < to; i++) {
            bytes += maps[map].getSizeForBlock(i);
        }
        return bytes;
    }
}
