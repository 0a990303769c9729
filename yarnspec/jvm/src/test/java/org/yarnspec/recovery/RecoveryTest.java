package org.yarnspec.recovery;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.apache.spark.HashPartitioner;
import org.apache.spark.Partitioner;
import org.apache.spark.api.java.JavaFutureAction;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.scheduler.ExecutorProcessLost;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.storage.BlockManagerId;
import org.apache.spark.util.AccumulatorV2;
import org.apache.spark.util.LongAccumulator;
import org.apache.spark.yarnspec.KnownFunctions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.yarnspec.channel.Frames;
import org.yarnspec.mapoutputs.EpochNumbers;
import org.yarnspec.mapoutputs.MapBlob;
import org.yarnspec.mapoutputs.SavedOutputs;
import org.yarnspec.mapoutputs.WatchedShuffleStatus;
import org.yarnspec.spark.Fields;
import org.yarnspec.spark.Lineage;
import org.yarnspec.testing.DriverLife;
import org.yarnspec.testing.FakeCluster;
import scala.Option;

/** What is recorded of a driver's maps, and what the next driver does with it; in Spark's own scheduler. */
class RecoveryTest {
    private static final long[] SIZES = {10, 20, 30};
    private static final long CHECKSUM = 5;

    @TempDir
    private Path directory;

    private static JavaFutureAction<Long> shuffled(DriverLife life) {
        return life.cluster
                .context
                .parallelize(List.of(1, 2, 3, 4), 4)
                .coalesce(2, true)
                .countAsync();
    }

    /** What a life leaves that has finished so many of these maps. */
    private Path saved(int maps) throws Exception {
        try (DriverLife life = new DriverLife(1, null, Map.of())) {
            shuffled(life);
            finishMaps(life, maps);
            life.awaitMaps(maps);
            return life.save(directory.resolve("saved"));
        }
    }

    /** Starts what can start and finishes maps until so many have finished. */
    private static List<Long> finishMaps(DriverLife life, int count) throws InterruptedException {
        List<Long> finished = new ArrayList<>();
        while (finished.size() < count) {
            for (long task : life.cluster.offerUntilStarted()) {
                if (finished.size() < count) {
                    life.cluster.finish(task, life.cluster.mapOutput(task, SIZES));
                    finished.add(task);
                }
            }
        }
        return finished;
    }

    @Test
    void numbersOfTwoLivesDoNotMeet() throws Exception {
        try (DriverLife life = new DriverLife(3, null, Map.of())) {
            shuffled(life);
            FakeCluster.await(() -> !life.cluster.offer().isEmpty(), "no map started");
            assertEquals(3_000_000, life.declared().get(0).get("shuffle").asInt());
            assertTrue(life.cluster.running().stream().allMatch(task -> task >= 3 * EpochNumbers.TASKS_PER_EPOCH));
        }
    }

    @Test
    void aFinishedMapIsToldOnce() throws Exception {
        try (DriverLife life = new DriverLife(1, null, Map.of())) {
            shuffled(life);
            List<Long> maps = finishMaps(life, 3);
            life.awaitMaps(3);
            assertEquals(3, life.frames.size());
            for (Frames.Frame frame : life.frames.values()) {
                assertTrue(maps.contains(frame.header().get("map_id").asLong()));
                MapStatus status = MapBlob.decode(frame.blob()).status();
                assertEquals(
                        frame.header().get("host").asText(), status.location().host());
                assertEquals(frame.header().get("map_id").asLong(), status.mapId());
            }
        }
    }

    /** An earlier run of it may be saved, and taken later for what a write was made of. */
    @Test
    void whatIsMadeOfAShuffleThatIsNotRecordedAndMayGiveOtherRowsIsNotKnown() throws Exception {
        try (DriverLife life = new DriverLife(2, null, Map.of())) {
            life.records = false;
            var numbers = life.cluster.context.parallelize(List.of(1, 2, 3, 4), 4);
            numbers.coalesce(2, true).coalesce(3, true).coalesce(2, true).countAsync();
            FakeCluster.await(() -> !life.cluster.offer().isEmpty(), "no map started");
            assertEquals(
                    "determinate", life.declared().get(0).get("determinism").asText());
            assertEquals("", life.declared().get(1).get("why_not").asText());
            assertEquals(
                    "below it: its map outputs are not recorded",
                    life.declared().get(2).get("why_not").asText());
        }
    }

