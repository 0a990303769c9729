package org.yarnspec.mapoutputs;

import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.function.IntPredicate;
import org.apache.spark.storage.BlockManagerId;
import org.yarnspec.channel.Frames;

/**
 * The map outputs that earlier drivers of this application left behind, and which of them executors of this one have
 * found and taken over, or the cluster's shuffle services still give out.
 *
 * <p>One per JVM, safe for all threads. An output is open until a shuffle service gives it out, an executor adopts or
 * refuses it, or every host that may hold it has been heard or is gone.
 */
public final class SavedOutputs {
    /** No outputs: none was left behind, or recovery is off. */
    public static final SavedOutputs NONE = new SavedOutputs();

    private static SavedOutputs current = NONE;

    private final Map<Integer, SavedShuffle> shuffles = new LinkedHashMap<>();
    private final Map<OutputKey, Saved> outputs = new LinkedHashMap<>();
    private final Map<OutputKey, BlockManagerId> adopted = new LinkedHashMap<>();
    private final Map<OutputKey, String> refused = new LinkedHashMap<>();
    private final Set<OutputKey> asked = new HashSet<>();
    private final Set<Integer> closed = new HashSet<>();
    private final Set<String> hostsHeard = new HashSet<>();
    private final Map<String, Long> lastNewsNs = new HashMap<>();
    private final Map<String, Set<String>> takersOn = new HashMap<>();
    private final Set<String> executorsLost = new HashSet<>();

    /** The name of a map output on disk. */
    public record OutputKey(int shuffle, long mapId) {}

    /** A map output that was finished in an earlier epoch, on that host, by that executor. */
    public record Saved(
            int shuffle, int index, long mapId, String executorId, String host, int epoch, long bytes, byte[] blob) {
        public OutputKey key() {
            return new OutputKey(shuffle, mapId);
        }

        /** Spark's knowledge of it; a copy of its own with each call, as Spark changes it. */
        public MapBlob content() throws IOException {
            return MapBlob.decode(blob);
        }

        /** Whether an index file with these sizes, one for each reducer, can be this output's. */
        public boolean fits(long[] sizes) {
            try {
                return LiveAdoption.fits(content().status(), sizes);
            } catch (IOException | RuntimeException e) {
                return false;
            }
        }
    }

    /** A shuffle of an earlier epoch with what is saved of its maps, by index. */
    public record SavedShuffle(
            int id,
            String signature,
            int maps,
            int reduces,
            String determinism,
            byte[] facts,
            Map<Integer, Saved> outputs) {}

    /** The fate of a shuffle's saved outputs: where they are now by index, and why others are not there. */
    public record RestoreOutcome(
            Map<Integer, BlockManagerId> places, Map<String, Integer> notRestored, long waitedMs) {}

    private SavedOutputs() {}

    /** The outputs that the negotiator saved for this driver. */
    public static synchronized SavedOutputs get() {
        return current;
    }

    public static synchronized void set(SavedOutputs outputs) {
        current = outputs;
    }

    /**
     * Reads the negotiator's file of frames; of what comes after a damaged place nothing is known, so a damaged file is
     * an error.
     */
    public static SavedOutputs load(Path file) throws IOException {
        SavedOutputs saved = new SavedOutputs();
        try (InputStream in = new BufferedInputStream(Files.newInputStream(file), 1 << 16)) {
            for (Frames.Frame frame = Frames.read(in); frame != null; frame = Frames.read(in)) {
                saved.add(frame);
            }
        }
        return saved;
    }

    private void add(Frames.Frame frame) throws IOException {
        var header = frame.header();
        String kind = header.path("kind").asText();
        if (kind.equals("shuffle")) {
            int id = header.required("shuffle").asInt();
            shuffles.put(
                    id,
                    new SavedShuffle(
                            id,
                            header.required("signature").asText(),
                            header.required("maps").asInt(),
                            header.required("reduces").asInt(),
                            header.required("determinism").asText(),
                            frame.blob(),
                            new TreeMap<>()));
        } else if (kind.equals("map")) {
            Saved saved = new Saved(
                    header.required("shuffle").asInt(),
                    header.required("index").asInt(),
                    header.required("map_id").asLong(),
                    header.required("executor_id").asText(),
                    header.required("host").asText(),
                    header.required("epoch").asInt(),
                    header.path("bytes").asLong(),
                    frame.blob());
            SavedShuffle shuffle = shuffles.get(saved.shuffle());
            if (shuffle == null || saved.index() < 0 || saved.index() >= shuffle.maps()) {
                throw new IOException("a saved map belongs to no shuffle: " + header);
            }
            Saved older = shuffle.outputs().put(saved.index(), saved);
            if (older != null) {
                outputs.remove(older.key());
            }
            outputs.put(saved.key(), saved);
        }
    }

