package org.yarnspec.scheduler;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.IntStream;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.resource.ResourceProfile;
import org.apache.spark.resource.ResourceProfileBuilder;
import org.apache.spark.resource.TaskResourceRequests;
import org.apache.spark.scheduler.ExecutorResourcesAmounts;
import org.apache.spark.scheduler.WorkerOffer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.yarnspec.scheduler.OfferOrder.Executor;
import org.yarnspec.testing.FakeCluster;
import scala.Option;

/** Tasks go to the executor and the host that have the fewest. */
class TaskSpreadingTest {
    private static final Map<String, String> ON = Map.of("spark.yarnspec.spreadTasks", "true");

    private static List<Integer> order(long seed, Executor... executors) {
        return new OfferOrder(new Random(seed)).of(List.of(executors));
    }

    private static Executor bySlot(String id, String host, int running, int free) {
        return new Executor(id, host, running, free, false);
    }

    @Test
    void anExecutorThatRunsLessComesFirstUntilBothRunTheSame() {
        List<Integer> order = order(1, bySlot("1", "a", 0, 4), bySlot("2", "b", 3, 1));
        assertEquals(List.of(0, 0, 0), order.subList(0, 3));
        assertEquals(5, order.size());
    }

    @Test
    void ofExecutorsThatRunTheSameTheOneOnTheEmptierHostComesFirst() {
        OfferOrder order = new OfferOrder(new Random(1));
        order.alsoRunning("a", 2);
        assertEquals(
                1,
                order.of(List.of(bySlot("1", "a", 0, 2), bySlot("2", "b", 0, 2)))
                        .get(0));
    }

    @Test
    void theOrderOfEqualsComesFromTheSeed() {
        Executor[] equals = IntStream.range(0, 8)
                .mapToObj(number -> bySlot("" + number, "h" + number, 0, 1))
                .toArray(Executor[]::new);
        assertEquals(order(7, equals), order(7, equals));
        assertTrue(IntStream.range(0, 5).anyMatch(seed -> !order(seed, equals).equals(order(seed + 1, equals))));
    }

