package org.yarnspec.mapoutputs;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Map;
import org.apache.spark.MapOutputTrackerMaster;
import org.apache.spark.SparkEnv;
import org.apache.spark.scheduler.MapStatus$;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.BlockManagerId;
import org.apache.spark.storage.BlockManagerMaster;
import org.apache.spark.storage.BroadcastBlockId;
import org.apache.spark.storage.RDDBlockId;
import org.apache.spark.storage.StorageLevel;
import org.junit.jupiter.api.Test;
import org.yarnspec.testing.FakeCluster;
import scala.Option;

class HeldBlocksTest {
    /** Of no stage: the tests alone say what Spark knows of them. */
    private static final int SHUFFLE = 1_000;

    private BlockManagerMaster master;

    @Test
    void cachedPartitionsCountUntilTheyAreGone() throws Exception {
        try (FakeCluster cluster = new FakeCluster(Map.of())) {
            SparkEnv env = cluster.context.sc().env();
            master = env.blockManager().master();
            BlockManagerId executor = register("7", "a");
            BlockManagerId other = register("8", "b");
            assertEquals(0, HeldBlocks.of(env, "7"));
            tell(executor, new BroadcastBlockId(0, ""), StorageLevel.MEMORY_ONLY());
            assertEquals(0, HeldBlocks.of(env, "7"));
            tell(executor, new RDDBlockId(0, 0), StorageLevel.MEMORY_ONLY());
            tell(executor, new RDDBlockId(0, 1), StorageLevel.DISK_ONLY());
            tell(other, new RDDBlockId(0, 2), StorageLevel.MEMORY_ONLY());
            assertEquals(2, HeldBlocks.of(env, "7"));
            assertEquals(1, HeldBlocks.of(env, "8"));
            tell(executor, new RDDBlockId(0, 0), StorageLevel.NONE());
            tell(executor, new RDDBlockId(0, 1), StorageLevel.NONE());
            assertEquals(0, HeldBlocks.of(env, "7"));
            assertEquals(0, HeldBlocks.of(env, "9"));
        }
    }

    @Test
    void mapOutputsAreToldUntilSparkHasForgottenTheirShuffle() throws Exception {
        try (FakeCluster cluster = new FakeCluster(Map.of())) {
            SparkEnv env = cluster.context.sc().env();
            master = env.blockManager().master();
            MapOutputTrackerMaster tracker = (MapOutputTrackerMaster) env.mapOutputTracker();
            BlockManagerId executor = register("7", "a");
            BlockManagerId other = register("8", "b");
            tracker.registerShuffle(SHUFFLE, 3, 2);
            tracker.registerShuffle(SHUFFLE + 1, 1, 1);
            assertEquals(0, HeldBlocks.of(env, "7"));
            write(tracker, SHUFFLE, 1, other);
            assertEquals(0, HeldBlocks.of(env, "7"));
            // One map of three: of a stage that is not complete, and may never be in this attempt.
            write(tracker, SHUFFLE, 2, executor);
            assertEquals(HeldBlocks.ONLY_MAP_OUTPUTS, HeldBlocks.of(env, "7"));
            assertEquals(HeldBlocks.ONLY_MAP_OUTPUTS, HeldBlocks.of(env, "8"));
            assertEquals(0, HeldBlocks.of(env, "9"));
            write(tracker, SHUFFLE + 1, 0, executor);
            tracker.unregisterShuffle(SHUFFLE);
            assertEquals(HeldBlocks.ONLY_MAP_OUTPUTS, HeldBlocks.of(env, "7"));
            assertEquals(0, HeldBlocks.of(env, "8"));
            tracker.unregisterShuffle(SHUFFLE + 1);
            assertEquals(0, HeldBlocks.of(env, "7"));
        }
    }

    @Test
    void cachedPartitionsCountBeforeMapOutputs() throws Exception {
        try (FakeCluster cluster = new FakeCluster(Map.of())) {
            SparkEnv env = cluster.context.sc().env();
            master = env.blockManager().master();
            MapOutputTrackerMaster tracker = (MapOutputTrackerMaster) env.mapOutputTracker();
            BlockManagerId executor = register("7", "a");
            tracker.registerShuffle(SHUFFLE, 1, 1);
            write(tracker, SHUFFLE, 0, executor);
            tell(executor, new RDDBlockId(0, 0), StorageLevel.MEMORY_ONLY());
            assertEquals(1, HeldBlocks.of(env, "7"));
            tell(executor, new RDDBlockId(0, 0), StorageLevel.NONE());
            assertEquals(HeldBlocks.ONLY_MAP_OUTPUTS, HeldBlocks.of(env, "7"));
            tracker.removeOutputsOnExecutor("7");
            assertEquals(0, HeldBlocks.of(env, "7"));
        }
    }

    private static void write(MapOutputTrackerMaster tracker, int shuffle, int map, BlockManagerId where) {
        tracker.registerMapOutput(shuffle, map, MapStatus$.MODULE$.apply(where, new long[] {10, 20}, map, 0));
    }

    private BlockManagerId register(String executorId, String host) {
        return master.registerBlockManager(
                BlockManagerId.apply(executorId, host, 1, Option.empty()),
                new String[0],
                1_000_000,
                0,
                master.driverEndpoint(),
                false);
    }

    private void tell(BlockManagerId place, BlockId block, StorageLevel level) {
        master.updateBlockInfo(
                place, block, level, level.useMemory() ? 100 : 0, level.useDisk() ? 100 : 0, Option.empty());
    }
}
