package org.yarnspec.scheduler;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.apache.spark.api.java.JavaFutureAction;
import org.apache.spark.api.java.JavaRDD;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.yarnspec.testing.FakeCluster;
import scala.Tuple2;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

/** Copies on demand in Spark's own scheduler, on hosts of the test's making; a task may fail not even once. */
class CopiesTest {
    private static final WatchedTaskSet.Copy ANYWHERE = new WatchedTaskSet.Copy(Set.of(), 2);

    private FakeCluster cluster;

    @BeforeEach
    void start() throws Exception {
        cluster = new FakeCluster(Map.of()).slot("1", "a").slot("2", "b");
    }

    @AfterEach
    void stop() {
        cluster.close();
    }

    private JavaFutureAction<Long> count(int tasks) throws InterruptedException {
        JavaFutureAction<Long> result =
                cluster.context.parallelize(List.of(1, 2, 3, 4), tasks).countAsync();
        cluster.awaitStage(0, 0);
        return result;
    }

    private long startOnly() throws InterruptedException {
        List<Long> started = cluster.offerUntilStarted();
        assertEquals(1, started.size());
        return started.get(0);
    }

    @Test
    void aCopyStartsOnAnotherHostAndTheFirstFinisherWins() throws Exception {
        JavaFutureAction<Long> job = count(1);
        long original = startOnly();
        assertEquals("", cluster.scheduler.askForCopy(0, 0, 0, ANYWHERE));
        long copy = startOnly();
        assertNotEquals(cluster.hostOf(original), cluster.hostOf(copy));
        cluster.finish(copy, 4L);
        assertEquals(4L, job.get(30, TimeUnit.SECONDS));
        assertEquals(Set.of(original), Set.copyOf(cluster.killed));
    }

    @Test
    void aCopyWaitsThroughRoundsOfOffersUntilASlotFits() throws Exception {
        count(1);
        long original = startOnly();
        String other = cluster.hostOf(original).equals("a") ? "b" : "a";
        assertEquals("", cluster.scheduler.askForCopy(0, 0, 0, new WatchedTaskSet.Copy(Set.of(other), 2)));
        assertEquals(List.of(), cluster.offer());
        assertEquals(List.of(), cluster.offer());
        cluster.slot("3", cluster.hostOf(original)); // where the task runs already
        assertEquals(List.of(), cluster.offer());
        cluster.slot("4", "c");
        assertEquals("c", cluster.hostOf(startOnly()));
        assertEquals(List.of(), cluster.events("copy_refused"));
    }

    @Test
    void pendingTasksGoFirst() throws Exception {
        count(3);
        List<Long> started = cluster.offerUntilStarted();
        assertEquals(2, started.size());
        assertEquals("", cluster.scheduler.askForCopy(0, 0, 0, ANYWHERE));
        cluster.slot("3", "c");
        long third = startOnly();
        assertEquals(2, cluster.indexOf(third));
        cluster.slot("4", "d");
        assertEquals(0, cluster.indexOf(startOnly()));
    }

    @Test
    void asManyAttemptsAsAreAllowedAndNoMore() throws Exception {
        count(1);
        startOnly();
        cluster.scheduler.askForCopy(0, 0, 0, ANYWHERE);
        startOnly();
        assertTrue(cluster.scheduler.askForCopy(0, 0, 0, ANYWHERE).startsWith("2 attempts"));
        cluster.slot("3", "c");
        assertEquals("", cluster.scheduler.askForCopy(0, 0, 0, new WatchedTaskSet.Copy(Set.of(), 3)));
        assertEquals("c", cluster.hostOf(startOnly()));
    }

    @Test
    void aCopyThatFailsCostsTheTaskNothing() throws Exception {
        JavaFutureAction<Long> job = count(1);
        long original = startOnly();
        cluster.scheduler.askForCopy(0, 0, 0, ANYWHERE);
        long copy = startOnly();
        cluster.fail(copy);
        FakeCluster.await(() -> !cluster.countsAsRunning(0, 0, copy), "the copy's end did not arrive");
        assertEquals(List.of(), cluster.offer()); // the task is not started over either
        cluster.finish(original, 4L);
        assertEquals(4L, job.get(30, TimeUnit.SECONDS));
    }