    @Test
    void wholeOffersAreSortedOnce() {
        assertEquals(List.of(1, 0), order(1, new Executor("1", "a", 3, 1, true), new Executor("2", "b", 0, 4, true)));
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
    void executorsAndHostsOfUnequalSizeGetTheirShareOfTheTasks(long seed) {
        Executor[] executors = {bySlot("1", "a", 0, 2), bySlot("2", "a", 0, 2), bySlot("3", "b", 0, 12)};
        List<Integer> half = order(seed, executors).subList(0, 8);
        assertEquals(1, Collections.frequency(half, 0));
        assertEquals(1, Collections.frequency(half, 1));
        assertEquals(6, Collections.frequency(half, 2));
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
    void whateverRunsAnyNumberOfFurtherTasksIsBalanced(long seed) {
        Random random = new Random(seed);
        List<Executor> executors = new ArrayList<>();
        for (int number = 0; number < 12; number++) {
            int running = random.nextInt(5);
            executors.add(bySlot("" + number, "h" + number % 4, running, 4 - running));
        }
        int[] tasks = executors.stream().mapToInt(Executor::running).toArray();
        for (int number : order(seed, executors.toArray(Executor[]::new))) {
            int least = IntStream.of(tasks).min().orElseThrow();
            assertEquals(least, tasks[number], "a slot was offered on an executor that has more than another one");
            tasks[number]++;
        }
        assertEquals(Collections.nCopies(12, 4), IntStream.of(tasks).boxed().toList());
    }

    @Test
    void sparksRoundLeavesExecutorsAndHostsBalanced() throws Exception {
        try (FakeCluster cluster = new FakeCluster(ON)) {
            cluster.executor("1", "a", 4)
                    .executor("2", "a", 4)
                    .executor("3", "b", 4)
                    .executor("4", "b", 4);
            start(cluster, 6);
            assertEquals(6, cluster.offerUntilStarted().size());
            List<Integer> each = List.of(
                    cluster.runningOn("1"), cluster.runningOn("2"), cluster.runningOn("3"), cluster.runningOn("4"));
            assertTrue(Collections.max(each) - Collections.min(each) <= 1, each.toString());
            assertEquals(3, cluster.runningOn("1") + cluster.runningOn("2"));
        }
    }

    @Test
    void whatRunsAlreadyCountsOverAllStages() throws Exception {
        try (FakeCluster cluster = new FakeCluster(ON)) {
            cluster.executor("1", "a", 4);
            start(cluster, 3);
            assertEquals(3, cluster.offerUntilStarted().size());
            cluster.executor("2", "b", 4);
            start(cluster, 3);
            assertEquals(3, cluster.offerUntilStarted().size());
            assertEquals(List.of(3, 3), List.of(cluster.runningOn("1"), cluster.runningOn("2")));
        }
    }

    @Test
    void theTasksOfTwoFairPoolsAreBalancedTogetherInOneRound() throws Exception {
        try (FakeCluster cluster =
                new FakeCluster(Map.of("spark.yarnspec.spreadTasks", "true", "spark.scheduler.mode", "FAIR"))) {
            start(cluster, "one", 3);
            cluster.awaitStage(0, 0);
            start(cluster, "other", 5);
            cluster.awaitStage(1, 0);
            cluster.executor("1", "a", 4)
                    .executor("2", "a", 4)
                    .executor("3", "b", 4)
                    .executor("4", "b", 4);
            assertEquals(8, cluster.offer().size());
            for (String executorId : List.of("1", "2", "3", "4")) {
                assertEquals(2, cluster.runningOn(executorId));
            }
        }
    }

    @Test
    void anExecutorWithAPartOfACoreIsOfferedWhereTasksNeedDifferentThings() {
        TaskSpreading spreading = TaskSpreading.of(new SparkConf(false).set("spark.yarnspec.spreadTasks", "true"));
        List<WorkerOffer> offers = List.of(offer("1", "0.5"), offer("2", "2"), offer("3", "0"));
        List<ResourceProfile> waiting = List.of(tasksWith(new TaskResourceRequests().resource("gpu", 1)));
        List<String> ordered = spreading.order(offers, Map.of("1", 1), Map.of(), profile -> waiting).stream()
                .map(WorkerOffer::executorId)
                .toList();
        assertEquals(List.of("2", "1"), ordered);
    }

    @Test
    void onlyExecutorsForWhichTasksOfDifferentNeedsWaitAreOfferedAsAWhole() {
        TaskSpreading spreading = TaskSpreading.of(new SparkConf(false).set("spark.yarnspec.spreadTasks", "true"));
        ResourceProfile one = tasksWith(new TaskResourceRequests().cpus(1));
        ResourceProfile two = tasksWith(new TaskResourceRequests().cpus(2));
        List<WorkerOffer> offers = List.of(offer("1", "4"), offer("2", "4", 7), offer("3", "4", 8));
        List<String> ordered = spreading
                .order(
                        offers,
                        Map.of(),
                        Map.of(),
                        profile -> profile == 0 ? List.of(one) : profile == 7 ? List.of(two) : List.of(one, two))
                .stream()
                .map(offer -> offer.executorId() + ":" + offer.cores().intValue())
                .sorted()
                .toList();
        assertEquals(List.of("1:1", "1:1", "1:1", "1:1", "2:2", "2:2", "3:4"), ordered);
    }

    /** With 6 cores the stage takes all that is offered, and Spark's list of its tasks is not empty afterwards. */
    @ParameterizedTest
    @ValueSource(ints = {6, 10})
    void aStageOfOtherNeedsWhoseTasksAllRunLeavesTheOthersSpread(int cores) throws Exception {
        System.setProperty("spark.testing", "true"); // else Spark takes profiles of its own cluster managers only
        try (FakeCluster cluster = new FakeCluster(ON)) {
            ResourceProfile two = tasksWith(new TaskResourceRequests().cpus(2));
            cluster.executor("1", "a", cores);
            cluster.start(() -> cluster.context
                    .parallelize(List.of(1, 2, 3), 3)
                    .withResources(two)
                    .count());
            assertEquals(3, cluster.offerUntilStarted().size());
            cluster.executor("1", "a", 10).executor("2", "b", 4);
            start(cluster, 2);
            cluster.awaitStage(1, 0);
            assertEquals(2, cluster.offerUntilStarted().size());
            assertEquals(List.of(3, 2), List.of(cluster.runningOn("1"), cluster.runningOn("2")));
        } finally {
            System.clearProperty("spark.testing");
        }
    }

    private static ResourceProfile tasksWith(TaskResourceRequests needs) {
        return new ResourceProfileBuilder().require(needs).build();
    }

    private static WorkerOffer offer(String executorId, String cores) {
        return offer(executorId, cores, ResourceProfile.DEFAULT_RESOURCE_PROFILE_ID());
    }

    private static WorkerOffer offer(String executorId, String cores, int profile) {
        return new WorkerOffer(
                executorId,
                "host" + executorId,
                new scala.math.BigDecimal(new BigDecimal(cores)),
                Option.empty(),
                ExecutorResourcesAmounts.empty(),
                profile);
    }

    private static void start(FakeCluster cluster, int tasks) {
        start(cluster, null, tasks);
    }

    private static void start(FakeCluster cluster, String pool, int tasks) {
        JavaSparkContext context = cluster.context;
        cluster.start(() -> {
            context.setLocalProperty("spark.scheduler.pool", pool);
            context.parallelize(Collections.nCopies(tasks, 1), tasks).count();
        });
    }
}
