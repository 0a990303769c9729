package org.yarnspec.mapoutputs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.scheduler.MapStatus$;
import org.apache.spark.storage.BlockManagerId;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.yarnspec.channel.Frames;
import org.yarnspec.executor.Messages;
import org.yarnspec.executor.Messages.Verdict;
import org.yarnspec.executor.OutputName;
import scala.Option;

/** Who may take over what, in the second epoch of an application whose first one left two outputs of shuffle 0. */
class ClaimsTest {
    private static final OutputName FIRST = new OutputName(0, 100_000_001);
    private static final OutputName SECOND = new OutputName(0, 100_000_002);
    private static final long[] SIZES = {1_000, 0, 30};

    private final Set<Integer> existing = new HashSet<>(Set.of(0));
    private final Set<Integer> complete = new HashSet<>();
    private final Claims.Shuffles shuffles = new Claims.Shuffles() {
        @Override
        public boolean exists(int shuffle) {
            return existing.contains(shuffle);
        }

        @Override
        public boolean isComplete(int shuffle) {
            return complete.contains(shuffle);
        }
    };

    @TempDir
    Path directory;

    private SavedOutputs saved;
    private Claims claims;

    @BeforeEach
    void load() throws IOException {
        Path file = directory.resolve("saved");
        try (OutputStream out = Files.newOutputStream(file)) {
            ObjectNode shuffle = Frames.header("shuffle");
            shuffle.put("shuffle", 0).put("signature", "s").put("maps", 2).put("reduces", 3);
            shuffle.put("determinism", "determinate");
            out.write(Frames.encode(shuffle, new byte[0]));
            int index = 0;
            for (OutputName name : List.of(FIRST, SECOND)) {
                ObjectNode map = Frames.header("map");
                map.put("shuffle", 0)
                        .put("index", index++)
                        .put("map_id", name.mapId())
                        .put("executor_id", "3");
                map.put("host", "a").put("epoch", 1).put("bytes", 1_030);
                MapBlob blob = new MapBlob(
                        MapStatus$.MODULE$.apply(executor("3", "a"), SIZES, name.mapId(), 0),
                        -1,
                        -1,
                        List.of(),
                        List.of());
                out.write(Frames.encode(map, blob.encode()));
            }
        }
        saved = SavedOutputs.load(file);
        claims = new Claims(2, saved, shuffles, false, null);
    }

    private static BlockManagerId executor(String id, String host) {
        return BlockManagerId.apply(id, host, 7_000, Option.empty());
    }

    private Verdict ask(BlockManagerId who, int ownerEpoch, String owner, OutputName name) {
        return claims.judge(new Messages.Inventory(who, ownerEpoch, owner, List.of(name)))
                .get(0);
    }

    private Verdict ask(BlockManagerId who, OutputName name) {
        return ask(who, 1, "3", name);
    }

    private void adopt(BlockManagerId who, OutputName name) {
        claims.settle(new Messages.Adopted(who, List.of(name), Map.of()));
    }

    @Test
    void theFirstThatAsksHasIt() {
        BlockManagerId one = executor("11", "a");
        BlockManagerId other = executor("12", "b");
        assertEquals(Verdict.ADOPT, ask(one, FIRST));
        assertEquals(Verdict.ADOPT, ask(one, FIRST), "it may ask again while it is at it");
        assertEquals(Verdict.WAIT, ask(other, FIRST));
        assertEquals(Verdict.ADOPT, ask(other, SECOND));
        adopt(other, FIRST);
        assertNull(saved.placeOf(new SavedOutputs.OutputKey(0, FIRST.mapId())), "it was not the other's to take");
        adopt(one, FIRST);
        assertEquals(one, saved.placeOf(new SavedOutputs.OutputKey(0, FIRST.mapId())));
        assertEquals(Verdict.GARBAGE, ask(other, FIRST));
    }

    @Test
    void whatOneRefusesAnotherMayTake() {
        BlockManagerId one = executor("11", "a");
        BlockManagerId other = executor("12", "b");
        assertEquals(Verdict.ADOPT, ask(one, FIRST));
        claims.settle(new Messages.Adopted(one, List.of(), Map.of(FIRST, "checksum differs")));
        assertEquals(Verdict.ADOPT, ask(other, FIRST));
        adopt(other, FIRST);
        assertEquals(other, saved.placeOf(new SavedOutputs.OutputKey(0, FIRST.mapId())));
    }

    @Test
    void whatOneCannotReadItDoesNotKeepFromOthers() {
        BlockManagerId one = executor("11", "a");
        BlockManagerId other = executor("12", "a");
        assertEquals(Verdict.ADOPT, ask(one, FIRST));
        claims.settle(new Messages.Adopted(one, List.of(), Map.of(FIRST, Messages.UNREADABLE)));
        assertEquals(Verdict.KEEP, ask(one, FIRST));
        assertEquals(Verdict.ADOPT, ask(other, FIRST));
        adopt(other, FIRST);
        assertEquals(other, saved.placeOf(new SavedOutputs.OutputKey(0, FIRST.mapId())));
    }

    @Test
    void whatALostExecutorWasAtIsFreeAgain() {
        assertEquals(Verdict.ADOPT, ask(executor("11", "a"), FIRST));
        claims.lost("11");
        assertEquals(Verdict.ADOPT, ask(executor("12", "a"), FIRST));
        adopt(executor("11", "a"), FIRST);
        assertNull(saved.placeOf(new SavedOutputs.OutputKey(0, FIRST.mapId())));
    }

