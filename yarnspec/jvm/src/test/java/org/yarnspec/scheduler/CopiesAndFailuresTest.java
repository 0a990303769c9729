package org.yarnspec.scheduler;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.apache.spark.api.java.JavaFutureAction;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.yarnspec.testing.FakeCluster;

/** Copies and blocks where tasks may fail, and where Spark itself keeps tasks off hosts. */
class CopiesAndFailuresTest {
    private static final Map<String, String> EXCLUDING = Map.of(
            "spark.task.maxFailures", "4",
            "spark.excludeOnFailure.enabled", "true",
            "spark.scheduler.excludeOnFailure.unschedulableTaskSetTimeout", "0");

    private static JavaFutureAction<Long> count(FakeCluster cluster) throws InterruptedException {
        JavaFutureAction<Long> result =
                cluster.context.parallelize(List.of(1, 2), 1).countAsync();
        cluster.awaitStage(0, 0);
        return result;
    }

    private static void block(FakeCluster cluster, String json) throws Exception {
        cluster.scheduler.block(Blocks.of(new ObjectMapper().readTree(json)));
    }

    private static void failAndAwait(FakeCluster cluster, long task) throws InterruptedException {
        cluster.fail(task);
        FakeCluster.await(() -> !cluster.countsAsRunning(0, 0, task), "the attempt's end did not arrive");
    }

    @Test
    void aTaskStartsOverOnlyWhenNoneOfItsAttemptsCanStillFinish() throws Exception {
        try (FakeCluster cluster = new FakeCluster(Map.of("spark.task.maxFailures", "4"))) {
            cluster.slot("1", "a").slot("2", "b").slot("3", "c");
            JavaFutureAction<Long> job = count(cluster);
            long original = cluster.offerUntilStarted().get(0);
            assertEquals("", cluster.scheduler.askForCopy(0, 0, 0, new WatchedTaskSet.Copy(Set.of(), 2)));
            long copy = cluster.offerUntilStarted().get(0);
            failAndAwait(cluster, original);
            assertEquals(List.of(), cluster.offer());
            failAndAwait(cluster, copy);
            long again = cluster.offerUntilStarted().get(0);
            cluster.finish(again, 2L);
            assertEquals(2L, job.get(30, TimeUnit.SECONDS));
        }
    }

    @Test
    void aTaskWhoseOriginalAndCopyFailIsCountedOnce() throws Exception {
        try (FakeCluster cluster = new FakeCluster(Map.of("spark.task.maxFailures", "2"))) {
            cluster.slot("1", "a").slot("2", "b").slot("3", "c");
            JavaFutureAction<Long> job = count(cluster);
            long original = cluster.offerUntilStarted().get(0);
            assertEquals("", cluster.scheduler.askForCopy(0, 0, 0, new WatchedTaskSet.Copy(Set.of(), 2)));
            long copy = cluster.offerUntilStarted().get(0);
            failAndAwait(cluster, original);
            assertEquals(List.of(), cluster.offer());
            failAndAwait(cluster, copy); // counts: one more would be the last
            long again = cluster.offerUntilStarted().get(0);
            assertFalse(cluster.awaitStage(0, 0).taskInfos().apply(again).speculative());
            cluster.finish(again, 2L);
            assertEquals(2L, job.get(30, TimeUnit.SECONDS));
        }
    }

    @Test
    void whatStartsOverAfterAFailedCopyCountsAgain() throws Exception {
        try (FakeCluster cluster = new FakeCluster(Map.of("spark.task.maxFailures", "2"))) {
            cluster.slot("1", "a").slot("2", "b");
            JavaFutureAction<Long> job = count(cluster);
            long original = cluster.offerUntilStarted().get(0);
            assertEquals("", cluster.scheduler.askForCopy(0, 0, 0, new WatchedTaskSet.Copy(Set.of(), 2)));
            long copy = cluster.offerUntilStarted().get(0);
            failAndAwait(cluster, original);
            failAndAwait(cluster, copy);
            cluster.fail(cluster.offerUntilStarted().get(0));
            assertThrows(ExecutionException.class, () -> job.get(30, TimeUnit.SECONDS));
        }
    }