    @Test
    void whyNothingIsKnownOfAShuffleHoldsForThoseAboveIt() throws Exception {
        try (DriverLife life = new DriverLife(2, null, Map.of())) {
            var numbers = life.cluster.context.parallelize(List.of(1, 2, 3, 4), 4);
            numbers.coalesce(2, true)
                    .cache()
                    .coalesce(3, true)
                    .coalesce(2, true)
                    .countAsync();
            FakeCluster.await(() -> !life.cluster.offer().isEmpty(), "no map started");
            String why = life.declared().get(1).get("why_not").asText();
            assertTrue(why.contains("cached"), why);
            assertEquals(
                    "below it: " + why, life.declared().get(2).get("why_not").asText());
        }
    }

    private static List<String> told(DriverLife life, String field) throws Exception {
        return life.declared().stream().map(each -> each.get(field).asText()).toList();
    }

    /** Spark makes shuffles when somebody asks for partitions, and the next driver makes these at the same place. */
    @ParameterizedTest
    @CsvSource({"nothing, 0, 6", "cache, 2, 0", "checkpoint, 2, 0", "file, 1, 4", "property, 1, 4", "ours, 0, 6"})
    void whatAShuffleIsMustStillHoldWhenItsMapsRun(String since, int stopped, int told) throws Exception {
        try (DriverLife life = new DriverLife(1, null, Map.of())) {
            var context = life.cluster.context;
            JavaRDD<Integer> first = context.parallelize(List.of(1, 2, 3, 4), 4);
            // Spark takes the lower one for the same each time: it goes by nothing that is not in it.
            JavaPairRDD<Integer, Integer> upper = spread(spread(KnownFunctions.paired(first)));
            upper.toDebugString();
            assertEquals(
                    List.of("", ""),
                    life.declared().stream()
                            .map(each -> each.get("why_not").asText())
                            .toList());
            switch (since) {
                case "cache" -> first.cache();
                case "checkpoint" -> {
                    context.setCheckpointDir(directory.toString());
                    first.checkpoint();
                }
                case "file" -> addFile(life, "model");
                case "property" -> context.setLocalProperty("day", "1");
                case "ours" -> {
                    addFile(life, "yarnspec-tasks.zip");
                    context.setLocalProperty("yarnspec.sink.save", "1");
                    context.setLocalProperty("spark.job.description", "a save");
                }
                default -> {}
            }
            upper.countAsync();
            finishMaps(life, 4 + 2);
            life.awaitMaps(told);
            assertEquals(stopped, life.cluster.events("recording_stopped").size());
            assertEquals(told, life.frames.size());
        }
    }

