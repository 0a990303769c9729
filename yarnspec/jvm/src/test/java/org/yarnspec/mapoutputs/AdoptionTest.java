package org.yarnspec.mapoutputs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.internal.plugin.PluginContextImpl;
import org.apache.spark.scheduler.MapStatus$;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerBlockUpdated;
import org.apache.spark.storage.BlockManagerId;
import org.apache.spark.storage.DiskBlockManager;
import org.apache.spark.storage.ShuffleDataBlockId;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.yarnspec.channel.Frames;
import org.yarnspec.channel.Outbox;
import org.yarnspec.executor.KeeperPlugin;
import org.yarnspec.executor.OutputName;
import org.yarnspec.executor.Owner;
import org.yarnspec.executor.WrittenOutputs;
import org.yarnspec.testing.FakeCluster;
import scala.Option;

/** Both halves of adoption together, over Spark's RPC, in a local Spark that is driver and executor at once. */
class AdoptionTest {
    private static final String APPLICATION = "application_1_0001";

    @TempDir
    Path root;

    private final Outbox outbox = new Outbox();

    @AfterEach
    void forget() {
        SavedOutputs.set(SavedOutputs.NONE);
    }

    private SparkConf conf() {
        return new SparkConf()
                .setMaster("local[2]")
                .setAppName("adoption")
                .set("spark.ui.enabled", "false")
                .set("spark.local.dir", root.toString())
                .set("spark.yarnspec.recovery.enabled", "true")
                .set("spark.yarnspec.recovery.window_ms", "30000")
                .set("spark.yarnspec.recovery.verify_checksums", "true")
                .set("spark.yarnspec.recovery.keep_bytes", "0")
                .set("spark.yarnspec.app.id", APPLICATION)
                .set("spark.yarnspec.epoch", "2");
    }

    private static ExecutorPlugin keeper(JavaSparkContext spark) {
        SparkEnv env = SparkEnv.get();
        ExecutorPlugin keeper = new KeeperPlugin().executorPlugin();
        keeper.init(
                new PluginContextImpl("keeper", env.rpcEnv(), env.metricsSystem(), spark.getConf(), "7", Map.of()),
                Map.of());
        return keeper;
    }

    private void save(Map<OutputName, long[]> outputs) throws IOException {
        Path file = root.resolve("saved");
        BlockManagerId where = BlockManagerId.apply("3", "gone", 1, Option.empty());
        try (OutputStream out = Files.newOutputStream(file)) {
            int shuffle = -1;
            int index = 0;
            for (Map.Entry<OutputName, long[]> output : outputs.entrySet()) {
                OutputName name = output.getKey();
                if (name.shuffle() != shuffle) {
                    shuffle = name.shuffle();
                    index = 0;
                    ObjectNode header = Frames.header("shuffle");
                    header.put("shuffle", shuffle)
                            .put("signature", "s" + shuffle)
                            .put("maps", 4);
                    header.put("reduces", output.getValue().length).put("determinism", "determinate");
                    out.write(Frames.encode(header, new byte[0]));
                }
                ObjectNode header = Frames.header("map");
                header.put("shuffle", shuffle).put("index", index++).put("map_id", name.mapId());
                header.put("executor_id", "3").put("host", "gone").put("epoch", 1);
                MapBlob blob = new MapBlob(
                        MapStatus$.MODULE$.apply(where, output.getValue(), name.mapId(), 0),
                        -1,
                        -1,
                        List.of(),
                        List.of());
                out.write(Frames.encode(header, blob.encode()));
            }
        }
        SavedOutputs.set(SavedOutputs.load(file));
    }

    private JsonNode event(String type) throws Exception {
        for (JsonNode event : new ObjectMapper().readTree(outbox.poll(0, 0))) {
            if (event.path("type").asText().equals(type)) {
                return event;
            }
        }
        throw new AssertionError("no " + type);
    }

    private static long shuffleFiles(Path directory) throws IOException {
        try (Stream<Path> all = Files.walk(directory)) {
            return all.filter(file -> file.getFileName().toString().startsWith("shuffle_"))
                    .count();
        }
    }