    /** Whether the negotiator has said what is saved, be it nothing: what is not among it nobody will ever need. */
    boolean isKnown() {
        return this != NONE;
    }

    /** Whether there is anything to be found again. */
    public boolean hasPast() {
        return !outputs.isEmpty();
    }

    public List<Saved> all() {
        return List.copyOf(outputs.values());
    }

    /** The saved output of that name; null when there is none, or its shuffle has gone on without it. */
    public synchronized Saved find(int shuffle, long mapId) {
        OutputKey key = new OutputKey(shuffle, mapId);
        return closed.contains(shuffle) && !adopted.containsKey(key) ? null : outputs.get(key);
    }

    /** Whether an output is saved, of use now or not. */
    boolean knows(OutputKey key) {
        return outputs.containsKey(key);
    }

    /** The saved shuffle of that id; null when there is none. */
    public SavedShuffle shuffle(int id) {
        return shuffles.get(id);
    }

    /** The saved shuffle of that signature; null when there is none. */
    public SavedShuffle shuffle(String signature) {
        for (SavedShuffle each : shuffles.values()) {
            if (each.signature().equals(signature)) {
                return each;
            }
        }
        return null;
    }

    /** Takes no more outputs of this shuffle: they come too late. */
    public synchronized void close(int shuffle) {
        closed.add(shuffle);
    }

    /**
     * Whether an output that is found now is still of use: it is saved, nobody has adopted it, and its shuffle has not
     * gone on without it.
     */
    public synchronized boolean wants(OutputKey key) {
        return outputs.containsKey(key) && !adopted.containsKey(key) && !closed.contains(key.shuffle());
    }

    /** Where an output was taken over; null when nobody has it. */
    public synchronized BlockManagerId placeOf(OutputKey key) {
        return adopted.get(key);
    }

    /** An executor has verified these outputs and serves them now. The first one that says so of an output has it. */
    public synchronized void adopted(BlockManagerId where, Collection<OutputKey> keys) {
        if (executorsLost.contains(where.executorId())) {
            return;
        }
        for (OutputKey key : keys) {
            if (wants(key)) {
                refused.remove(key);
                adopted.put(key, where);
                lastNewsNs.put(where.host(), System.nanoTime());
                takersOn.computeIfAbsent(where.host(), none -> new HashSet<>()).add(where.executorId());
            }
        }
        notifyAll();
    }

    /** The shuffle services of the cluster are asked for all that is saved: nobody else may touch it meanwhile. */
    synchronized void askServices() {
        asked.addAll(outputs.keySet());
    }

    /** Whether a shuffle service may still say that it gives this output out. */
    synchronized boolean isAsked(OutputKey key) {
        return asked.contains(key);
    }

    /** A host's shuffle service gives this output out where it is; false when that comes too late. */
    synchronized boolean served(BlockManagerId where, OutputKey key) {
        boolean inTime = asked.remove(key) && wants(key);
        if (inTime) {
            adopted.put(key, where);
        }
        notifyAll();
        return inTime;
    }

    /** No shuffle service gives this output out: an executor may take it over. */
    synchronized void notServed(OutputKey key) {
        asked.remove(key);
        notifyAll();
    }

    /** An output was looked for on a host and is not there, or not as it was saved. */
    public synchronized void refused(String host, OutputKey key, String why) {
        if (outputs.containsKey(key) && !adopted.containsKey(key)) {
            refused.put(key, why);
            lastNewsNs.put(host, System.nanoTime());
        }
        notifyAll();
    }