    /** Also of shuffles of which no map has run in this life. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void whatRunsAgainForAnotherJobIsStillRecorded(boolean cameBack) throws Exception {
        Path past = null;
        if (cameBack) {
            try (DriverLife life = new DriverLife(1, null, Map.of())) {
                chained(life).countAsync();
                finishMaps(life, 2 + 2);
                life.awaitMaps(2 + 2);
                past = life.save(directory.resolve("saved"));
            }
        }
        try (DriverLife life = new DriverLife(cameBack ? 2 : 1, past, Map.of())) {
            if (cameBack) {
                life.adopt("1", "a", Set.of());
                life.adopt("2", "b", Set.of());
            }
            JavaPairRDD<Integer, Integer> upper = chained(life);
            JavaFutureAction<Long> job = upper.countAsync();
            finishMaps(life, cameBack ? 0 : 2 + 2);
            finishReducers(life);
            job.get(30, TimeUnit.SECONDS);
            life.cluster.lose("1");
            life.cluster.context.setLocalProperty("day", "2");
            addFile(life, "model");
            upper.countAsync();
            List<Long> again = finishMaps(life, 2); // of each shuffle one
            FakeCluster.await(() -> mapIds(life).containsAll(again), "the maps that ran again were not told");
            assertEquals(List.of(), life.cluster.events("recording_stopped"));
        }
    }

    private static void finishReducers(DriverLife life) throws InterruptedException {
        List<Long> reducers = new ArrayList<>();
        FakeCluster.await(() -> reducers.addAll(life.cluster.offer()) && reducers.size() == 2, "no reducers");
        reducers.forEach(task -> life.cluster.finish(task, 2L));
    }

    private static List<Long> mapIds(DriverLife life) {
        return life.frames.values().stream()
                .map(each -> each.header().get("map_id").asLong())
                .toList();
    }

    private void addFile(DriverLife life, String name) throws Exception {
        life.cluster.context.addFile(
                Files.writeString(directory.resolve(name), name).toString());
    }

    @Test
    void aStageThatWritesByItselfIsToldOnce() throws Exception {
        try (DriverLife life = new DriverLife(1, null, Map.of())) {
            life.cluster.slot("3", "a");
            var numbers = life.cluster.context.parallelize(List.of(1), 1);
            for (int round = 0; round < 2; round++) {
                numbers.foreachAsync(number -> {});
                FakeCluster.await(() -> !life.cluster.offer().isEmpty(), "no task started");
            }
            numbers.countAsync();
            FakeCluster.await(() -> !life.cluster.offer().isEmpty(), "no task started");
            List<String> told = unrecorded(life);
            assertEquals(1, told.size(), () -> "" + told);
            assertTrue(told.get(0).matches("writes: foreachAsync at .* writes by itself"), told.get(0));
        }
    }

    private static List<String> unrecorded(DriverLife life) throws Exception {
        List<String> told = new ArrayList<>();
        life.cluster
                .events("unrecorded")
                .forEach(event -> told.add(
                        event.get("kind").asText() + ": " + event.get("why").asText()));
        return told;
    }

    private static void beginCount(DriverLife life, JavaRDD<Integer> numbers) throws InterruptedException {
        numbers.countAsync();
        FakeCluster.await(() -> !life.cluster.offer().isEmpty(), "no task started");
    }

    @Test
    void theFirstStageThatUsesCachedDataIsTold() throws Exception {
        try (DriverLife life = new DriverLife(1, null, Map.of())) {
            life.cluster.slot("3", "a").slot("4", "b");
            JavaRDD<Integer> plain = life.cluster.context.parallelize(List.of(1), 1);
            JavaRDD<Integer> cached = plain.map(number -> number + 1).cache();
            beginCount(life, plain);
            assertEquals(List.of(), unrecorded(life));
            beginCount(life, cached);
            List<String> told = unrecorded(life);
            assertTrue(told.size() == 1 && told.get(0).matches("cached: countAsync at .*"), () -> "" + told);
            beginCount(life, cached.map(number -> number));
            assertEquals(told, unrecorded(life));
        }
    }

    @Test
    void theFirstStageOfAStreamIsTold() throws Exception {
        try (DriverLife life = new DriverLife(1, null, Map.of())) {
            life.cluster.slot("3", "a");
            life.cluster.context.setLocalProperty("sql.streaming.queryId", "q");
            JavaRDD<Integer> cached =
                    life.cluster.context.parallelize(List.of(1), 1).cache();
            for (int batch = 0; batch < 2; batch++) {
                beginCount(life, cached);
            }
            cached.foreachAsync(number -> {});
            FakeCluster.await(() -> !life.cluster.offer().isEmpty(), "no task started");
            List<String> told = unrecorded(life);
            assertTrue(told.size() == 1 && told.get(0).matches("stream: countAsync at .*"), () -> "" + told);
        }
    }

    @Test
    void whatSparksTrackerRefusesIsNotTold() throws Exception {
        try (DriverLife life = new DriverLife(1, null, Map.of())) {
            shuffled(life);
            List<Long> started = life.cluster.offerUntilStarted();
            long lost = started.stream()
                    .filter(task -> life.cluster.hostOf(task).equals("a"))
                    .findFirst()
                    .get();
            MapStatus output = life.cluster.mapOutput(lost, SIZES);
            // The executor is lost for Spark while the result of its task is on its way.
            life.cluster
                    .scheduler
                    .dagScheduler()
                    .executorLost("1", new ExecutorProcessLost("gone", Option.empty(), true));
            life.cluster.finish(lost, output);
            long other =
                    started.stream().filter(task -> task != lost).findFirst().get();
            life.cluster.finish(other, life.cluster.mapOutput(other, SIZES));
            life.awaitMaps(1);
            assertEquals(
                    other,
                    life.frames
                            .values()
                            .iterator()
                            .next()
                            .header()
                            .get("map_id")
                            .asLong());
            assertEquals(1, life.frames.size());
        }
    }

    @Test
    void theNextDriverRunsOnlyWhatIsMissing() throws Exception {
        Path past = saved(3);
        try (DriverLife life = new DriverLife(2, past, Map.of())) {
            life.adopt("7", "a", Set.of());
            life.adopt("8", "b", Set.of());
            life.cluster.slot("7", "a").slot("8", "b");
            JavaFutureAction<Long> job = shuffled(life);
            assertEquals(1, finishMaps(life, 1).size());
            finishReducers(life);
            assertEquals(4, job.get(30, TimeUnit.SECONDS));
            assertEquals(
                    3,
                    life.cluster
                            .events("shuffle_restored")
                            .get(0)
                            .get("restored")
                            .asInt());
            assertEquals(
                    1_000_000,
                    life.cluster
                            .events("shuffle_restored")
                            .get(0)
                            .get("shuffle")
                            .asInt());
        }
    }

    @Test
    void whatIsInUseOfAnEarlierDriverIsRefusedAlsoWhereNothingIsRecordedAnyMore() throws Exception {
        Path past = saved(4);
        try (DriverLife life = new DriverLife(2, past, Map.of())) {
            life.records = false;
            life.adopt("7", "a", Set.of());
            life.adopt("8", "b", Set.of());
            shuffled(life);
            FakeCluster.await(() -> !life.cluster.offer().isEmpty(), "no reducer started");
            assertEquals(0, stopped(life));
            life.recovery.differs(1_000_000);
            assertEquals(
                    1_000_000,
                    life.cluster
                            .events("recording_stopped")
                            .get(0)
                            .get("shuffle")
                            .asInt());
        }
    }

    /** Two shuffles, one above the other: both maps of the lower one have run, and one of the upper one's. */
    private Path chain() throws Exception {
        try (DriverLife life = new DriverLife(1, null, Map.of())) {
            chained(life).countAsync();
            for (int stage = 0; stage < 2; stage++) {
                List<Long> maps = life.cluster.offerUntilStarted();
                assertEquals(2, maps.size());
                for (long task : maps.subList(0, 2 - stage)) {
                    life.cluster.finish(task, life.cluster.mapOutput(task, SIZES, CHECKSUM));
                }
            }
            life.awaitMaps(3);
            return life.save(directory.resolve("saved"));
        }
    }

