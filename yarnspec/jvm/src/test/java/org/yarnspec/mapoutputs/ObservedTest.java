package org.yarnspec.mapoutputs;

import static org.apache.spark.sql.functions.approx_count_distinct;
import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.concat;
import static org.apache.spark.sql.functions.count;
import static org.apache.spark.sql.functions.lit;
import static org.apache.spark.sql.functions.max;
import static org.apache.spark.sql.functions.percentile;
import static org.apache.spark.sql.functions.sum;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.UUID;
import org.apache.spark.scheduler.ExecutorProcessLost;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.execution.CollectMetricsExec;
import org.apache.spark.sql.execution.LastAttemptAggregatingAccumulator;
import org.apache.spark.sql.execution.SparkPlan;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.yarnspec.spark.Fields;
import org.yarnspec.testing.DriverLife;
import org.yarnspec.testing.FakeCluster;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/** What rows are observed in maps of two drivers: the second one tells what a single one would have told. */
class ObservedTest {
    private static final int MAPS = 4;
    private static final long[] SIZES = {10, 20, 30};
    private static final Map<String, String> SETTINGS =
            Map.of("spark.sql.shuffle.partitions", "3", "spark.sql.adaptive.enabled", "false");
    /** Aggregates of each kind: of expressions, with a buffer of their own, and with an object in it. */
    private static final List<Column> KINDS = List.of(
            sum(col("id")),
            max(concat(lit("k"), col("id"))),
            approx_count_distinct("id"),
            percentile(col("id"), lit(0.5)));

    @TempDir
    private Path directory;

    /** A query on hosts that do not exist; its maps' rows are numbers that the test chooses. */
    private static final class Query {
        final DriverLife life;
        private final Dataset<Row> rows;
        private final Queue<Long> started = new ArrayDeque<>();

        Query(DriverLife life, List<Column> metrics) {
            this.life = life;
            SparkSession session = SparkSession.builder()
                    .sparkContext(life.cluster.context.sc())
                    .getOrCreate();
            Column[] others = metrics.subList(1, metrics.size()).toArray(new Column[0]);
            // As of an observation without a name: Spark makes one up.
            var seen = session.range(0, 100, 1, MAPS).toDF().observe("" + UUID.randomUUID(), metrics.get(0), others);
            rows = (Dataset<Row>) seen.groupBy(col("id").mod(5).as("k"))
                    .agg(count(lit(1)).as("n"))
                    .groupBy("n")
                    .agg(count(lit(1)));
            life.cluster.start(rows::collectAsList);
        }

        /** Runs so many maps of the stage that observes. */
        Query run(int maps) throws InterruptedException {
            for (int finished = 0; finished < maps; finished++) {
                long task = next();
                var update = update(life.cluster.partitionOf(task));
                life.cluster.finish(task, life.cluster.mapOutput(task, SIZES), List.of(update));
            }
            return this;
        }

        /** A task that runs. */
        long next() throws InterruptedException {
            if (started.isEmpty()) {
                started.addAll(life.cluster.offerUntilStarted());
            }
            return started.remove();
        }

        /** What a map's task gives that has seen the 25 numbers of its partition. */
        private LastAttemptAggregatingAccumulator update(int map) {
            var registered = (LastAttemptAggregatingAccumulator)
                    Fields.get(find(rows.queryExecution().executedPlan()), "accumulator");
            LastAttemptAggregatingAccumulator update = registered.copyAndReset();
            update.metadata_$eq(registered.metadata());
            for (long id = map * 25L; id < (map + 1) * 25L; id++) {
                update.add(new GenericInternalRow(new Object[] {id}));
            }
            Fields.set(update, "atDriverSide", false); // as on an executor
            return update;
        }

        private static CollectMetricsExec find(SparkPlan plan) {
            if (plan instanceof CollectMetricsExec found) {
                return found;
            }
            return CollectionConverters.asJava(plan.children()).stream()
                    .map(Query::find)
                    .filter(each -> each != null)
                    .findFirst()
                    .orElse(null);
        }

        private String observed() {
            return "" + rows.queryExecution().observedMetrics().values().head();
        }

        void awaitObserved(String expected) throws InterruptedException {
            try {
                FakeCluster.await(() -> observed().equals(expected), "");
            } catch (AssertionError e) {
                assertEquals(expected, observed());
            }
        }