    @Test
    void withSpeculationOffFailuresCountAsInSpark() throws Exception {
        for (boolean first : List.of(true, false)) {
            try (FakeCluster cluster = new FakeCluster(Map.of("spark.yarnspec.speculation", "false"))) {
                cluster.slot("1", "a").slot("2", "b");
                JavaFutureAction<Long> job = count(cluster);
                long original = cluster.offerUntilStarted().get(0);
                assertEquals("", cluster.scheduler.askForCopy(0, 0, 0, new WatchedTaskSet.Copy(Set.of(), 2)));
                long copy = cluster.offerUntilStarted().get(0);
                cluster.fail(first ? original : copy);
                assertThrows(ExecutionException.class, () -> job.get(30, TimeUnit.SECONDS));
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"elsewhere", "b"})
    void aTaskThatSparkLetsRunNowhereFailsWhateverIsBlocked(String blocked) throws Exception {
        try (FakeCluster cluster = new FakeCluster(EXCLUDING).slot("1", "a").slot("2", "b")) {
            JavaFutureAction<Long> job = count(cluster);
            failAndAwait(cluster, cluster.offerUntilStarted().get(0));
            failAndAwait(cluster, cluster.offerUntilStarted().get(0)); // on the other: Spark has none left
            block(cluster, "{\"hosts\":[\"" + blocked + "\"]}");
            assertEquals(List.of(), cluster.offer());
            String message = assertThrows(ExecutionException.class, () -> job.get(30, TimeUnit.SECONDS))
                    .getCause()
                    .getMessage();
            assertTrue(message.contains("cannot run anywhere"), message);
        }
    }

    @Test
    void aTaskThatOnlyALostExecutorCouldRunDoesNotWaitForIt() throws Exception {
        try (FakeCluster cluster = new FakeCluster(EXCLUDING).slot("1", "a").slot("2", "b")) {
            block(cluster, "{\"hosts\":[\"b\"]}");
            JavaFutureAction<Long> job = count(cluster);
            failAndAwait(cluster, cluster.offerUntilStarted().get(0));
            cluster.lose("2");
            assertEquals(List.of(), cluster.offer());
            assertThrows(ExecutionException.class, () -> job.get(30, TimeUnit.SECONDS));
        }
    }

    @Test
    void aTaskThatMayRunOnlyWhereABlockHoldsWaitsForItsEnd() throws Exception {
        try (FakeCluster cluster = new FakeCluster(EXCLUDING).slot("1", "a").slot("2", "b")) {
            block(cluster, "{\"hosts\":[\"b\"]}");
            JavaFutureAction<Long> job = count(cluster);
            failAndAwait(cluster, cluster.offerUntilStarted().get(0)); // Spark tries it on no executor twice
            assertEquals(List.of(), cluster.offer());
            assertEquals(List.of(), cluster.offer());
            block(cluster, "{}");
            long second = cluster.offerUntilStarted().get(0);
            assertEquals("b", cluster.hostOf(second));
            cluster.finish(second, 2L);
            assertEquals(2L, job.get(30, TimeUnit.SECONDS));
        }
    }

    @Test
    void aBarrierStageWaitsForTheEndOfABlockAndIsNotFailed() throws Exception {
        try (FakeCluster cluster = new FakeCluster(Map.of()).slot("1", "a").slot("2", "b")) {
            block(cluster, "{\"stages\":[{\"stage\":0,\"index\":null,\"hosts\":[\"a\"]}]}");
            Thread job = BarrierJob.start(cluster, 2);
            cluster.awaitStage(0, 0);
            assertEquals(List.of(), cluster.offer());
            assertEquals(List.of(), cluster.offer());
            assertTrue(job.isAlive());
            block(cluster, "{}");
            assertEquals(2, cluster.offerUntilStarted().size());
        }
    }

    @Test
    void sparkItselfCopiesNoTaskOfAJobThatWantsNoCopies() throws Exception {
        Map<String, String> sparks = Map.of(
                "spark.speculation", "true",
                "spark.speculation.interval", "1h",
                "spark.speculation.quantile", "0.5",
                "spark.speculation.efficiency.enabled", "false");
        try (FakeCluster cluster = new FakeCluster(sparks)) {
            cluster.executor("1", "a", 4);
            cluster.context.setLocalProperty("yarnspec.speculation", "false");
            WatchedTaskSet marked = halfDone(cluster, 0);
            cluster.context.setLocalProperty("yarnspec.speculation", null);
            WatchedTaskSet usual = halfDone(cluster, 1);
            FakeCluster.await(() -> findsSlow(cluster, usual), "Spark found no slow task");
            assertFalse(findsSlow(cluster, marked));
        }
    }

    /** A job of two tasks, of which one has finished. */
    private static WatchedTaskSet halfDone(FakeCluster cluster, int stage) throws Exception {
        cluster.context.parallelize(List.of(1, 2), 2).countAsync();
        WatchedTaskSet tasks = cluster.awaitStage(stage, 0);
        cluster.finish(cluster.offerUntilStarted().get(0), 1L);
        FakeCluster.await(() -> tasks.tasksSuccessful() == 1, "the task's end did not arrive");
        return tasks;
    }

    private static boolean findsSlow(FakeCluster cluster, WatchedTaskSet tasks) {
        synchronized (cluster.scheduler) {
            return tasks.checkSpeculatableTasks(0);
        }
    }
}
