package org.yarnspec.feed;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.executor.TaskMetrics;
import org.apache.spark.resource.ResourceProfile;
import org.apache.spark.resource.ResourceProfileBuilder;
import org.apache.spark.resource.TaskResourceRequests;
import org.junit.jupiter.api.Test;
import org.yarnspec.scheduler.WatchedTaskSet;
import org.yarnspec.spark.Failures;
import org.yarnspec.stage.StageFlags;
import org.yarnspec.testing.FakeCluster;

/** What the feed tells of a job: from Spark's events, on hosts of the test's making. */
class TaskListenerTest {
    private static final Map<String, String> SPECULATION = Map.of("spark.yarnspec.speculation", "true");

    private static long ofKind(Row.RowKind kind) {
        return kind.ordinal() + 1L;
    }

    @Test
    void aJobWithACopyThatFailsIsToldRowByRow() throws Exception {
        try (FakeCluster cluster = new FakeCluster(SPECULATION).slot("1", "a").slot("2", "b");
                FeedClient client = new FeedClient(cluster.feed.port(), "token")) {
            client.handedOver();
            var job = cluster.context.parallelize(List.of(1), 1).countAsync();
            cluster.awaitStage(0, 0);
            long original = cluster.offerUntilStarted().get(0);
            cluster.scheduler.askForCopy(0, 0, 0, new WatchedTaskSet.Copy(Set.of(), 2));
            long copy = cluster.offerUntilStarted().get(0);
            cluster.fail(copy);
            FakeCluster.await(() -> !cluster.countsAsRunning(0, 0, copy), "the copy's end did not arrive");
            cluster.finish(original, 1L);
            job.get(30, TimeUnit.SECONDS);

            List<Map<String, Object>> rows = client.rows(6);
            List<Object> kinds = rows.stream().map(row -> row.get("kind")).toList();
            assertEquals(
                    List.of(
                            ofKind(Row.RowKind.STAGE_STARTED),
                            ofKind(Row.RowKind.TASK_STARTED),
                            ofKind(Row.RowKind.TASK_STARTED),
                            ofKind(Row.RowKind.TASK_ENDED),
                            ofKind(Row.RowKind.TASK_ENDED),
                            ofKind(Row.RowKind.STAGE_ENDED)),
                    kinds);
            assertEquals(1L, rows.get(0).get("tasks"));
            assertTrue(rows.get(0).get("text").toString().startsWith("countAsync"));
            assertEquals(0L, rows.get(1).get("speculative"));
            assertEquals(cluster.hostOf(original), rows.get(1).get("host"));
            assertEquals(1L, rows.get(2).get("speculative"));
            assertEquals(copy, rows.get(2).get("task_id"));
            assertEquals(1L, rows.get(2).get("attempt"));
            assertEquals((long) Row.State.FAILED.ordinal(), rows.get(3).get("state"));
            assertEquals(
                    (long) Failures.FailureKind.COPY_FAILED.ordinal(),
                    rows.get(3).get("failure"));
            assertTrue(rows.get(3).get("text").toString().contains("broken"));
            assertEquals((long) Row.State.SUCCESS.ordinal(), rows.get(4).get("state"));
            assertEquals((long) Failures.FailureKind.NONE.ordinal(), rows.get(4).get("failure"));
            assertEquals((long) Row.State.SUCCESS.ordinal(), rows.get(5).get("state"));
        }
    }

    @Test
    void theTaskOfAPartitionHasItsNumber() throws Exception {
        try (FakeCluster cluster = new FakeCluster(Map.of()).slot("1", "a");
                FeedClient client = new FeedClient(cluster.feed.port(), "token")) {
            client.handedOver();
            JavaRDD<Integer> numbers = cluster.context.parallelize(List.of(1, 2, 3), 3);
            cluster.start(() -> numbers.collectPartitions(new int[] {2}));
            cluster.awaitStage(0, 0);
            cluster.offerUntilStarted();
            Map<String, Object> started = client.rows(2).get(1);
            assertEquals(List.of(0L, 2L), List.of(started.get("index"), started.get("partition")));
        }
    }

    /** Spark takes resource profiles of its own cluster managers only, and while it is tested. */
    @Test
    void aStageTellsOnWhichExecutorsItsTasksRun() throws Exception {
        System.setProperty("spark.testing", "true");
        try {
            tellsOnWhichExecutorsItsTasksRun();
        } finally {
            System.clearProperty("spark.testing");
        }
    }

