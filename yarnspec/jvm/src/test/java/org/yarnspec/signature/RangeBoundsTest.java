package org.yarnspec.signature;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The bounds of a sort in a query that Spark really samples, in a driver that runs its own tasks. */
class RangeBoundsTest {
    @TempDir
    private Path directory;

    private SparkSession session;

    @BeforeEach
    void start() {
        session = SparkSession.builder()
                .master("local[1]")
                .config("spark.driver.host", "127.0.0.1")
                .config("spark.driver.bindAddress", "127.0.0.1")
                .config("spark.ui.enabled", "false")
                .config("spark.sql.adaptive.enabled", "false")
                .config("spark.sql.shuffle.partitions", "4")
                .config("spark.sql.warehouse.dir", directory.toString())
                .getOrCreate();
    }

    @AfterEach
    void stop() {
        session.stop();
    }

    /** The shuffle of numbers from one to another, in order or by their hash. */
    private ShuffleDependency<?, ?, ?> shuffle(long from, long to, boolean ordered) {
        var numbers = session.range(from, to, 1, 2).selectExpr("-id as id"); // Spark knows the order of a range
        var rows = ordered ? numbers.orderBy("id") : numbers.repartition(4, new Column("id"));
        SparkPlan plan = ((Dataset<?>) rows).queryExecution().executedPlan();
        while (!(plan instanceof ShuffleExchangeExec)) {
            plan = plan.children().head();
        }
        return ((ShuffleExchangeExec) plan).shuffleDependency();
    }

    private static List<List<Object>> partitions(ShuffleDependency<?, ?, ?> shuffle) {
        // What each map would write: the range of each row. A lambda of the test's cannot leave this JVM, and need not.
        Object[] records = (Object[]) shuffle.rdd().collect();
        return Arrays.stream(records)
                .map(each -> (scala.Product2<?, ?>) each)
                .map(each -> List.<Object>of(each._1()))
                .toList();
    }

    @Test
    void boundsThatArePutBackAreThoseOfTheTasks() {
        ShuffleDependency<?, ?, ?> first = shuffle(0, 1_000, true);
        byte[] saved = RangeBounds.of(first).encode();
        // Another sample: of other rows, to be sure that it has other bounds.
        ShuffleDependency<?, ?, ?> second = shuffle(500, 1_500, true);
        assertNotEquals(
                Arrays.toString(saved), Arrays.toString(RangeBounds.of(second).encode()));
        assertTrue(RangeBounds.of(second).putBack(saved));
        assertArrayEquals(saved, RangeBounds.of(second).encode());
        // The first 500 rows of the second are the last 500 of the first, and go where those went.
        assertEquals(partitions(first).subList(500, 1_000), partitions(second).subList(0, 500));
    }

    @Test
    void byOtherBoundsItIsAnotherShuffleForThoseAbove() {
        RangeBounds first = RangeBounds.of(shuffle(0, 1_000, true));
        RangeBounds second = RangeBounds.of(shuffle(500, 1_500, true));
        assertEquals(identity(first), identity(RangeBounds.of(shuffle(0, 1_000, true))));
        assertNotEquals(identity(first), identity(second));
        assertTrue(second.putBack(first.encode()));
        assertEquals(identity(first), identity(second));
    }

    /** What stands for a sort in the signatures of those above it, if that were all in which two differ. */
    private static String identity(RangeBounds bounds) {
        var sort = new Signature(
                "text-1",
                "text-1",
                Set.of(),
                "sort",
                2,
                4,
                Signature.Determinism.DETERMINATE,
                List.of(),
                false,
                List.of(),
                "");
        DriverSignatures signatures = new DriverSignatures(false);
        signatures.registered(1, sort, bounds);
        return signatures.of(1);
    }

    @Test
    void boundsOfAnotherNumberDoNotFit() {
        byte[] saved = RangeBounds.of(shuffle(0, 1_000, true)).encode();
        session.conf().set("spark.sql.shuffle.partitions", "3");
        RangeBounds fewer = RangeBounds.of(shuffle(0, 1_000, true));
        byte[] sampled = fewer.encode();
        assertFalse(fewer.putBack(saved));
        assertFalse(fewer.putBack(new byte[0]));
        assertFalse(fewer.putBack(new byte[] {2, 0, 0, 0, 0}));
        assertArrayEquals(sampled, fewer.encode());
    }

    @Test
    void whatIsNotSortedHasNone() {
        assertNull(RangeBounds.of(shuffle(0, 1_000, false)));
    }
}