    private static JavaPairRDD<Integer, Integer> chained(DriverLife life) {
        return spread(spread(KnownFunctions.paired(life.cluster.context.parallelize(List.of(1, 2), 2))));
    }

    @ParameterizedTest
    @CsvSource({"5, 1", "6, 2"})
    void whatWaitsAboveAMapThatGivesOtherRowsRunsAgain(long checksum, int above) throws Exception {
        Path past = chain();
        try (DriverLife life = new DriverLife(2, past, Map.of())) {
            for (SavedOutputs.Saved each : SavedOutputs.get().all()) {
                boolean lower =
                        SavedOutputs.get().shuffle(each.shuffle()).outputs().size() == 2;
                BlockManagerId place = BlockManagerId.apply(lower ? "7" : "8", lower ? "a" : "b", 1, Option.empty());
                SavedOutputs.get().adopted(place, List.of(each.key()));
            }
            JavaPairRDD<Integer, Integer> upper = chained(life);
            assertEquals(1, Lineage.shufflesOf(upper.rdd()).size()); // they are begun by that
            assertEquals(2, life.cluster.events("shuffle_restored").size());
            life.cluster
                    .scheduler
                    .dagScheduler()
                    .executorLost("7", new ExecutorProcessLost("gone", Option.empty(), true));
            upper.countAsync();
            List<Long> again = life.cluster.offerUntilStarted();
            assertEquals(2, again.size());
            for (long task : again) {
                life.cluster.finish(task, life.cluster.mapOutput(task, SIZES, checksum));
            }
            assertEquals(above, life.cluster.offerUntilStarted().size());
        }
    }

