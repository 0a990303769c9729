package org.yarnspec.mapoutputs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.apache.spark.MapOutputTrackerMaster;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.JavaFutureAction;
import org.apache.spark.scheduler.ExecutorExited;
import org.apache.spark.scheduler.ExecutorKilled$;
import org.apache.spark.scheduler.ExecutorProcessLost;
import org.apache.spark.scheduler.LossReasonPending$;
import org.apache.spark.storage.BlockManagerId;
import org.junit.jupiter.api.Test;
import org.yarnspec.executor.Messages;
import org.yarnspec.executor.Messages.Verdict;
import org.yarnspec.executor.OutputName;
import org.yarnspec.scheduler.Blocks;
import org.yarnspec.spark.Scala;
import org.yarnspec.testing.DriverLife;
import org.yarnspec.testing.FakeCluster;
import org.yarnspec.write.StaleShuffles;
import scala.Option;

/** What Spark's own scheduler does while the map outputs of an executor that died wait for another one, and after. */
class LiveAdoptionTest {
    private static final String DEADLINE = "spark.yarnspec.recovery.live_adoption_ms";
    private static final long[] SIZES = {10, 20};
    private static final int SHUFFLE = 1_000_000;

    private static DriverLife life(Map<String, String> settings) throws Exception {
        return new DriverLife(1, null, settings);
    }

    private static DriverLife life() throws Exception {
        return life(Map.of(DEADLINE, "60000"));
    }

    private static JavaFutureAction<Long> shuffled(DriverLife life) {
        return life.cluster
                .context
                .parallelize(List.of(1, 2, 3, 4), 4)
                .coalesce(2, true)
                .countAsync();
    }

    /** Runs so many maps to their end, and says which ran in executor 1, the one on host a. */
    private static List<Long> finishMaps(DriverLife life, int count) throws InterruptedException {
        List<Long> onA = new ArrayList<>();
        for (int finished = 0; finished < count; ) {
            for (long task : life.cluster.offerUntilStarted()) {
                if (finished++ < count) {
                    if (life.cluster.hostOf(task).equals("a")) {
                        onA.add(task);
                    }
                    life.cluster.finish(task, life.cluster.mapOutput(task, SIZES));
                }
            }
        }
        return onA;
    }

    private static MapOutputTrackerMaster tracker() {
        return (MapOutputTrackerMaster) SparkEnv.get().mapOutputTracker();
    }

    private static void awaitOutputs(int count) throws InterruptedException {
        FakeCluster.await(() -> tracker().getNumAvailableOutputs(SHUFFLE) == count, "not " + count + " map outputs");
    }

    private static void awaitReducers(DriverLife life) throws InterruptedException {
        life.cluster.awaitStage(1, 0);
    }

    /** As when its connection breaks: why is told later. */
    private static void disconnect(DriverLife life, String executorId) {
        life.cluster.without(executorId);
        life.cluster.scheduler.executorLost(executorId, LossReasonPending$.MODULE$);
    }

    private static void exited(DriverLife life, String executorId) {
        life.cluster.scheduler.executorLost(executorId, new ExecutorExited(137, false, "killed"));
    }

    private static BlockManagerId executor(String id, String host) {
        return BlockManagerId.apply(id, host, 7_000, Option.empty());
    }

    private static Claims claims(DriverLife life) {
        Claims.Shuffles shuffles = new Claims.Shuffles() {
            @Override
            public boolean exists(int shuffle) {
                return true;
            }

            @Override
            public boolean isComplete(int shuffle) {
                return false;
            }
        };
        return new Claims(1, SavedOutputs.NONE, shuffles, false, life.recovery.live());
    }

    private static Verdict ask(Claims claims, String owner, long task) {
        return claims.judge(
                        new Messages.Inventory(executor("3", "a"), 1, owner, List.of(new OutputName(SHUFFLE, task))))
                .get(0);
    }

    private static void adopt(Claims claims, String executorId, List<Long> tasks) {
        for (long task : tasks) {
            assertEquals(Verdict.ADOPT, ask(claims, "1", task));
        }
        List<OutputName> names =
                tasks.stream().map(task -> new OutputName(SHUFFLE, task)).toList();
        claims.settle(new Messages.Adopted(executor(executorId, "a"), names, Map.of()));
    }

    private static JsonNode awaitEnd(DriverLife life) throws Exception {
        List<JsonNode> ended = new ArrayList<>();
        FakeCluster.await(
                () -> {
                    try {
                        return ended.addAll(life.cluster.events("live_adoption_ended"));
                    } catch (Exception e) {
                        throw new IllegalStateException(e);
                    }
                },
                "the wait did not end");
        return ended.get(0);
    }

    private static void finish(DriverLife life, JavaFutureAction<Long> job) throws Exception {
        while (!job.isDone()) {
            for (long task : life.cluster.offer()) {
                life.cluster.finish(task, 2L);
            }
            Thread.sleep(2);
        }
        assertEquals(4, job.get(30, TimeUnit.SECONDS));
    }