    @Test
    void adoptsReportsAndLetsSparkDeleteWhatWasAdopted() throws Exception {
        Path writing = Files.createDirectory(root.resolve("writing"));
        WrittenOutputs written = new WrittenOutputs(writing);
        Map<OutputName, long[]> outputs = written.sizes();
        save(outputs);
        written.leave(List.of(root), new Owner(APPLICATION, 1, "3", 1));
        try (JavaSparkContext spark = new JavaSparkContext(conf().set("spark.plugins", ""))) {
            Adoption adoption = Adoption.open(spark.sc(), outbox);
            Set<Integer> told = ConcurrentHashMap.newKeySet();
            spark.sc().addSparkListener(new SparkListener() {
                @Override
                public void onBlockUpdated(SparkListenerBlockUpdated updated) {
                    if (updated.blockUpdatedInfo().blockId() instanceof ShuffleDataBlockId block) {
                        told.add(block.shuffleId());
                    }
                }
            });
            ExecutorPlugin keeper = keeper(spark);
            SparkEnv env = SparkEnv.get();
            FakeCluster.await(() -> told.equals(Set.of(0, 1, 2)), "Spark has not heard of all shuffles");
            String executor = env.executorId();
            assertEquals(12, HeldBlocks.of(env, executor));
            SavedOutputs.get().close(0);
            assertEquals(8, HeldBlocks.of(env, executor), "of a shuffle that goes on without them nothing is held");
            for (OutputName name : outputs.keySet()) {
                assertEquals(
                        env.blockManager().blockManagerId(),
                        SavedOutputs.get().placeOf(new SavedOutputs.OutputKey(name.shuffle(), name.mapId())));
            }
            JsonNode report = event("outputs_reported");
            assertEquals(12, report.path("found").asInt());
            assertEquals(12, report.path("adopted").asInt());
            assertEquals(0, report.path("refused").size());
            assertTrue(report.path("bytes").asLong() > 0);

            DiskBlockManager disks = env.blockManager().diskBlockManager();
            Path own = disks.localDirs()[0].toPath();
            assertTrue(shuffleFiles(own) > 12);
            FakeCluster.await(
                    () -> {
                        // What Spark's cleaner makes every executor do with a shuffle that nobody refers to any more.
                        for (int shuffle = 0; shuffle < 3; shuffle++) {
                            env.blockingShuffleManager().unregisterShuffle(shuffle);
                        }
                        try {
                            return shuffleFiles(own) == 0;
                        } catch (IOException e) {
                            throw new AssertionError(e);
                        }
                    },
                    "adopted files were not deleted with their shuffle");

            adoption.contextStops();
            keeper.shutdown();
            adoption.awaitLeaving();
            assertTrue(disks.deleteFilesOnStop());
        }
        try (Stream<Path> left = Files.list(root)) {
            assertEquals(
                    List.of(),
                    left.filter(each -> each.getFileName().toString().startsWith("blockmgr"))
                            .toList());
        }
    }

    @Test
    void filesStayUnlessTheDriverSaysOtherwise() throws Exception {
        try (JavaSparkContext spark = new JavaSparkContext(conf())) {
            Adoption adoption = Adoption.open(spark.sc(), outbox);
            ExecutorPlugin keeper = keeper(spark);
            DiskBlockManager disks = SparkEnv.get().blockManager().diskBlockManager();
            Files.createFile(disks.getFile("rdd_1_1").toPath());
            Files.createFile(disks.getFile("shuffle_1_1_0.index").toPath());
            keeper.shutdown();
            adoption.awaitLeaving();
            assertFalse(disks.deleteFilesOnStop());
            assertTrue(disks.getFile("shuffle_1_1_0.index").exists());
            assertFalse(disks.getFile("rdd_1_1").exists());
        }
    }

    @Test
    void anExecutorThatSparkWantsToEndDeletesItsOwn() {
        try (JavaSparkContext spark = new JavaSparkContext(conf())) {
            Adoption adoption = Adoption.open(spark.sc(), outbox);
            String self = SparkEnv.get().blockManager().blockManagerId().executorId();
            adoption.dismissedBy(self::equals);
            keeper(spark).shutdown();
            assertTrue(SparkEnv.get().blockManager().diskBlockManager().deleteFilesOnStop());
        }
    }

    @Test
    void leavesTheUsersPluginsInPlaceAndComesOnce() {
        try (JavaSparkContext spark = new JavaSparkContext(conf().set("spark.plugins", ""))) {
            spark.sc().conf().set("spark.plugins", "org.example.One, org.example.Two");
            Adoption.open(spark.sc(), outbox);
            assertEquals(
                    "org.example.One,org.example.Two,org.yarnspec.executor.KeeperPlugin",
                    spark.sc().conf().get("spark.plugins"));
        }
    }

    @Test
    void whereItCannotWorkExecutorsAreStockAndTheReasonIsSaid() throws Exception {
        assertEquals("", Adoption.whyNot(conf()));
        SparkConf served = conf().set("spark.shuffle.service.enabled", "true");
        assertEquals("", Adoption.whyNot(served));
        assertTrue(Adoption.whyNot(served.set("spark.shuffle.service.fetch.rdd.enabled", "true"))
                .startsWith("spark.shuffle.service.fetch.rdd.enabled"));
        assertTrue(Adoption.whyNot(conf().set("spark.shuffle.sort.io.plugin.class", "org.example.Remote"))
                .startsWith("spark.shuffle.sort.io.plugin.class"));
        assertTrue(Adoption.whyNot(conf().set("spark.shuffle.useOldFetchProtocol", "true"))
                .startsWith("spark.shuffle.useOldFetchProtocol"));
        try (JavaSparkContext spark = new JavaSparkContext(conf())) {
            spark.sc().conf().set("spark.io.encryption.enabled", "true");
            assertNull(Adoption.open(spark.sc(), outbox));
            assertFalse(spark.sc().conf().contains("spark.plugins"));
            assertTrue(event("adoption_off").path("why").asText().startsWith("spark.io.encryption.enabled"));
        }
    }

    @Test
    void nothingOfItIsThereWhenRecoveryIsOff() {
        try (JavaSparkContext spark = new JavaSparkContext(conf().set("spark.yarnspec.recovery.enabled", "false"))) {
            assertNull(Adoption.open(spark.sc(), outbox));
            assertFalse(spark.sc().conf().contains("spark.plugins"));
            assertEquals(0, outbox.waitingEvents());
        }
    }
}
