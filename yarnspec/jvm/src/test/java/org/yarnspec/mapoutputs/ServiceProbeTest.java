package org.yarnspec.mapoutputs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.zip.Adler32;
import org.apache.spark.network.TransportContext;
import org.apache.spark.network.server.TransportServer;
import org.apache.spark.network.shuffle.ExecutorDiskUtils;
import org.apache.spark.network.shuffle.ExternalBlockHandler;
import org.apache.spark.network.shuffle.ExternalBlockStoreClient;
import org.apache.spark.network.shuffle.checksum.Cause;
import org.apache.spark.network.shuffle.protocol.ExecutorShuffleInfo;
import org.apache.spark.network.util.MapConfigProvider;
import org.apache.spark.network.util.TransportConf;
import org.apache.spark.scheduler.MapStatus$;
import org.apache.spark.storage.BlockManagerId;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.yarnspec.channel.Frames;
import org.yarnspec.mapoutputs.SavedOutputs.OutputKey;
import scala.Option;

/** Two hosts, on each an executor of an earlier driver with two outputs of three parts, of which one is empty. */
class ServiceProbeTest {
    private static final long[] SIZES = {1_000, 0, 500};
    private static final long LONG_MS = 60_000;

    @TempDir
    Path directory;

    private final Set<String> answered = ConcurrentHashMap.newKeySet();
    private SavedOutputs saved;

    @BeforeEach
    void load() throws IOException {
        Path file = directory.resolve("saved");
        try (OutputStream out = Files.newOutputStream(file)) {
            out.write(Frames.encode(
                    Frames.header("shuffle")
                            .put("shuffle", 5)
                            .put("signature", "s")
                            .put("maps", 4)
                            .put("reduces", 3)
                            .put("determinism", "determinate"),
                    new byte[0]));
            for (int index = 0; index < 4; index++) {
                BlockManagerId where = index < 2 ? at("1", "a", 7337) : at("2", "b", 7337);
                var status = MapStatus$.MODULE$.apply(where, SIZES, 100 + index, 0);
                out.write(Frames.encode(
                        Frames.header("map")
                                .put("shuffle", 5)
                                .put("index", index)
                                .put("map_id", 100 + index)
                                .put("executor_id", where.executorId())
                                .put("host", where.host())
                                .put("epoch", 1)
                                .put("bytes", 1_500),
                        new MapBlob(status, -1, -1, List.of(), List.of()).encode()));
            }
        }
        saved = SavedOutputs.load(file);
        saved.askServices();
    }

    private static BlockManagerId at(String executor, String host, int port) {
        return BlockManagerId.apply(executor, host, port, Option.empty());
    }

    private void probe(boolean all, long timeoutMs, ServiceProbe.Services services) throws InterruptedException {
        ServiceProbe.ProbeWatcher watcher = (host, outputs, served, bytes, durationMs) ->
                answered.add(host + " " + outputs + " " + served + " " + bytes);
        new ServiceProbe(saved, all, services, watcher).run(timeoutMs);
        saved.all().forEach(each -> assertFalse(saved.isAsked(each.key())));
    }

    private Set<Long> served() {
        Set<Long> maps = new TreeSet<>();
        saved.all().stream().filter(each -> saved.placeOf(each.key()) != null).forEach(each -> maps.add(each.mapId()));
        return maps;
    }

    @Test
    void whatIsWholeIsUsedWhereItIs() throws Exception {
        Set<Integer> reducers = ConcurrentHashMap.newKeySet();
        probe(true, LONG_MS, (where, shuffle, mapId, reducer) -> reducers.add(reducer) || true);
        assertEquals(Set.of(100L, 101L, 102L, 103L), served());
        assertEquals(at("2", "b", 7337), saved.placeOf(new OutputKey(5, 103)));
        assertEquals(Set.of(0, 2), reducers, "nobody reads an empty part");
        assertEquals(Set.of("a 2 2 3000", "b 2 2 3000"), answered);
    }

    @Test
    void withoutChecksumsOnlyTheLastFilledPartIsLookedAt() throws Exception {
        Set<Integer> reducers = ConcurrentHashMap.newKeySet();
        probe(false, LONG_MS, (where, shuffle, mapId, reducer) -> reducers.add(reducer) || true);
        assertEquals(Set.of(2), reducers);
        assertEquals(4, served().size());
    }