    @Test
    void onlyItsWriterOrALaterEpochsExecutorCanHaveIt() {
        BlockManagerId who = executor("11", "a");
        assertEquals(Verdict.SPARE, ask(who, 1, "4", FIRST));
        assertTrue(saved.wants(new SavedOutputs.OutputKey(0, FIRST.mapId())));
        assertEquals(Verdict.ADOPT, ask(who, 2, "9", FIRST));
    }

    @Test
    void whatTheJournalDoesNotKnowIsGarbage() {
        assertEquals(Verdict.GARBAGE, ask(executor("11", "a"), new OutputName(0, 100_000_099)));
        assertEquals(Verdict.GARBAGE, ask(executor("11", "a"), new OutputName(5, 100_000_001)));
    }

    @Test
    void withoutAJournalNothingIsGarbage() {
        Claims unknowing = new Claims(2, SavedOutputs.NONE, shuffles, false, null);
        Messages.Inventory found = new Messages.Inventory(executor("11", "a"), 1, "3", List.of(FIRST));
        assertEquals(List.of(Verdict.KEEP), unknowing.judge(found));
    }

    @Test
    void whereNothingThatIsSavedIsOfUseAllOfEarlierEpochsIsGarbage() throws Exception {
        SavedOutputs nothing = SavedOutputs.load(Files.createFile(directory.resolve("nothing")));
        claims = new Claims(3, nothing, shuffles, false, null);
        existing.add(3_000_001);
        OutputName own = new OutputName(3_000_001, 300_000_005);
        BlockManagerId who = executor("21", "a");
        assertEquals(Verdict.GARBAGE, ask(who, FIRST));
        assertEquals(Verdict.KEEP, ask(who, 3, "20", own));
    }

    @Test
    void whatExecutorsOfThisDriverLeftIsKeptAsLongAsItsShuffleExists() {
        existing.add(2_000_001);
        OutputName own = new OutputName(2_000_001, 200_000_005);
        BlockManagerId who = executor("11", "a");
        assertEquals(Verdict.KEEP, ask(who, 2, "8", own));
        complete.add(2_000_001);
        assertEquals(Verdict.SPARE, ask(who, 2, "8", own));
        existing.remove(2_000_001);
        assertEquals(Verdict.GARBAGE, ask(who, 2, "8", own));
    }

    @Test
    void whatComesTooLateIsKeptUntilItsMapHasRunAgain() throws Exception {
        saved.await(0, System.nanoTime(), 0, System.nanoTime());
        BlockManagerId who = executor("11", "a");
        assertEquals(Verdict.KEEP, ask(who, FIRST));
        complete.add(0);
        assertEquals(Verdict.SPARE, ask(who, FIRST));
        existing.remove(0);
        assertEquals(Verdict.GARBAGE, ask(who, FIRST));
    }

    @Test
    void whatAShuffleServiceGivesOutStaysWhereItIs() {
        Claims beside = new Claims(2, saved, shuffles, true, null);
        BlockManagerId who = executor("11", "a");
        Messages.Inventory found = new Messages.Inventory(who, 1, "3", List.of(FIRST, SECOND));
        saved.askServices();
        assertEquals(List.of(Verdict.WAIT, Verdict.WAIT), beside.judge(found), "the service has not spoken yet");
        saved.served(executor("3", "a"), new SavedOutputs.OutputKey(0, FIRST.mapId()));
        assertEquals(List.of(Verdict.SERVED, Verdict.WAIT), beside.judge(found));
        saved.notServed(new SavedOutputs.OutputKey(0, SECOND.mapId()));
        assertEquals(List.of(Verdict.SERVED, Verdict.ADOPT), beside.judge(found));
        saved.close(0);
        assertEquals(Verdict.SERVED, beside.judge(found).get(0), "its shuffle is in use");
    }

    @Test
    void withAShuffleServiceWhatThisDriversExecutorsLeftIsInUse() {
        Claims beside = new Claims(2, saved, shuffles, true, null);
        existing.add(2_000_001);
        complete.add(2_000_001);
        OutputName own = new OutputName(2_000_001, 200_000_005);
        Messages.Inventory found = new Messages.Inventory(executor("11", "a"), 2, "8", List.of(own));
        assertEquals(List.of(Verdict.SERVED), beside.judge(found));
        existing.remove(2_000_001);
        assertEquals(List.of(Verdict.GARBAGE), beside.judge(found));
    }

    @Test
    void comparesSizesAsRoughlyAsSparkKeepsThem() {
        BlockManagerId who = executor("11", "a");
        List<OutputName> names = List.of(FIRST, FIRST, FIRST, FIRST, new OutputName(0, 1));
        List<long[]> sizes =
                List.of(SIZES, new long[] {1_001, 0, 30}, new long[] {1_000, 1, 30}, new long[] {1_000, 0}, new long[] {
                    1_000, 0, 30
                });
        assertEquals(List.of(true, true, false, false, false), claims.compare(new Messages.Sizes(who, names, sizes)));
        assertFalse(claims.compare(new Messages.Sizes(who, List.of(FIRST), List.of(new long[] {2_000, 0, 30})))
                .get(0));
    }
}
