package org.yarnspec.recovery;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import org.apache.spark.api.python.PythonAccumulatorV2;
import org.apache.spark.util.AccumulatorContext;
import org.apache.spark.util.AccumulatorMetadata;
import org.apache.spark.util.AccumulatorV2;
import org.apache.spark.util.LongAccumulator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.yarnspec.signature.ShuffleMetrics;
import org.yarnspec.spark.Fields;
import org.yarnspec.testing.DriverLife;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/** What the maps that run in this driver add to the program's accumulators, whatever becomes of them. */
class AccumulatedTest {
    private static final int SHUFFLE = 3;

    private final Accumulated accumulated = new Accumulated(null);
    private DriverLife life;
    private PythonAccumulatorV2 programs;
    private LongAccumulator other;

    @BeforeEach
    void register() throws Exception {
        life = new DriverLife(1, null, Map.of());
        programs = registered(collecting());
        other = registered(new LongAccumulator());
    }

    /** One that keeps what comes, where the driver's own hands it to the program. */
    private static PythonAccumulatorV2 collecting() {
        PythonAccumulatorV2 made = new PythonAccumulatorV2("localhost", 0, null);
        Fields.set(made, "serverHost", null);
        return made;
    }

    private static <T extends AccumulatorV2<?, ?>> T registered(T accumulator) {
        accumulator.metadata_$eq(new AccumulatorMetadata(AccumulatorContext.newId(), Option.empty(), false));
        AccumulatorContext.register(accumulator);
        return accumulator;
    }

    @AfterEach
    void forget() {
        AccumulatorContext.remove(programs.id());
        AccumulatorContext.remove(other.id());
        life.close();
    }

    private PythonAccumulatorV2 update(byte[] counted) {
        PythonAccumulatorV2 update = collecting();
        update.metadata_$eq(programs.metadata());
        update.add(counted);
        return update;
    }

    /** A map's result comes in: what Spark is left to count. */
    private List<AccumulatorV2<?, ?>> result(long task, String counted) {
        List<AccumulatorV2<?, ?>> updates = List.of(update(counted.getBytes(StandardCharsets.UTF_8)), other);
        return CollectionConverters.asJava(accumulated.take(
                SHUFFLE, task, CollectionConverters.asScala(updates).toList()));
    }

    private List<String> counted() {
        return programs.value().stream()
                .map(each -> new String(each, StandardCharsets.UTF_8))
                .toList();
    }

    @Test
    void ofAShuffleThatIsDroppedNothingIsRemembered() {
        for (String each : List.of("first", "second")) {
            assertTrue(accumulated.first(SHUFFLE));
            assertFalse(accumulated.first(SHUFFLE));
            result(1, each);
            accumulated.accepted(SHUFFLE, 0, 1);
            result(2, "again");
            accumulated.accepted(SHUFFLE, 0, 2);
            accumulated.forget(SHUFFLE);
        }
        assertEquals(List.of("first", "second"), counted());
    }

    @Test
    void aMapCountsWhenItsOutputIsThereAndTheOthersAreLeftToSpark() {
        assertEquals(List.of(other), result(1, "one"));
        assertTrue(counted().isEmpty());
        accumulated.accepted(SHUFFLE, 0, 1);
        assertEquals(List.of("one"), counted());
    }

    @Test
    void aMapThatRunsAgainCountsOnce() {
        result(1, "one");
        accumulated.accepted(SHUFFLE, 0, 1);
        result(2, "again");
        accumulated.accepted(SHUFFLE, 0, 2);
        result(3, "two");
        accumulated.accepted(SHUFFLE, 1, 3);
        assertEquals(List.of("one", "two"), counted());
    }

    @Test
    void aResultThatSparkDoesNotLookAtTakesNothingFromTheNextRun() {
        result(1, "late");
        result(2, "again");
        accumulated.accepted(SHUFFLE, 0, 2);
        assertEquals(List.of("again"), counted());
    }

    private MapResult result(int bytes) {
        List<AccumulatorV2<?, ?>> updates = List.of(update(new byte[bytes]));
        return MapResult.of(CollectionConverters.asScala(updates).toList(), ShuffleMetrics.NONE, null);
    }

    @Test
    void whatIsLargeIsNotKeptForTheNextDriver() {
        int most = MapResult.COUNTED_BYTES_MAX;
        assertEquals(most, result(most).accumulated().get(0).length);
        String why = assertThrows(IllegalStateException.class, () -> result(most + 1))
                .getMessage();
        assertTrue(why.contains(most + 1 + " bytes"), why);
    }

    @Test
    void whatWasTakenOverBringsNothing() {
        accumulated.accepted(SHUFFLE, 0, 1);
        result(1, "one");
        accumulated.forget(SHUFFLE);
        accumulated.accepted(SHUFFLE, 0, 1);
        assertTrue(counted().isEmpty());
    }
}