    /** A sum of fractions, for example, of which another run has another last digit. */
    @ParameterizedTest
    @CsvSource({"false, 2", "true, 1"})
    void otherRowsAreOverlookedWhereSomebodySaysThatTheyMakeNoDifference(String repeatable, int above)
            throws Exception {
        Path past;
        try (DriverLife life = new DriverLife(1, null, Map.of())) {
            spread(chained(life)).countAsync();
            finishMaps(life, 2 + 2 + 1);
            life.awaitMaps(5);
            past = life.save(directory.resolve("saved"));
        }
        try (DriverLife life = new DriverLife(2, past, Map.of("spark.yarnspec.recovery.repeatable", repeatable))) {
            life.adopt("7", "a", Set.of());
            life.adopt("8", "b", Set.of());
            JavaPairRDD<Integer, Integer> between = chained(life);
            JavaPairRDD<Integer, Integer> last = spread(between);
            assertEquals(1, Lineage.shufflesOf(last.rdd()).size()); // they are begun by that
            life.recovery.differs(Lineage.shufflesOf(between.rdd()).iterator().next());
            last.countAsync();
            assertEquals(above, life.cluster.offerUntilStarted().size());
        }
    }

    @Test
    void whatIsBegunAboveAMapThatGaveOtherRowsRunsAgainToo() throws Exception {
        Path past;
        try (DriverLife life = new DriverLife(1, null, Map.of())) {
            twice(life);
            finishMaps(life, 4 + 2);
            life.awaitMaps(6);
            past = life.save(directory.resolve("saved"));
        }
        try (DriverLife life = new DriverLife(2, past, Map.of())) {
            life.adopt("7", "a", Set.of());
            life.adopt("8", "b", Set.of());
            life.cluster.slot("7", "a").slot("8", "b");
            JavaRDD<Integer> lower =
                    life.cluster.context.parallelize(List.of(1, 2, 3, 4), 4).coalesce(2, true);
            life.recovery.differs(Lineage.shufflesOf(lower.rdd()).iterator().next());
            lower.coalesce(3, true).countAsync();
            assertEquals(
                    2, life.cluster.offerUntilStarted().size()); // its maps, and not the three tasks that read them
            assertEquals(
                    0,
                    life.cluster
                            .events("shuffle_restored")
                            .get(1)
                            .get("restored")
                            .asInt());
        }
    }

    @Test
    void whatAnExecutorRefusesRunsAgain() throws Exception {
        Path past = saved(4);
        try (DriverLife life = new DriverLife(2, past, Map.of())) {
            life.adopt("7", "a", Set.of(0, 1));
            life.adopt("8", "b", Set.of(0, 1));
            shuffled(life);
            finishMaps(life, 2);
            var told = life.cluster.events("shuffle_restored").get(0);
            assertEquals(2, told.get("restored").asInt());
            assertEquals(2, told.get("not_restored").get("missing data").asInt());
        }
    }