        JsonNode event(String type, int number) throws Exception {
            FakeCluster.await(
                    () -> {
                        try {
                            return life.cluster.events(type).size() > number;
                        } catch (Exception e) {
                            throw new IllegalStateException(e);
                        }
                    },
                    "no " + type);
            return life.cluster.events(type).get(number);
        }
    }

    private String undisturbed() throws Exception {
        try (DriverLife life = new DriverLife(1, null, SETTINGS)) {
            Query query = new Query(life, KINDS).run(MAPS);
            life.awaitMaps(MAPS);
            query.awaitObserved("[4950,k99,"
                    + query.rows
                            .queryExecution()
                            .observedMetrics()
                            .values()
                            .head()
                            .getLong(2) + ",49.5]");
            return query.observed();
        }
    }

    /** What is left of a driver that died when so many maps had finished. */
    private Path past(int maps) throws Exception {
        try (DriverLife life = new DriverLife(1, null, SETTINGS)) {
            new Query(life, KINDS).run(maps);
            life.awaitMaps(maps);
            return life.save(directory.resolve("saved"));
        }
    }

    private static DriverLife next(Path past, Set<Integer> lost) throws Exception {
        DriverLife life = new DriverLife(2, past, SETTINGS);
        life.adopt("7", "a", lost);
        life.adopt("8", "b", lost);
        life.cluster.slot("7", "a").slot("8", "b");
        return life;
    }

    @Test
    void mapsThatAreThereCountAndTheOthersRun() throws Exception {
        String expected = undisturbed();
        try (DriverLife life = next(past(3), Set.of())) {
            Query query = new Query(life, KINDS).run(1);
            query.awaitObserved(expected);
            assertEquals(3, query.event("shuffle_restored", 0).get("restored").asInt());
        }
    }

    @Test
    void aMapThatRunsAgainCountsOnce() throws Exception {
        String expected = undisturbed();
        try (DriverLife life = next(past(MAPS), Set.of(0))) {
            Query query = new Query(life, KINDS);
            long task = query.next(); // the map that did not come back; the others have counted
            life.cluster
                    .scheduler
                    .dagScheduler()
                    .executorLost("8", new ExecutorProcessLost("gone", Option.empty(), true));
            int restored = query.event("shuffle_restored", 0).get("restored").asInt();
            int gone =
                    query.event("shuffle_restored", 0).get("by_host").get("b").asInt();
            assertTrue(restored == 3 && gone > 0);
            life.cluster.finish(
                    task, life.cluster.mapOutput(task, SIZES), List.of(query.update(life.cluster.partitionOf(task))));
            query.run(gone);
            query.awaitObserved(expected);
        }
    }

    @Test
    void aShuffleOfWhichNothingCameBackCountsWhatRuns() throws Exception {
        String expected = undisturbed();
        try (DriverLife life = next(past(MAPS), Set.of(0, 1, 2, 3))) {
            Query query = new Query(life, KINDS).run(MAPS);
            query.awaitObserved(expected);
            assertEquals(0, query.event("shuffle_restored", 0).get("restored").asInt());
        }
    }

    @Test
    void whatIsBelowAShuffleThatIsThereAsAWholeCounts() throws Exception {
        String expected = undisturbed();
        Path past;
        try (DriverLife life = new DriverLife(1, null, SETTINGS)) {
            Query query = new Query(life, KINDS).run(MAPS);
            for (int above = 0; above < 3; above++) {
                long task = query.next();
                life.cluster.finish(task, life.cluster.mapOutput(task, SIZES));
            }
            life.awaitMaps(MAPS + 3);
            past = life.save(directory.resolve("saved"));
        }
        try (DriverLife life = next(past, Set.of())) {
            Query query = new Query(life, KINDS);
            query.awaitObserved(expected);
            assertEquals(3, query.event("shuffle_restored", 1).get("restored").asInt());
        }
    }

    @Test
    void whatIsTooLargeIsNotRecorded() throws Exception {
        List<Column> many = new ArrayList<>();
        for (int i = 0; i < 200; i++) {
            many.add(percentile(col("id").plus(i), lit(0.5)).as("p" + i));
        }
        try (DriverLife life = new DriverLife(1, null, SETTINGS)) {
            Query query = new Query(life, many).run(1);
            String why = query.event("recording_stopped", 0).get("why").asText();
            assertTrue(why.contains("observe()"), why);
            query.run(MAPS - 1);
            assertTrue(life.frames.isEmpty());
        }
    }
}
