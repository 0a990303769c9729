package org.yarnspec.write;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.apache.spark.Partition;
import org.apache.spark.TaskContext;
import org.apache.spark.rdd.RDD;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.yarnspec.files.WrittenFiles;
import org.yarnspec.signature.DriverSignatures;
import org.yarnspec.signature.Signature;
import org.yarnspec.spark.Lineage;
import org.yarnspec.testing.DriverLife;
import scala.Enumeration;

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
        return life.recovery.writes().isThere(numbers.rdd(), output("out"), "saveAsTextFile");
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
            life.recovery.writes().save(output("out"), "job");
            Files.createDirectory(output);
            assertFalse(isThere(life, "{}"));
        }
    }

    @Test
    void twoWritesOfDifferentLivesAreNotKeptWhenWhatTheyWereMadeOfIsGone() throws Exception {
        try (DriverLife life = new DriverLife(3, null, Map.of())) {
            DriverSignatures signatures = new DriverSignatures(false);
            signatures.registered(SHUFFLE, Signature.ofUnknownShuffle(List.of(), "a test"), null);
            Signature write = Signature.ofUnknownWrite("out", List.of(SHUFFLE));
            StaleShuffles same = new StaleShuffles(signatures);
            same.skipped(write, "a", 1); // of the shuffle nothing is there
            assertDoesNotThrow(() -> same.skipped(write, "b", 1));
            for (List<Integer> epochs : List.of(List.of(1, 2), List.of(2, 1))) {
                StaleShuffles stale = new StaleShuffles(signatures);
                stale.skipped(write, "a", epochs.get(0));
                var refused = assertThrows(IllegalStateException.class, () -> stale.skipped(write, "b", epochs.get(1)));
                assertTrue(refused.getMessage().startsWith("yarnspec: a was"), "that which does not fit any more");
            }
            assertTrue(life.declared().isEmpty());
        }
    }

    @ParameterizedTest
    @CsvSource({"true, 1", "true, 2", "false, 1", "false, 2"})
    void whatWasShownOfAShuffleCountsWhenSparkHasDroppedThat(boolean lowerFirst, int drops) throws Exception {
        try (DriverLife life = new DriverLife(2, null, Map.of())) {
            Writes writes = life.recovery.writes();
            var below = life.cluster
                    .context
                    .parallelize(List.of(1, 2), 2)
                    .coalesce(1, true)
                    .coalesce(2, true);
            var between = below.coalesce(1, true);
            var above = between.coalesce(2, true);
            assertFalse(writes.isThere(above.rdd(), output("shown"), "saveAsTextFile"));
            writes.committing(writes.save(output("shown"), "job"), new WrittenFiles(1, "digest"));
            var order = lowerFirst ? List.of(between, above) : List.of(above, between);
            for (var dropped : order.subList(0, drops)) {
                Lineage.shufflesOf(dropped.rdd()).forEach(life.recovery::dropped);
            }
            life.aboutWrites = "{\"action\":\"skip\",\"saved\":{\"epoch\":1}}";
            var refused = assertThrows(
                    IllegalStateException.class, () -> writes.isThere(below.rdd(), output("kept"), "saveAsTextFile"));
            assertTrue(refused.getMessage().contains("kept, but a part"), refused::getMessage);
        }
    }

    /** As where a library is missing, or the program's own RDD has a fault. */
    private static final class FaultyRdd extends RDD<Integer> {
        private static final long serialVersionUID = 1;
        private final RDD<Integer> below;

        FaultyRdd(RDD<Integer> below) {
            super(below, below.elementClassTag());
            this.below = below;
        }

        @Override
        public scala.collection.Iterator<Integer> compute(Partition split, TaskContext task) {
            return below.iterator(split, task);
        }

        @Override
        public Partition[] getPartitions() {
            return below.partitions();
        }

        @Override
        public Enumeration.Value getOutputDeterministicLevel() {
            throw new NoClassDefFoundError("missing");
        }
    }

    @Test
    void whatIsMadeLaterOfAShuffleThatHasChangedDoesNotEvenBegin() throws Exception {
        try (DriverLife life = new DriverLife(3, null, Map.of())) {
            Writes writes = life.recovery.writes();
            // One of which each run may have its rows in another order.
            var changed = life.cluster
                    .context
                    .parallelize(List.of(1, 2), 2)
                    .coalesce(1, true)
                    .coalesce(2, true);
            life.aboutWrites = "{\"action\":\"skip\",\"saved\":{\"epoch\":1}}";
            assertTrue(writes.isThere(changed.rdd(), output("kept"), "saveAsTextFile"));
            life.aboutWrites = "{}";
            // Directly, by a shuffle that comes now, and by one of which nothing can be told.
            var faulty = new FaultyRdd(changed.rdd()).toJavaRDD();
            for (var later : List.of(changed, changed.coalesce(1, true), faulty.coalesce(1, true))) {
                assertFalse(writes.isThere(later.rdd(), output("later"), "saveAsTextFile"));
                var refused = assertThrows(IllegalStateException.class, () -> writes.save(output("later"), "job"));
                assertTrue(refused.getMessage().contains("kept, but a part"), refused::getMessage);
                writes.leave(output("later"));
            }
            assertTrue(life.cluster.events("write_beginning").isEmpty());
        }
    }

    @Test
    void whatHasChangedSinceItsWriteBeganIsNotShown() throws Exception {
        try (DriverLife life = new DriverLife(3, null, Map.of())) {
            Writes writes = life.recovery.writes();
            var changed = life.cluster
                    .context
                    .parallelize(List.of(1, 2), 2)
                    .coalesce(1, true)
                    .coalesce(2, true);
            assertFalse(writes.isThere(changed.rdd(), output("begun"), "saveAsTextFile"));
            Writes.Write begun = writes.save(output("begun"), "job");
            life.aboutWrites = "{\"action\":\"skip\",\"saved\":{\"epoch\":1}}";
            assertTrue(writes.isThere(changed.rdd(), output("kept"), "saveAsTextFile"));
            assertThrows(IllegalStateException.class, () -> writes.committing(begun, null));
            assertTrue(life.cluster.events("write_committing").isEmpty());
        }
    }

    private org.apache.hadoop.fs.Path output(String name) {
        return new org.apache.hadoop.fs.Path(directory.resolve(name).toString());
    }
}