    @Test
    void whatHasBeenTakenOutIsNotPutInAgainByWhoTakesItOver() throws Exception {
        try (DriverLife life = life()) {
            shuffled(life);
            long task = finishMaps(life, 4).get(0);
            awaitOutputs(4);
            WatchedShuffleStatus status =
                    (WatchedShuffleStatus) tracker().shuffleStatuses().apply(SHUFFLE);
            assertTrue(status.moved(task, executor("3", "a")));
            assertEquals("3", status.of(task).location().executorId());
            tracker().unregisterAllMapAndMergeOutput(SHUFFLE);
            assertFalse(status.moved(task, executor("4", "a")));
            assertEquals(0, tracker().getNumAvailableOutputs(SHUFFLE));
        }
    }

    @Test
    void whoWouldReadWhatWaitsStartsWhenItWasTakenOverAndNoMapRunsAgain() throws Exception {
        try (DriverLife life = life()) {
            JavaFutureAction<Long> job = shuffled(life);
            List<Long> onA = finishMaps(life, 4);
            awaitReducers(life);
            disconnect(life, "1");
            exited(life, "1");
            life.cluster.slot("3", "a");
            assertEquals(
                    onA.size(),
                    life.cluster
                            .events("live_adoption_began")
                            .get(0)
                            .get("outputs")
                            .asInt());
            assertEquals(List.of(), life.cluster.offer());
            awaitOutputs(4);
            long before = tracker().getEpoch();
            assertFalse(StaleShuffles.isAsBefore(SHUFFLE, Long.MAX_VALUE), "its maps may have to run again");

            adopt(claims(life), "3", onA);
            assertTrue(StaleShuffles.isAsBefore(SHUFFLE, Long.MAX_VALUE));
            assertEquals(onA.size(), awaitEnd(life).get("adopted").asInt());
            awaitOutputs(4);
            for (long task : onA) {
                assertEquals(
                        "3", tracker().getMapOutputLocation(SHUFFLE, task).get().executorId());
            }
            List<Long> reducers = life.cluster.offer();
            assertEquals(2, reducers.size());
            var tasks = life.cluster.awaitStage(1, 0).tasks();
            assertTrue(tasks[0].epoch() > before, "executors have to ask for the new places");
            reducers.forEach(task -> life.cluster.finish(task, 2L));
            assertEquals(4, job.get(30, TimeUnit.SECONDS));
        }
    }

    @Test
    void aStageThatRunsGoesOnWithoutRunningItsFinishedMapsAgain() throws Exception {
        try (DriverLife life = life()) {
            JavaFutureAction<Long> job = shuffled(life);
            List<Long> onA = finishMaps(life, 2);
            awaitOutputs(2);
            disconnect(life, "1");
            exited(life, "1");
            life.cluster.slot("3", "a");
            assertEquals(2, finishedAfter(life), "the two that had not run");
            assertEquals(List.of(), life.cluster.offer());
            adopt(claims(life), "3", onA);
            awaitEnd(life);
            finish(life, job);
            assertNull(Scala.orNull(life.cluster.scheduler.taskSetManagerForAttempt(0, 1)));
        }
    }

    /** Finishes maps until the next stage has its tasks; how many there were. */
    private static int finishedAfter(DriverLife life) throws InterruptedException {
        int finished = 0;
        while (true) {
            List<Long> started = life.cluster.offer();
            // When it is there, what started is of it: it begins when all maps have ended.
            if (life.cluster.scheduler.taskSetManagerForAttempt(1, 0).isDefined()) {
                return finished;
            }
            for (long task : started) {
                life.cluster.finish(task, life.cluster.mapOutput(task, SIZES));
                finished++;
            }
            Thread.sleep(2);
        }
    }

    @Test
    void whatIsGivenUpRunsAgainAtOnce() throws Exception {
        try (DriverLife life = life()) {
            shuffled(life);
            List<Long> onA = finishMaps(life, 2);
            awaitOutputs(2);
            disconnect(life, "1");
            exited(life, "1");
            life.recovery.hostGone("b");
            life.recovery.hostGone("a");
            JsonNode ended = awaitEnd(life);
            assertEquals(onA.size(), ended.get("lost").asInt());
            assertEquals("the negotiator has given them up", ended.get("why").asText());
            awaitOutputs(2 - onA.size());
            assertEquals(2 + onA.size(), finishedAfter(life), "in the same attempt of the stage");
        }
    }