    @Test
    void whatIsDamagedOrGoneIsLeftToAdoption() throws Exception {
        probe(true, LONG_MS, (where, shuffle, mapId, reducer) -> {
            if (mapId == 103) {
                throw new IllegalStateException("no such thing");
            }
            return mapId != 100 || reducer != 2;
        });
        assertEquals(Set.of(101L, 102L), served());
        assertTrue(saved.wants(new OutputKey(5, 100)));
        assertEquals(Set.of("a 2 1 1500", "b 2 1 1500"), answered);
    }

    @Test
    void aServiceThatDoesNotAnswerHoldsUpNobodyElse() throws Exception {
        CountDownLatch never = new CountDownLatch(1);
        probe(true, 300, (where, shuffle, mapId, reducer) -> {
            try {
                if (where.host().equals("b")) {
                    never.await();
                }
                return true;
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        });
        assertEquals(Set.of(100L, 101L), served());
    }

    /** What the answers of Spark's own service to its own client mean. */
    @Test
    void aRealServiceKnowsWhatIsWhole() throws Exception {
        File executor = Files.createDirectory(directory.resolve("blockmgr-1")).toFile();
        String[] dirs = {executor.getPath()};
        byte[] data = new byte[1_500];
        Arrays.fill(data, (byte) 7);
        for (long mapId = 100; mapId < 103; mapId++) {
            write(dirs, mapId, data);
        }
        flip(file(dirs, "shuffle_5_101_0.data"));
        Files.delete(file(dirs, "shuffle_5_102_0.checksum.ADLER32"));
        TransportConf conf = new TransportConf("shuffle", new MapConfigProvider(Map.of()));
        ExternalBlockHandler handler = new ExternalBlockHandler(conf, null);
        try (TransportContext context = new TransportContext(conf, handler);
                TransportServer server = context.createServer("127.0.0.1", 0, List.of());
                ExternalBlockStoreClient client = new ExternalBlockStoreClient(conf, null, false, 5_000)) {
            client.init("app");
            client.registerWithShuffleServer(
                    "127.0.0.1",
                    server.getPort(),
                    "1",
                    new ExecutorShuffleInfo(dirs, 64, "org.apache.spark.shuffle.sort.SortShuffleManager"));
            ServiceProbe.Services services = ServiceProbe.of(client, "ADLER32");
            BlockManagerId where = at("1", "127.0.0.1", server.getPort());
            assertTrue(services.isWhole(where, 5, 100, 0));
            assertTrue(services.isWhole(where, 5, 100, 2));
            assertFalse(services.isWhole(where, 5, 101, 0), "a bit is another one");
            assertTrue(services.isWhole(where, 5, 101, 2));
            assertFalse(services.isWhole(where, 5, 102, 0), "nobody can tell");
            assertFalse(services.isWhole(where, 5, 103, 0), "it was never there");
            assertFalse(services.isWhole(at("9", "127.0.0.1", server.getPort()), 5, 100, 0));
            assertEquals(
                    Cause.NETWORK_ISSUE,
                    client.diagnoseCorruption("127.0.0.1", server.getPort(), "1", 5, 100, 0, 0, "ADLER32"));
        }
    }

    private static Path file(String[] dirs, String name) {
        return Path.of(ExecutorDiskUtils.getFilePath(dirs, 64, name));
    }

    private static void flip(Path file) throws IOException {
        byte[] content = Files.readAllBytes(file);
        content[3] ^= 1;
        Files.write(file, content);
    }

    private static void write(String[] dirs, long mapId, byte[] data) throws IOException {
        ByteBuffer index = ByteBuffer.allocate(4 * Long.BYTES);
        ByteBuffer sums = ByteBuffer.allocate(3 * Long.BYTES);
        long offset = 0;
        index.putLong(offset);
        for (long size : SIZES) {
            Adler32 sum = new Adler32();
            sum.update(data, (int) offset, (int) size);
            sums.putLong(sum.getValue());
            offset += size;
            index.putLong(offset);
        }
        String name = "shuffle_5_" + mapId + "_0.";
        for (Map.Entry<String, byte[]> each : Map.of(
                        "index", index.array(), "data", data, "checksum.ADLER32", sums.array())
                .entrySet()) {
            Path place = file(dirs, name + each.getKey());
            Files.createDirectories(place.getParent());
            Files.write(place, each.getValue());
        }
    }
}
