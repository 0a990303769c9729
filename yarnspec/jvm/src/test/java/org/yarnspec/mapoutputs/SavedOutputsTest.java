package org.yarnspec.mapoutputs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.spark.scheduler.MapStatus$;
import org.apache.spark.storage.BlockManagerId;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.yarnspec.channel.Frames;
import org.yarnspec.mapoutputs.SavedOutputs.OutputKey;
import scala.Option;

/** What an earlier driver left on two hosts, and how long the next one waits for it. */
class SavedOutputsTest {
    private static final long[] SIZES = {1_000, 0, 70_000};
    private static final long NEVER = Long.MAX_VALUE / 2;

    @TempDir
    private Path directory;

    private Path file;
    private SavedOutputs saved;

    @BeforeEach
    void write() throws IOException {
        file = directory.resolve("saved");
        try (OutputStream out = Files.newOutputStream(file)) {
            out.write(Frames.encode(
                    Frames.header("shuffle")
                            .put("shuffle", 5)
                            .put("signature", "s-1")
                            .put("maps", 4)
                            .put("reduces", 3)
                            .put("determinism", "unordered"),
                    new byte[] {9}));
            for (int index = 0; index < 3; index++) {
                out.write(map(index, 100 + index));
            }
        }
        saved = SavedOutputs.load(file);
    }

    private static byte[] map(int index, long mapId) throws IOException {
        var status = MapStatus$.MODULE$.apply(executor("1", "old"), SIZES, mapId, 0);
        return Frames.encode(
                Frames.header("map")
                        .put("shuffle", 5)
                        .put("index", index)
                        .put("map_id", mapId)
                        .put("executor_id", "1")
                        .put("host", index == 2 ? "b" : "a")
                        .put("epoch", 1)
                        .put("bytes", 71_000),
                new MapBlob(status, -1, -1, List.of(), List.of()).encode());
    }

    private static BlockManagerId executor(String id, String host) {
        return BlockManagerId.apply(id, host, 1, Option.empty());
    }

    private static OutputKey key(long mapId) {
        return new OutputKey(5, mapId);
    }