    private static void tellsOnWhichExecutorsItsTasksRun() throws Exception {
        for (boolean dynamic : List.of(true, false)) {
            Map<String, String> settings = Map.of("spark.dynamicAllocation.enabled", Boolean.toString(dynamic));
            try (FakeCluster cluster = new FakeCluster(settings);
                    FeedClient client = new FeedClient(cluster.feed.port(), "token")) {
                client.handedOver();
                ResourceProfile tasks = new ResourceProfileBuilder()
                        .require(new TaskResourceRequests().cpus(1))
                        .build();
                // Two of them: an RDD has its profile from then on, also for a job that Spark looks at later.
                cluster.context.parallelize(List.of(1), 1).countAsync();
                cluster.context.parallelize(List.of(1), 1).withResources(tasks).countAsync();
                List<Object> told =
                        client.rows(2).stream().map(row -> row.get("profile")).toList();
                assertEquals(List.of(0L, dynamic ? tasks.id() : 0L), told);
            }
        }
    }

    @Test
    void heartbeatsBecomeCounters() throws Exception {
        try (FakeCluster cluster = new FakeCluster(Map.of()).slot("1", "a");
                FeedClient client = new FeedClient(cluster.feed.port(), "token")) {
            client.handedOver();
            cluster.context.parallelize(List.of(1), 1).countAsync();
            cluster.awaitStage(0, 0);
            long task = cluster.offerUntilStarted().get(0);
            client.rows(2);
            TaskMetrics metrics = TaskMetrics.registered();
            metrics.inputMetrics().incBytesRead(100);
            metrics.inputMetrics().incRecordsRead(10);
            metrics.incDiskBytesSpilled(7);
            cluster.heartbeat(task, metrics.accumulators());
            Map<String, Object> row = client.rows(1).get(0);
            assertEquals(ofKind(Row.RowKind.TASK_COUNTERS), row.get("kind"));
            assertEquals(task, row.get("task_id"));
            assertEquals("a", row.get("host"));
            assertEquals(100L, row.get("bytes_read"));
            assertEquals(10L, row.get("records_read"));
            assertEquals(7L, row.get("spill_bytes"));
            assertEquals(-1L, row.get("run_ms"));
            assertEquals(0L, row.get("records_written"));
        }
    }

    @Test
    void streamsAreRefusedWhereCopiesWereAskedFor() throws Exception {
        try (FakeCluster cluster = new FakeCluster(
                Map.of("spark.yarnspec.speculation", "true", "spark.yarnspec.speculationAsked", "true"))) {
            cluster.context.setLocalProperty("sql.streaming.queryId", "a query");
            var job = cluster.context.parallelize(List.of(1), 1).countAsync();
            String message = assertThrows(ExecutionException.class, () -> job.get(30, TimeUnit.SECONDS))
                    .getCause()
                    .getMessage();
            assertTrue(message.contains("--set speculation.enabled=false"), message);
        }
    }

    @Test
    void streamsRunUncopiedByDefaultAndThatIsSaidOnce() throws Exception {
        try (FakeCluster cluster = new FakeCluster(SPECULATION).slot("1", "a").slot("2", "b");
                FeedClient client = new FeedClient(cluster.feed.port(), "token")) {
            client.handedOver();
            cluster.context.setLocalProperty("sql.streaming.queryId", "a query");
            for (int stage = 0; stage < 2; stage++) {
                var job = cluster.context.parallelize(List.of(1), 1).countAsync();
                long task = cluster.offerUntilStarted().get(0);
                WatchedTaskSet.Copy copy = new WatchedTaskSet.Copy(Set.of(), 2);
                assertEquals("the stage belongs to a stream", cluster.scheduler.askForCopy(stage, 0, 0, copy));
                cluster.finish(task, 1L);
                job.get(30, TimeUnit.SECONDS);
                assertEquals(
                        (long) StageFlags.STREAM, (long) client.rows(4).get(0).get("flags") & StageFlags.STREAM);
            }
            String told = cluster.outbox.poll(0, 0);
            assertEquals(2, told.split("program_warned", -1).length, told);
        }
    }
}