    @Test
    void ofSomeThatAreDamagedOnlyThoseRunAgain() throws Exception {
        try (DriverLife life = life()) {
            shuffled(life);
            life.cluster.without("2");
            List<Long> onA = finishMaps(life, 3);
            assertEquals(3, onA.size());
            awaitOutputs(3);
            disconnect(life, "1");
            exited(life, "1");
            life.cluster.slot("3", "a");
            Claims claims = claims(life);
            for (long task : onA) {
                assertEquals(Verdict.ADOPT, ask(claims, "1", task));
            }
            OutputName damaged = new OutputName(SHUFFLE, onA.get(1));
            List<OutputName> whole = List.of(new OutputName(SHUFFLE, onA.get(0)), new OutputName(SHUFFLE, onA.get(2)));
            claims.settle(new Messages.Adopted(executor("3", "a"), whole, Map.of(damaged, "checksum differs")));
            JsonNode ended = awaitEnd(life);
            assertEquals(
                    List.of(2, 1),
                    List.of(ended.get("adopted").asInt(), ended.get("lost").asInt()));
            awaitOutputs(2);
            assertEquals(2, finishedAfter(life), "the one that never ran and the damaged one");
        }
    }

    @Test
    void anExecutorThatHasLookedForThemEndsTheWait() throws Exception {
        try (DriverLife life = life()) {
            shuffled(life);
            List<Long> onA = finishMaps(life, 4);
            awaitReducers(life);
            disconnect(life, "1");
            life.recovery.live().reported("b", "2");
            life.recovery.live().reported("a", "1");
            assertTrue(life.recovery.live().keeps("1"), "neither can have found them");
            life.recovery.live().reported("a", "3");
            assertEquals(onA.size(), awaitEnd(life).get("lost").asInt());
            awaitOutputs(4 - onA.size());
        }
    }

    @Test
    void nobodyWaitsForEverForANegotiatorThatSaysNothing() throws Exception {
        // The deadline itself is the negotiator's: here it has passed long before.
        try (DriverLife life = life(Map.of(DEADLINE, "-4900"))) {
            shuffled(life);
            finishMaps(life, 4);
            awaitReducers(life);
            disconnect(life, "1");
            assertEquals(
                    "the negotiator has said nothing in time",
                    awaitEnd(life).get("why").asText());
        }
    }

    @Test
    void whatAnExecutorFindsMustBeWhatTheOneThatDiedHad() throws Exception {
        try (DriverLife life = life()) {
            shuffled(life);
            List<Long> onA = finishMaps(life, 4);
            awaitReducers(life);
            Claims claims = claims(life);
            assertEquals(Verdict.KEEP, ask(claims, "1", onA.get(0)), "it lives");
            disconnect(life, "1");
            assertEquals(Verdict.KEEP, ask(claims, "2", onA.get(0)), "another one's");
            assertEquals(Verdict.KEEP, ask(claims, "1", 7), "not what Spark has");
            assertEquals(Verdict.ADOPT, ask(claims, "1", onA.get(0)));
            OutputName name = new OutputName(SHUFFLE, onA.get(0));
            List<OutputName> names = List.of(name, name, name, name);
            List<long[]> sizes = List.of(SIZES, new long[] {10}, new long[] {10, 20, 0}, new long[] {10, 2_000});
            assertEquals(
                    List.of(true, false, false, false),
                    claims.compare(new Messages.Sizes(executor("3", "a"), names, sizes)));
        }
    }

    @Test
    void whereNothingIsToWaitItIsAsInSpark() throws Exception {
        try (DriverLife life = life(Map.of())) {
            shuffled(life);
            List<Long> onA = finishMaps(life, 4);
            awaitReducers(life);
            disconnect(life, "1");
            awaitOutputs(4 - onA.size());
            assertNull(life.recovery.live());
            assertFalse(life.cluster.offer().isEmpty());
        }
        try (DriverLife life = life()) {
            shuffled(life);
            List<Long> onA = finishMaps(life, 4);
            awaitReducers(life);
            life.cluster.scheduler.block(new Blocks(new Blocks.Places(Set.of("a"), Set.of()), Map.of(), Map.of()));
            disconnect(life, "1");
            awaitOutputs(4 - onA.size());
        }
        for (var reason : List.of(ExecutorKilled$.MODULE$, new ExecutorProcessLost("silent", Option.empty(), true))) {
            try (DriverLife life = life()) {
                shuffled(life);
                List<Long> onA = finishMaps(life, 4);
                awaitReducers(life);
                life.cluster.without("1");
                life.cluster.scheduler.executorLost("1", reason);
                awaitOutputs(4 - onA.size());
            }
        }
    }

    @Test
    void whenSparkMakesAllOfAShuffleAgainNothingOfItWaits() throws Exception {
        try (DriverLife life = life()) {
            shuffled(life);
            List<Long> onA = finishMaps(life, 4);
            awaitReducers(life);
            disconnect(life, "1");
            tracker().unregisterAllMapAndMergeOutput(SHUFFLE);
            awaitOutputs(0);
            assertEquals(Verdict.KEEP, ask(claims(life), "1", onA.get(0)));
            life.recovery.hostGone("a");
            assertEquals(0, awaitEnd(life).get("adopted").asInt());
        }
    }
}