    private CompletableFuture<SavedOutputs.RestoreOutcome> waiting() {
        return CompletableFuture.supplyAsync(() -> {
            try {
                return saved.await(5, System.nanoTime() + NEVER, 0, System.nanoTime() + NEVER);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        });
    }

    @Test
    void theFileIsReadAsAWholeOrNotAtAll() throws IOException {
        assertTrue(saved.hasPast());
        assertEquals(3, saved.all().size());
        assertEquals(1, saved.find(5, 101).index());
        assertEquals(9, saved.shuffle("s-1").facts()[0]);
        byte[] whole = Files.readAllBytes(file);
        Path cut = Files.write(directory.resolve("cut"), Arrays.copyOf(whole, whole.length - 1));
        assertThrows(IOException.class, () -> SavedOutputs.load(cut));
    }

    @Test
    void ofTwoOutputsOfOneMapTheLaterHolds() throws IOException {
        Files.write(file, map(1, 900), java.nio.file.StandardOpenOption.APPEND);
        SavedOutputs newer = SavedOutputs.load(file);
        assertNull(newer.find(5, 101));
        assertEquals(1, newer.find(5, 900).index());
    }

    @Test
    void anIndexOfOtherSizesIsNotThisOutputs() {
        assertTrue(saved.find(5, 100).fits(SIZES));
        assertFalse(saved.find(5, 100).fits(new long[] {1_000, 1, 70_000}));
        assertFalse(saved.find(5, 100).fits(new long[] {1_000, 0, 90_000}));
        assertFalse(saved.find(5, 100).fits(new long[] {1_000, 0, 70_000, 5}));
    }

    @Test
    void waitingEndsWhenEveryOutputIsAnsweredFor() throws Exception {
        CompletableFuture<SavedOutputs.RestoreOutcome> outcome = waiting();
        saved.adopted(executor("7", "a"), List.of(key(100)));
        saved.refused("a", key(101), "missing data");
        assertFalse(outcome.isDone());
        saved.hostGone("b");
        SavedOutputs.RestoreOutcome got = outcome.get(30, TimeUnit.SECONDS);
        assertEquals("7", got.places().get(0).executorId());
        assertEquals(Map.of("missing data", 1, "it is not on its host", 1), got.notRestored());
    }

    @Test
    void aHostThatHasSpokenClosesWhatItDidNotName() throws Exception {
        saved.adopted(executor("7", "a"), List.of(key(100)));
        saved.reported("a", "7");
        saved.reported("b", "8");
        assertEquals(1, waiting().get(30, TimeUnit.SECONDS).places().size());
    }

    @Test
    void whatComesAfterTheWindowComesTooLate() throws Exception {
        SavedOutputs.RestoreOutcome outcome = saved.await(5, System.nanoTime(), 0, System.nanoTime() + NEVER);
        assertEquals(Map.of("its host was not heard in time", 3), outcome.notRestored());
        saved.adopted(executor("7", "a"), List.of(key(100)));
        assertNull(saved.placeOf(key(100)));
        assertNull(saved.find(5, 100));
    }

    @Test
    void aHostThatMoreComesOfIsWaitedForBeyondTheWindow() throws Exception {
        saved.adopted(executor("7", "a"), List.of(key(100)));
        long over = System.nanoTime();
        CompletableFuture<SavedOutputs.RestoreOutcome> outcome = CompletableFuture.supplyAsync(() -> {
            try {
                return saved.await(5, over, NEVER, System.nanoTime() + NEVER);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        });
        assertThrows(TimeoutException.class, () -> outcome.get(100, TimeUnit.MILLISECONDS));
        saved.adopted(executor("7", "a"), List.of(key(101)));
        SavedOutputs.RestoreOutcome got = outcome.get(30, TimeUnit.SECONDS);
        assertEquals(2, got.places().size());
        assertEquals(Map.of("its host was not heard in time", 1), got.notRestored(), "nothing has come of host b");
    }

    @Test
    void thatHasAnEnd() throws Exception {
        saved.adopted(executor("7", "a"), List.of(key(100)));
        long now = System.nanoTime();
        SavedOutputs.RestoreOutcome got = saved.await(5, now, NEVER, now);
        assertEquals(Map.of("its host was not heard in time", 2), got.notRestored());
    }

    @Test
    void oneThatFindsNothingDoesNotCloseTheHostOfAnotherThatGoesOn() throws Exception {
        saved.adopted(executor("7", "a"), List.of(key(100)));
        saved.reported("b", "9");
        saved.reported("a", "8");
        CompletableFuture<SavedOutputs.RestoreOutcome> outcome = waiting();
        assertThrows(TimeoutException.class, () -> outcome.get(100, TimeUnit.MILLISECONDS));
        saved.reported("a", "7");
        assertEquals(
                Map.of("it is not on its host", 2),
                outcome.get(30, TimeUnit.SECONDS).notRestored());
    }

    @Test
    void theFirstExecutorHasIt() {
        saved.adopted(executor("7", "a"), List.of(key(100)));
        assertFalse(saved.wants(key(100)));
        saved.adopted(executor("9", "a"), List.of(key(100)));
        assertEquals("7", saved.placeOf(key(100)).executorId());
    }

    @Test
    void anExecutorThatIsLostTakesItsOutputsAlong() throws Exception {
        saved.adopted(executor("7", "a"), List.of(key(100), key(101)));
        saved.executorLost("7");
        saved.adopted(executor("7", "a"), List.of(key(100))); // said before, heard after
        saved.hostGone("b");
        SavedOutputs.RestoreOutcome outcome = waiting().get(30, TimeUnit.SECONDS);
        assertEquals(Map.of(), outcome.places());
        assertEquals(2, outcome.notRestored().get("its new executor was lost"));
    }

    @Test
    void whileAServiceIsAskedNoHostClosesAnything() throws Exception {
        saved.askServices();
        saved.hostGone("a");
        saved.hostGone("b");
        CompletableFuture<SavedOutputs.RestoreOutcome> outcome = waiting();
        assertTrue(saved.served(executor("1", "a"), key(100)));
        saved.notServed(key(101));
        assertFalse(outcome.isDone());
        assertFalse(saved.served(executor("1", "a"), key(101)), "it was given up");
        saved.notServed(key(102));
        SavedOutputs.RestoreOutcome got = outcome.get(30, TimeUnit.SECONDS);
        assertEquals(Map.of(0, executor("1", "a")), got.places());
        assertEquals(Map.of("it is not on its host", 2), got.notRestored());
    }
}