    @Test
    void anOriginalThatFailsCostsTheTaskNothingWhileItsCopyGoesOn() throws Exception {
        JavaFutureAction<Long> job = count(1);
        long original = startOnly();
        cluster.scheduler.askForCopy(0, 0, 0, ANYWHERE);
        long copy = startOnly();
        cluster.fail(original);
        FakeCluster.await(() -> !cluster.countsAsRunning(0, 0, original), "the original's end did not arrive");
        assertEquals(List.of(), cluster.offer());
        cluster.finish(copy, 4L);
        assertEquals(4L, job.get(30, TimeUnit.SECONDS));
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void theLastAttemptThatFailsCounts(boolean originalFirst) throws Exception {
        JavaFutureAction<Long> job = count(1);
        long original = startOnly();
        cluster.scheduler.askForCopy(0, 0, 0, ANYWHERE);
        long copy = startOnly();
        cluster.fail(originalFirst ? original : copy);
        cluster.fail(originalFirst ? copy : original);
        ExecutionException failure = assertThrows(ExecutionException.class, () -> job.get(30, TimeUnit.SECONDS));
        assertTrue(
                failure.getCause().getMessage().contains("broken"),
                failure.getCause().getMessage());
    }

    @Test
    void aCopyWhoseTaskFinishesFirstIsTakenBackAndSaidSo() throws Exception {
        count(2);
        List<Long> originals = cluster.offerUntilStarted();
        int index = cluster.indexOf(originals.get(0));
        assertEquals("", cluster.scheduler.askForCopy(0, 0, index, new WatchedTaskSet.Copy(Set.of("a", "b"), 2)));
        cluster.finish(originals.get(0), 2L);
        FakeCluster.await(() -> cluster.offer().isEmpty() && cluster.refusals() == 1, "the copy was not taken back");
        var refused = cluster.events("copy_refused").get(0);
        assertEquals(index, refused.get("index").asInt());
        assertEquals("the task has finished", refused.get("why").asText());
    }

    @Test
    void aWithdrawnCopyDoesNotStart() throws Exception {
        count(1);
        startOnly();
        cluster.scheduler.askForCopy(0, 0, 0, ANYWHERE);
        cluster.scheduler.withdrawCopy(0, 0, 0);
        assertEquals(List.of(), cluster.offer());
        assertEquals(List.of(), cluster.events("copy_refused"));
    }

    @Test
    void noCopyOfWhatDoesNotRunOrWritesByItself() throws Exception {
        assertEquals("the stage attempt has ended", cluster.scheduler.askForCopy(9, 0, 0, ANYWHERE));
        cluster.context.parallelize(List.of(1, 2), 2).foreachAsync(each -> {});
        cluster.awaitStage(0, 0);
        cluster.offerUntilStarted();
        assertTrue(cluster.scheduler.askForCopy(0, 0, 0, ANYWHERE).contains("commit coordinator"));
    }

    @Test
    void noCopyOfWhatReadsNoFilesOrShallHaveNone() throws Exception {
        cluster.context.parallelize(List.of(1, 2), 2).pipe("cat").countAsync();
        cluster.awaitStage(0, 0);
        cluster.offerUntilStarted();
        assertTrue(cluster.scheduler.askForCopy(0, 0, 0, ANYWHERE).contains("no file"));
        cluster.slot("3", "c");
        cluster.context.setLocalProperty("yarnspec.speculation", "false");
        cluster.context.parallelize(List.of(1, 2), 1).countAsync();
        cluster.awaitStage(1, 0);
        cluster.offerUntilStarted();
        assertTrue(cluster.scheduler.askForCopy(1, 0, 0, ANYWHERE).contains("asks for no copies"));
    }

    @Test
    void readersAndWritersAreCopiedWhereTheUserAllowsIt() throws Exception {
        cluster.close();
        cluster = new FakeCluster(Map.of("spark.yarnspec.copyReaders", "true", "spark.yarnspec.copyWriters", "true"))
                .slot("1", "a")
                .slot("2", "b");
        cluster.context.parallelize(List.of(1, 2), 2).pipe("cat").foreachAsync(each -> {});
        cluster.awaitStage(0, 0);
        cluster.offerUntilStarted();
        assertEquals("", cluster.scheduler.askForCopy(0, 0, 0, ANYWHERE));
    }

    @Test
    void noCopyOfABarrierStage() throws Exception {
        BarrierJob.start(cluster, 2);
        cluster.awaitStage(0, 0);
        assertEquals(2, cluster.offerUntilStarted().size());
        assertTrue(cluster.scheduler.askForCopy(0, 0, 0, ANYWHERE).contains("barrier"));
    }

    @Test
    void blocksHoldAtEachLevelAndStopNothingThatRuns() throws Exception {
        count(4);
        block("{\"hosts\":[\"a\"]}");
        long first = startOnly();
        assertEquals("b", cluster.hostOf(first));
        block("{\"stages\":[{\"stage\":0,\"index\":null,\"hosts\":[\"a\"],\"executors\":[]}]}");
        assertEquals(List.of(), cluster.offer());
        cluster.slot("3", "c").slot("4", "c");
        block("{\"executors\":[\"1\",\"3\"],\"stages\":[{\"stage\":0,\"index\":1,\"hosts\":[\"c\"]}]}");
        long second = startOnly();
        assertEquals("c", cluster.hostOf(second));
        assertEquals(2, cluster.indexOf(second)); // 1 was next
        block("{}");
        assertEquals(2, cluster.offerUntilStarted().size());
        assertFalse(cluster.killed.contains(first));
    }

    private void block(String json) throws Exception {
        cluster.scheduler.block(Blocks.of(new ObjectMapper().readTree(json)));
    }

    @Test
    void anAttemptIsKilledOnDemandAndItsTaskStartsAgain() throws Exception {
        JavaFutureAction<Long> job = count(1);
        long original = startOnly();
        assertTrue(cluster.scheduler.killTaskAttempt(original, true, "asked"));
        assertEquals(List.of(original), cluster.killed);
        cluster.endKilled(original);
        cluster.finish(startOnly(), 4L);
        assertEquals(4L, job.get(30, TimeUnit.SECONDS));
    }

    /** A cluster that has tasks wait for the hosts of their data: a minute, so that no test gets there by waiting. */
    private void waitForData() throws Exception {
        cluster.close();
        cluster = new FakeCluster(Map.of("spark.locality.wait", "60s", "spark.task.maxFailures", "4"))
                .slot("1", "a")
                .slot("2", "b");
        cluster.offer(); // Spark waits only for hosts that it has seen
    }

    /** A task for each of these; a task's hosts are separated by blanks. */
    private void startJobOnDataOf(String... tasks) throws Exception {
        List<Tuple2<Object, Seq<String>>> places = new ArrayList<>();
        for (String hosts : tasks) {
            places.add(new Tuple2<>(
                    hosts,
                    CollectionConverters.asScala(List.of(hosts.split(" "))).toSeq()));
        }
        ClassTag<Object> any = ClassTag$.MODULE$.Any();
        new JavaRDD<>(
                        cluster.context
                                .sc()
                                .makeRDD(CollectionConverters.asScala(places).toSeq(), any),
                        any)
                .countAsync();
        cluster.awaitStage(0, 0);
    }

    private void blockAll(String... hosts) {
        cluster.scheduler.block(new Blocks(new Blocks.Places(Set.of(hosts), Set.of()), Map.of(), Map.of()));
    }

    @Test
    void aTaskDoesNotWaitForItsDataOnAHostThatComesToBeBlocked() throws Exception {
        waitForData();
        startJobOnDataOf("a", "a", "b");
        List<Long> started = cluster.offerUntilStarted();
        assertEquals(2, started.size());
        long onB = started.stream()
                .filter(each -> cluster.hostOf(each).equals("b"))
                .findFirst()
                .orElseThrow();
        cluster.finish(onB, 1L);
        FakeCluster.await(() -> !cluster.countsAsRunning(0, 0, onB), "the task did not end");
        assertEquals(List.of(), cluster.offer()); // the second one waits for host a
        blockAll("a");
        assertEquals("b", cluster.hostOf(startOnly()));
    }

    @Test
    void aTaskDoesNotWaitForItsDataOnABlockedHost() throws Exception {
        waitForData();
        blockAll("a");
        startJobOnDataOf("a");
        long first = startOnly();
        assertEquals("b", cluster.hostOf(first));
        cluster.fail(first);
        assertEquals("b", cluster.hostOf(startOnly())); // nor when it starts over
    }

    @Test
    void aTaskWithDataOnAnotherHostAsWellPrefersThatUntilItIsBlockedToo() throws Exception {
        waitForData();
        blockAll("a");
        startJobOnDataOf("a b", "a b", "a b");
        assertEquals("b", cluster.hostOf(startOnly()));
        cluster.slot("3", "c");
        assertEquals(List.of(), cluster.offer());
        blockAll("a", "b");
        long second = startOnly();
        assertEquals("c", cluster.hostOf(second));
        assertEquals(1, cluster.indexOf(second)); // the first of those that wait
    }

    @Test
    void aTaskWhoseOtherHostLosesItsExecutorsDoesNotWaitForTheBlockedOne() throws Exception {
        waitForData();
        cluster.slot("3", "c");
        cluster.offer();
        blockAll("a");
        startJobOnDataOf("a b");
        cluster.lose("2");
        assertEquals("c", cluster.hostOf(startOnly()));
    }

    @Test
    void aReplicaWhereNoExecutorIsKeepsNoTaskWaiting() throws Exception {
        waitForData();
        startJobOnDataOf("a z", "a z");
        assertEquals("a", cluster.hostOf(startOnly()));
        assertEquals(List.of(), cluster.offer());
        blockAll("a");
        assertEquals("b", cluster.hostOf(startOnly()));
    }

    @Test
    void aTaskDoesNotWaitForItsDataWhereItsStageIsBlocked() throws Exception {
        waitForData();
        startJobOnDataOf("a", "a");
        assertEquals("a", cluster.hostOf(startOnly()));
        block("{'stages':[{'stage':0,'hosts':['a']}]}".replace('\'', '"'));
        assertEquals("b", cluster.hostOf(startOnly()));
    }
}