    @Test
    void aShuffleOfWhichNothingCameBackIsRecordedUnderItsNewNumber() throws Exception {
        Path past = saved(4);
        try (DriverLife life = new DriverLife(2, past, Map.of())) {
            life.adopt("7", "a", Set.of(0, 1, 2, 3));
            life.adopt("8", "b", Set.of(0, 1, 2, 3));
            shuffled(life);
            finishMaps(life, 4);
            life.awaitMaps(4);
            assertEquals(0, awaitRestored(life).get("restored").asInt());
            assertEquals(2, life.declared().size());
            assertEquals(2_000_000, life.declared().get(1).get("shuffle").asInt());
            assertEquals(
                    life.declared().get(0).get("signature"),
                    life.declared().get(1).get("signature"));
            for (Frames.Frame frame : life.frames.values()) {
                assertEquals(2_000_000, frame.header().get("shuffle").asInt());
            }
        }
    }

    /** Spreads records, but not while somebody works out what it is. */
    private static final class FaultyPartitioner extends Partitioner {
        private static final long serialVersionUID = 1;

        @Override
        public int numPartitions() {
            boolean asked = StackWalker.getInstance()
                    .walk(frames ->
                            frames.anyMatch(frame -> frame.getClassName().equals(Recovery.class.getName())));
            if (asked) {
                throw new NoSuchFieldError("as of another version of Spark");
            }
            return 2;
        }

        @Override
        public int getPartition(Object key) {
            return 0;
        }
    }

    @Test
    void aFaultOfOursIsNotTheJobs() throws Exception {
        try (DriverLife life = new DriverLife(1, null, Map.of())) {
            var pairs = KnownFunctions.paired(life.cluster.context.parallelize(List.of(1, 2, 3, 4), 4));
            JavaFutureAction<Long> job =
                    pairs.partitionBy(new FaultyPartitioner()).countAsync();
            finishMaps(life, 4);
            finishReducers(life);
            assertEquals(4, job.get(30, TimeUnit.SECONDS));
            var told = life.cluster.events("recording_stopped");
            assertEquals(1, told.size());
            assertEquals(1_000_000, told.get(0).get("shuffle").asInt());
            assertTrue(life.frames.isEmpty());
        }
    }

    @Test
    void outputsOfAnExecutorThatIsLostAgainAreNotUsed() throws Exception {
        Path past = saved(4);
        try (DriverLife life = new DriverLife(2, past, Map.of())) {
            life.adopt("7", "a", Set.of());
            life.adopt("8", "b", Set.of());
            life.recovery.executorLost("7");
            shuffled(life);
            var told = awaitRestored(life);
            assertEquals(
                    told.get("by_host").get("b").asInt(), told.get("restored").asInt());
            assertTrue(told.get("restored").asInt() < 4);
        }
    }

    private static com.fasterxml.jackson.databind.JsonNode awaitRestored(DriverLife life) throws Exception {
        FakeCluster.await(
                () -> {
                    try {
                        return !life.cluster.events("shuffle_restored").isEmpty();
                    } catch (Exception e) {
                        throw new IllegalStateException(e);
                    }
                },
                "nothing was told of a restored shuffle");
        return life.cluster.events("shuffle_restored").get(0);
    }

    @Test
    void aShuffleWhoseRecordsAreOthersEachTimeComesBackWholeOrNotAtAll() throws Exception {
        Path past;
        try (DriverLife life = new DriverLife(1, null, Map.of())) {
            twice(life);
            finishMaps(life, 4 + 1); // the first shuffle, and one of the two maps that deal its records out again
            life.awaitMaps(5);
            assertEquals(
                    "indeterminate", life.declared().get(1).get("determinism").asText());
            past = life.save(directory.resolve("saved"));
        }
        try (DriverLife life = new DriverLife(2, past, Map.of())) {
            life.adopt("7", "a", Set.of());
            life.adopt("8", "b", Set.of());
            twice(life);
            FakeCluster.await(() -> !life.cluster.offer().isEmpty(), "no map started");
            var told = life.cluster.events("shuffle_restored");
            assertEquals(4, told.get(0).get("restored").asInt());
            assertEquals(0, told.get(1).get("restored").asInt());
            assertTrue(told.get(1).get("not_restored").fieldNames().next().contains("others each time"));
        }
    }

    private static void twice(DriverLife life) {
        life.cluster
                .context
                .parallelize(List.of(1, 2, 3, 4), 4)
                .coalesce(2, true)
                .coalesce(3, true)
                .countAsync();
    }

