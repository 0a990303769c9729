package org.apache.spark.scheduler.cluster.yarnspec;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Map;
import org.apache.spark.SparkEnv;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.BlockManagerId;
import org.apache.spark.storage.BlockManagerMaster;
import org.apache.spark.storage.BroadcastBlockId;
import org.apache.spark.storage.RDDBlockId;
import org.apache.spark.storage.StorageLevel;
import org.junit.jupiter.api.Test;
import scala.Option;

class HeldBlocksTest {
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
