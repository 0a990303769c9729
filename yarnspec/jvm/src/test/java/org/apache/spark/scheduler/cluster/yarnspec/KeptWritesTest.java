package org.apache.spark.scheduler.cluster.yarnspec;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What follows from writes of an earlier driver that are not done again. */
class KeptWritesTest {
    private static final int SHUFFLE = 1_000_000;

    private static final String GONE = "{\"action\":\"skip\",\"check\":true,\"pending\":true,"
            + "\"saved\":{\"path\":\"nosuchfilesystem://x/out\",\"epoch\":1}}";

    @TempDir
    Path directory;

    private boolean isThere(DriverLife life, String answer) {
        life.aboutWrites = answer;
        var numbers = life.cluster.context.parallelize(List.of(1, 2), 2);
        var output = new org.apache.hadoop.fs.Path(directory.resolve("out").toString());
        return life.recovery.writes().isThere(numbers.rdd(), output, "saveAsTextFile");
    }

    /** The negotiator has counted it as not done again, and takes a second one for one more. */
    @Test
    void aWriteOfWhichNobodyCouldSeeWhetherItIsThereIsNotDoneWhenTheProgramTriesAgain() throws Exception {
        try (DriverLife life = new DriverLife(2, null, Map.of())) {
            Path output = Files.createDirectory(directory.resolve("out"));
            assertFalse(isThere(life, "{\"pending\":true}"));
            assertThrows(UncheckedIOException.class, () -> isThere(life, GONE));
            var again = assertThrows(IllegalStateException.class, () -> isThere(life, "{}"));
            assertTrue(again.getMessage().contains("nosuchfilesystem"), again::getMessage);
            Files.delete(output);
            assertFalse(isThere(life, "{}")); // what the program has removed it may write
            Files.createDirectory(output);
            assertThrows(IllegalStateException.class, () -> isThere(life, "{}")); // it had not begun to
            Files.delete(output);
            assertFalse(isThere(life, "{}"));
            life.recovery.writes().save(new org.apache.hadoop.fs.Path(output.toString()), "job");
            Files.createDirectory(output);
            assertFalse(isThere(life, "{}"));
        }
    }

    @Test
    void twoWritesOfDifferentLivesAreNotKeptWhenWhatTheyWereMadeOfIsGone() throws Exception {
        try (DriverLife life = new DriverLife(3, null, Map.of())) {
            Signatures signatures = new Signatures(false);
            signatures.registered(SHUFFLE, Signature.ofUnknownShuffle(List.of(), "a test"), null);
            Signature write = Signature.ofUnknownWrite("out", List.of(SHUFFLE));
            StaleShuffles same = new StaleShuffles(signatures);
            same.skipped(write, "a", 1); // of the shuffle nothing is there
            assertDoesNotThrow(() -> same.skipped(write, "b", 1));
            for (List<Integer> epochs : List.of(List.of(1, 2), List.of(2, 1))) {
                StaleShuffles stale = new StaleShuffles(signatures);
                stale.skipped(write, "a", epochs.get(0));
                assertThrows(IllegalStateException.class, () -> stale.skipped(write, "b", epochs.get(1)));
            }
            assertTrue(life.declared().isEmpty());
        }
    }

    @Test
    void whatWasShownOfAShuffleCountsWhenSparkHasForgottenThat() throws Exception {
        try (DriverLife life = new DriverLife(2, null, Map.of())) {
            Signatures signatures = new Signatures(false);
            StaleShuffles stale = new StaleShuffles(signatures);
            for (int above = 0; above < 3; above++) {
                List<Integer> parents = above == 0 ? List.of() : List.of(SHUFFLE + above - 1);
                signatures.registered(SHUFFLE + above, Signature.ofUnknownShuffle(parents, "a test"), null);
            }
            stale.showing(List.of(SHUFFLE + 2));
            for (int above : List.of(1, 2)) {
                signatures.forget(SHUFFLE + above);
                stale.forget(SHUFFLE + above);
            }
            Signature write = Signature.ofUnknownWrite("out", List.of(SHUFFLE));
            assertThrows(IllegalStateException.class, () -> stale.skipped(write, "a", 1));
            assertTrue(life.declared().isEmpty());
        }
    }

    @Test
    void whatComesBackLaterOfAShuffleThatHasChangedIsNotShown() throws Exception {
        try (DriverLife life = new DriverLife(3, null, Map.of())) {
            Signatures signatures = new Signatures(false);
            StaleShuffles stale = new StaleShuffles(signatures);
            signatures.registered(SHUFFLE, Signature.ofUnknownShuffle(List.of(), "a test"), null);
            stale.skipped(Signature.ofUnknownWrite("out", List.of(SHUFFLE)), "a", 1);
            Signature above = Signature.ofUnknownShuffle(List.of(SHUFFLE), "a test");
            signatures.registered(SHUFFLE + 1, above, null);
            stale.registered(SHUFFLE + 1, above);
            assertThrows(IllegalStateException.class, () -> stale.showing(List.of(SHUFFLE + 1)));
            assertTrue(life.declared().isEmpty());
        }
    }
}