    /**
     * An executor has said all that it can say of its host: what is open of that host now will not come, unless another
     * one there has taken something over and not said so yet.
     */
    public synchronized void reported(String host, String executorId) {
        Set<String> takers = takersOn.computeIfAbsent(host, none -> new HashSet<>());
        takers.remove(executorId);
        takers.removeAll(executorsLost);
        if (takers.isEmpty()) {
            hostsHeard.add(host);
        }
        notifyAll();
    }

    /** Waits for no more outputs of that host. */
    public synchronized void hostGone(String host) {
        hostsHeard.add(host);
        notifyAll();
    }

    /** Counts the outputs that a lost executor had taken over as lost, too. */
    public synchronized void executorLost(String executorId) {
        executorsLost.add(executorId);
        for (var all = adopted.entrySet().iterator(); all.hasNext(); ) {
            var entry = all.next();
            if (entry.getValue().executorId().equals(executorId)) {
                refused.put(entry.getKey(), "its new executor was lost");
                all.remove();
            }
        }
        notifyAll();
    }

    /**
     * Waits until nothing of a shuffle is open, at most until the deadline and, for a host that something has come of by
     * then, until nothing has for that long; then the shuffle is closed: what is found later comes too late.
     *
     * @param deadlineNs as {@code System.nanoTime()} counts
     * @param latestNs until then at the longest, however much comes of a host
     */
    public synchronized RestoreOutcome await(int shuffle, long deadlineNs, long silenceNs, long latestNs)
            throws InterruptedException {
        long startedNs = System.nanoTime();
        SavedShuffle wanted = shuffles.get(shuffle);
        Collection<Saved> all =
                wanted == null ? new ArrayList<>() : wanted.outputs().values();
        long leftNs = 1;
        while (leftNs > 0 && all.stream().anyMatch(this::isOpen)) {
            long nowNs = System.nanoTime();
            leftNs = all.stream()
                    .filter(this::isOpen)
                    .map(Saved::host)
                    .distinct()
                    .mapToLong(host -> leftNs(host, nowNs, deadlineNs, silenceNs))
                    .max()
                    .orElse(0);
            leftNs = Math.min(leftNs, latestNs - nowNs);
            if (leftNs > 0) {
                TimeUnit.NANOSECONDS.timedWait(this, leftNs);
            }
        }
        closed.add(shuffle);
        Map<Integer, BlockManagerId> places = new TreeMap<>();
        Map<String, Integer> notRestored = new TreeMap<>();
        for (Saved each : all) {
            BlockManagerId place = adopted.get(each.key());
            if (place != null) {
                places.put(each.index(), place);
            } else {
                notRestored.merge(whyNot(each), 1, Integer::sum);
            }
        }
        return new RestoreOutcome(places, notRestored, TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - startedNs));
    }

    private long leftNs(String host, long nowNs, long deadlineNs, long silenceNs) {
        Long newsNs = lastNewsNs.get(host);
        long leftNs = deadlineNs - nowNs;
        return newsNs == null ? leftNs : Math.max(leftNs, newsNs + silenceNs - nowNs);
    }

    private boolean isOpen(Saved saved) {
        return !adopted.containsKey(saved.key())
                && !refused.containsKey(saved.key())
                && (asked.contains(saved.key()) || !hostsHeard.contains(saved.host()));
    }

    private String whyNot(Saved saved) {
        String why = refused.get(saved.key());
        if (why != null) {
            return why;
        }
        return hostsHeard.contains(saved.host()) ? "it is not on its host" : "its host was not heard in time";
    }

    /** How many outputs an executor has taken over that may still be read. {@code used}: shuffles that Spark has. */
    synchronized int heldBy(String executorId, IntPredicate used) {
        int count = 0;
        for (Map.Entry<OutputKey, BlockManagerId> each : adopted.entrySet()) {
            int shuffle = each.getKey().shuffle();
            if (each.getValue().executorId().equals(executorId) && (!closed.contains(shuffle) || used.test(shuffle))) {
                count++;
            }
        }
        return count;
    }

    /** Whether an executor is known to be lost; what it serves must not be registered. */
    public synchronized boolean isLost(String executorId) {
        return executorsLost.contains(executorId);
    }
}
