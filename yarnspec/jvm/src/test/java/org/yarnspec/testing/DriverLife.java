package org.yarnspec.testing;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.storage.BlockManagerId;
import org.yarnspec.channel.FrameFeed;
import org.yarnspec.channel.Frames;
import org.yarnspec.channel.Outbox;
import org.yarnspec.mapoutputs.SavedOutputs;
import org.yarnspec.recovery.Recovery;
import org.yarnspec.recovery.ResumingShuffleManager;
import scala.Option;

/**
 * One life of a driver that is recorded, on hosts that do not exist, with a negotiator that lets every shuffle be reused
 * whose signature is known. What was recorded goes to the next driver by a file, as in earnest.
 */
public final class DriverLife implements AutoCloseable {
    private static final String TOKEN = "token";
    private static final List<String> WRITES = List.of(
            "writes_asked",
            "write_declared",
            "write_beginning",
            "write_clearing",
            "write_deleting",
            "write_committing",
            "write_aborting",
            "write_finished");

    public final FakeCluster cluster;
    public final Recovery recovery;
    /** What every question about writes is answered: go on. */
    public volatile String aboutWrites = "{}";
    /** What it is answered when one is over; null: the same. */
    public volatile String aboutEnds;
    /** Whether map outputs of shuffles are recorded that can be. */
    public volatile boolean records = true;

    public final Map<String, Frames.Frame> frames = new ConcurrentHashMap<>();
    private final int epoch;
    private final SavedOutputs saved;
    private final Outbox told = new Outbox();
    private final Set<Integer> writesTold = new HashSet<>();
    private final Map<Integer, JsonNode> declared = new ConcurrentHashMap<>();
    private final Set<Integer> reused = new HashSet<>();
    private final Thread negotiator = new Thread(this::answerAll, "negotiator");
    private volatile boolean ended;

    /** @param past the file that an earlier driver's save() wrote, or null */
    public DriverLife(int epoch, Path past, Map<String, String> settings) throws Exception {
        this.epoch = epoch;
        saved = past == null ? SavedOutputs.NONE : SavedOutputs.load(past);
        SavedOutputs.set(saved);
        FrameFeed feed = FrameFeed.open(TOKEN);
        boolean repeatable = Boolean.parseBoolean(settings.get("spark.yarnspec.recovery.repeatable"));
        recovery = new Recovery(epoch, told, feed, saved, 200, repeatable);
        Recovery.set(recovery);
        Map<String, String> all = new HashMap<>(settings);
        all.put("spark.shuffle.manager", ResumingShuffleManager.class.getName());
        // Before the context is there it asks what earlier epochs left of their writes.
        negotiator.setDaemon(true);
        negotiator.start();
        cluster = new FakeCluster(all, told).slot("1", "a").slot("2", "b");
        Thread reader = new Thread(() -> read(feed.port()), "frames");
        reader.setDaemon(true);
        reader.start();
    }

    private void answerAll() {
        try {
            while (!ended) {
                for (String type : WRITES) {
                    for (JsonNode event : FakeCluster.events(told, type)) {
                        if (writesTold.add(event.get("question").asInt())) {
                            String answer =
                                    type.equals("write_finished") && aboutEnds != null ? aboutEnds : aboutWrites;
                            recovery.writes().answer(event.get("question").asInt(), answer);
                        }
                    }
                }
                for (JsonNode event : FakeCluster.events(told, "shuffle_declared")) {
                    if (declared.putIfAbsent(event.get("question").asInt(), event) == null) {
                        answer(event);
                    }
                }
                Thread.sleep(2);
            }
        } catch (Exception e) {
            // The test sees that no answer comes.
        }
    }

    private void answer(JsonNode event) throws IOException {
        SavedOutputs.SavedShuffle there = saved.shuffle(event.get("signature").asText());
        boolean restore = event.get("reusable").asBoolean() && there != null && reused.add(there.id());
        ObjectNode answer = new ObjectMapper().createObjectNode();
        answer.put("restore", restore)
                .put("record", records && event.get("reusable").asBoolean());
        answer.put("shuffle", restore ? there.id() : null);
        recovery.answer(event.get("question").asInt(), answer.toString());
    }

    private void read(int port) {
        try (Socket socket = new Socket("127.0.0.1", port)) {
            socket.getOutputStream().write((TOKEN + "\n").getBytes(StandardCharsets.US_ASCII));
            InputStream in = new BufferedInputStream(socket.getInputStream());
            in.readNBytes(8);
            for (Frames.Frame frame = Frames.read(in); frame != null; frame = Frames.read(in)) {
                var header = frame.header();
                frames.put(
                        header.get("kind").asText() + header.get("shuffle") + "."
                                + header.path("index").asInt(-1),
                        frame);
            }
        } catch (IOException e) {
            // The life has ended.
        }
    }

    /** What was declared, in order. */
    public List<JsonNode> declared() throws Exception {
        return cluster.events("shuffle_declared");
    }

    public void awaitMaps(int count) throws InterruptedException {
        FakeCluster.await(
                () -> frames.keySet().stream()
                                .filter(name -> name.startsWith("map_"))
                                .count()
                        >= count,
                "only these were told: " + frames.keySet());
    }

    /** Writes what the next driver begins with. */
    public Path save(Path file) throws Exception {
        Map<Integer, JsonNode> shuffles = new LinkedHashMap<>();
        for (JsonNode event : declared()) {
            shuffles.put(event.get("shuffle").asInt(), event);
        }
        try (OutputStream out = Files.newOutputStream(file)) {
            for (var entry : shuffles.entrySet()) {
                ObjectNode header = Frames.header("shuffle").put("shuffle", entry.getKey());
                for (String key : List.of("signature", "maps", "reduces", "determinism")) {
                    header.set(key, entry.getValue().get(key));
                }
                Frames.Frame facts = frames.get("shuffle_facts" + entry.getKey() + ".-1");
                out.write(Frames.encode(header, facts == null ? new byte[0] : facts.blob()));
                for (Frames.Frame frame : frames.values()) {
                    if (frame.header().has("index")
                            && frame.header().get("shuffle").asInt() == entry.getKey()) {
                        ObjectNode map = frame.header().deepCopy();
                        out.write(Frames.encode(map.put("kind", "map").put("epoch", epoch), frame.blob()));
                    }
                }
            }
        }
        return file;
    }

    /** An executor on a host has found what was saved there, but for these maps. */
    public void adopt(String executorId, String host, Set<Integer> notIndexes) {
        BlockManagerId where = BlockManagerId.apply(executorId, host, 1, Option.empty());
        for (SavedOutputs.Saved each : saved.all()) {
            if (each.host().equals(host)) {
                if (notIndexes.contains(each.index())) {
                    saved.refused(host, each.key(), "missing data");
                } else {
                    saved.adopted(where, List.of(each.key()));
                }
            }
        }
        saved.reported(host, executorId);
    }

    @Override
    public void close() {
        Recovery.set(null);
        SavedOutputs.set(SavedOutputs.NONE);
        cluster.close(); // its jobs may wait for answers
        ended = true;
    }
}