    @Test
    void aMapThatCountsWhatCannotBeCountedAgainIsNotTold() throws Exception {
        try (DriverLife life = new DriverLife(1, null, Map.of())) {
            shuffled(life);
            List<Long> started = life.cluster.offerUntilStarted();
            finishCounting(life, started.get(0));
            finishMaps(life, 2);
            assertTrue(life.frames.isEmpty());
        }
    }

    @Test
    void whatIsMadeLaterOfSuchAShuffleIsNotToldEither() throws Exception {
        try (DriverLife life = new DriverLife(1, null, Map.of())) {
            JavaPairRDD<Integer, Integer> base =
                    spread(KnownFunctions.paired(life.cluster.context.parallelize(List.of(1, 2), 2)));
            base.countAsync();
            List<Long> started = life.cluster.offerUntilStarted();
            finishCounting(life, started.get(0));
            spread(spread(base)).countAsync(); // two shuffles above it, the upper one of the lower one alone
            FakeCluster.await(() -> stopped(life) == 3, "what is above is recorded");
        }
    }

    @ParameterizedTest
    @CsvSource({"'', 3", "1, 2", "2, 2", "'1, 2', 1", "'2, 1', 1"})
    void whatSparkHasDroppedIsNotReachedFromBelowAndWhatStandsAboveThatIs(String dropped, int reached)
            throws Exception {
        try (DriverLife life = new DriverLife(1, null, Map.of())) {
            JavaPairRDD<Integer, Integer> base =
                    spread(KnownFunctions.paired(life.cluster.context.parallelize(List.of(1, 2), 2)));
            var between = spread(base);
            var chain = List.of(base, between, spread(between));
            for (int i = 0; i < chain.size(); i++) { // each gets its number when it is first looked at
                assertEquals(
                        Set.of(1_000_000 + i), Lineage.shufflesOf(chain.get(i).rdd()));
            }
            for (String each : dropped.isEmpty() ? new String[0] : dropped.split(", ")) {
                life.recovery.dropped(1_000_000 + Integer.parseInt(each));
            }
            life.recovery.differs(1_000_000);
            assertEquals(reached, stopped(life));
        }
    }

    /** A map ends that has counted in an accumulator which cannot be counted again. */
    private static void finishCounting(DriverLife life, long task) throws Exception {
        LongAccumulator counted = new LongAccumulator();
        counted.register(life.cluster.context.sc(), Option.apply("rows"), false);
        LongAccumulator update = (LongAccumulator) counted.copyAndReset();
        update.metadata_$eq(counted.metadata());
        update.add(1L);
        Fields.set(update, "atDriverSide", false); // as on an executor
        List<AccumulatorV2<?, ?>> updates = List.of(update);
        life.cluster.finish(task, life.cluster.mapOutput(task, SIZES), updates);
        FakeCluster.await(() -> stopped(life) == 1, "the recording was not stopped");
    }

    private static JavaPairRDD<Integer, Integer> spread(JavaPairRDD<Integer, Integer> pairs) {
        return KnownFunctions.swapped(pairs).partitionBy(new HashPartitioner(2));
    }

    private static int stopped(DriverLife life) {
        try {
            return life.cluster.events("recording_stopped").size();
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void withoutRecoveryNothingIsAskedAndNumbersAreSparks() throws Exception {
        Map<String, String> settings = new HashMap<>();
        settings.put("spark.shuffle.manager", ResumingShuffleManager.class.getName());
        try (FakeCluster cluster = new FakeCluster(settings).slot("1", "a")) {
            cluster.context.parallelize(List.of(1, 2), 2).coalesce(1, true).countAsync();
            long first = cluster.offerUntilStarted().get(0);
            assertTrue(first < 10);
            assertTrue(cluster.events("shuffle_declared").isEmpty());
            assertFalse(
                    cluster.scheduler
                                    .mapOutputTracker()
                                    .shuffleStatuses()
                                    .get(0)
                                    .get()
                            instanceof WatchedShuffleStatus);
        }
    }
}
