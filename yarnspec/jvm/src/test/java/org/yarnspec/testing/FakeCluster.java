package org.yarnspec.testing;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.BooleanSupplier;
import org.apache.spark.ExceptionFailure;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskKilled;
import org.apache.spark.TaskState;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.resource.ResourceProfile;
import org.apache.spark.scheduler.DirectTaskResult;
import org.apache.spark.scheduler.ExecutorProcessLost;
import org.apache.spark.scheduler.ExecutorResourcesAmounts;
import org.apache.spark.scheduler.ExternalClusterManager;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.scheduler.MapStatus$;
import org.apache.spark.scheduler.SchedulerBackend;
import org.apache.spark.scheduler.TaskDescription;
import org.apache.spark.scheduler.TaskScheduler;
import org.apache.spark.scheduler.TaskSchedulerImpl;
import org.apache.spark.scheduler.WorkerOffer;
import org.apache.spark.status.api.v1.ThreadStackTrace;
import org.apache.spark.storage.BlockManagerId;
import org.apache.spark.util.AccumulatorV2;
import org.yarnspec.channel.Outbox;
import org.yarnspec.feed.ApplicationFeed;
import org.yarnspec.feed.TaskFeed;
import org.yarnspec.feed.TaskListener;
import org.yarnspec.recovery.Recovery;
import org.yarnspec.scheduler.HostBlockingScheduler;
import org.yarnspec.scheduler.WatchedTaskSet;
import org.yarnspec.spark.Scala;
import scala.Option;
import scala.Tuple2;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;
import scala.collection.mutable.HashMap;
import scala.jdk.javaapi.CollectionConverters;
import scala.math.BigDecimal;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

/**
 * A SparkContext with our scheduler on hosts that do not exist: the test offers their slots, sees which attempts start
 * there, and ends each attempt as it likes. Nothing happens by itself.
 */
public final class FakeCluster implements AutoCloseable {
    private static final String MASTER = "fake";
    private static final long DEADLINE_S = 30;
    private static final long JOB_ENDS_MS = 60_000;
    private static final ClassTag<Object> ANY = ClassTag$.MODULE$.Any();

    private static Outbox newOutbox;
    private static TaskFeed newFeed;
    private static HostBlockingScheduler newScheduler;

    public final Outbox outbox;
    public final TaskFeed feed;
    public final JavaSparkContext context;
    public final HostBlockingScheduler scheduler;
    public final List<Long> killed = new CopyOnWriteArrayList<>();
    private final Map<Long, TaskDescription> running = new LinkedHashMap<>();
    private final Map<String, String> hosts = new LinkedHashMap<>();
    private final Map<String, Integer> cores = new LinkedHashMap<>();
    private final Map<Long, String> hostOfTask = new LinkedHashMap<>();
    private final List<Thread> jobs = new ArrayList<>();

    /** What Spark finds by its service loader in the tests' class path. */
    public static final class Manager implements ExternalClusterManager {
        @Override
        public boolean canCreate(String masterUrl) {
            return MASTER.equals(masterUrl);
        }

        @Override
        public TaskScheduler createTaskScheduler(SparkContext context, String masterUrl) {
            newScheduler = new HostBlockingScheduler(context, newOutbox, newFeed);
            if (Recovery.current() != null && Recovery.current().attach(context)) {
                newScheduler.nextTaskId().set(Recovery.current().firstTask());
            }
            return newScheduler;
        }

        @Override
        public SchedulerBackend createSchedulerBackend(
                SparkContext context, String masterUrl, TaskScheduler scheduler) {
            context.listenerBus().addToQueue(new TaskListener(newFeed, newScheduler.stages()), ApplicationFeed.QUEUE);
            return new Backend();
        }

        @Override
        public void initialize(TaskScheduler scheduler, SchedulerBackend backend) {
            ((TaskSchedulerImpl) scheduler).initialize(backend);
        }
    }

    private static final class Backend implements SchedulerBackend {
        private static FakeCluster cluster;
        private String appId = "application_1_0001";

        @Override
        public String org$apache$spark$scheduler$SchedulerBackend$$appId() {
            return appId;
        }

        @Override
        public void
                org$apache$spark$scheduler$SchedulerBackend$_setter_$org$apache$spark$scheduler$SchedulerBackend$$appId_$eq(
                        String id) {
            appId = id;
        }

        @Override
        public String applicationId() {
            return appId;
        }

        @Override
        public void start() {}

        @Override
        public void stop() {}

        @Override
        public void reviveOffers() {}

        @Override
        public int defaultParallelism() {
            return 2;
        }

        @Override
        public int maxNumConcurrentTasks(ResourceProfile profile) {
            return 100;
        }

        @Override
        public Option<ThreadStackTrace> getTaskThreadDump(long taskId, String executorId) {
            return Option.empty();
        }

        @Override
        public void killTask(long taskId, String executorId, boolean interruptThread, String reason) {
            cluster.killed.add(taskId);
        }
    }

    public FakeCluster(Map<String, String> settings) throws Exception {
        this(settings, new Outbox());
    }

    public FakeCluster(Map<String, String> settings, Outbox outbox) throws Exception {
        this.outbox = outbox;
        feed = TaskFeed.open("token", dropped -> {});
        newOutbox = outbox;
        newFeed = feed;
        Backend.cluster = this;
        SparkConf conf = new SparkConf(false)
                .setMaster(MASTER)
                .setAppName("test")
                .set("spark.driver.host", "127.0.0.1")
                .set("spark.driver.bindAddress", "127.0.0.1")
                .set("spark.ui.enabled", "false")
                .set("spark.yarnspec.speculation", "true")
                .set("spark.task.maxFailures", "1")
                .set("spark.locality.wait", "0");
        settings.forEach(conf::set);
        context = new JavaSparkContext(conf);
        scheduler = newScheduler;
    }

    /** What a program does. */
    public interface Job {
        void run() throws Exception;
    }

    /** Runs a job in a thread of its own; it is given up when the test ends. */
    public void start(Job job) {
        Thread thread = new Thread(
                () -> {
                    try {
                        job.run();
                    } catch (Exception e) {
                        // The test sees that nothing comes of it.
                    }
                },
                "job");
        thread.setDaemon(true);
        thread.start();
        jobs.add(thread);
    }

    /** Adds a slot: an executor with one core on a host of that name. */
    public FakeCluster slot(String executorId, String host) {
        return executor(executorId, host, 1);
    }

    /** Adds an executor with so many cores. */
    public FakeCluster executor(String executorId, String host, int count) {
        hosts.put(executorId, host);
        cores.put(executorId, count);
        return this;
    }

    /** How many tasks an executor runs. */
    public int runningOn(String executorId) {
        return (int) running.values().stream()
                .filter(task -> task.executorId().equals(executorId))
                .count();
    }

    private BigDecimal coresInUse(String executorId) {
        return running.values().stream()
                .filter(task -> task.executorId().equals(executorId))
                .map(TaskDescription::cpus)
                .reduce(BigDecimal.valueOf(0), BigDecimal::$plus);
    }

    /** Offers every slot that runs nothing, and returns what started: the ids of the attempts. */
    public List<Long> offer() {
        List<WorkerOffer> offers = new ArrayList<>();
        hosts.forEach((executorId, host) -> {
            BigDecimal free = BigDecimal.valueOf(cores.get(executorId)).$minus(coresInUse(executorId));
            if (free.signum() > 0) {
                offers.add(new WorkerOffer(
                        executorId,
                        host,
                        free,
                        Option.apply(host + ":1"),
                        ExecutorResourcesAmounts.empty(),
                        ResourceProfile.DEFAULT_RESOURCE_PROFILE_ID()));
            }
        });
        IndexedSeq<WorkerOffer> all = CollectionConverters.asScala(offers).toIndexedSeq();
        List<Long> started = new ArrayList<>();
        for (Seq<TaskDescription> each : CollectionConverters.asJava(scheduler.resourceOffers(all, true))) {
            for (TaskDescription task : CollectionConverters.asJava(each)) {
                running.put(task.taskId(), task);
                hostOfTask.put(task.taskId(), hosts.get(task.executorId()));
                started.add(task.taskId());
            }
        }
        return started;
    }

    /** Offers until something starts. */
    public List<Long> offerUntilStarted() throws InterruptedException {
        List<Long> started = new ArrayList<>();
        await(() -> started.addAll(offer()), "no task started");
        return started;
    }

    public String hostOf(long taskId) {
        return hostOfTask.get(taskId);
    }

    public int indexOf(long taskId) {
        return running.get(taskId).index();
    }

    public int partitionOf(long taskId) {
        return running.get(taskId).partitionId();
    }

    public Set<Long> running() {
        return Set.copyOf(running.keySet());
    }

    public void finish(long taskId, Object value) {
        finish(taskId, value, List.of());
    }

    /** Ends an attempt that gives a value and has counted something. */
    public void finish(long taskId, Object value, List<AccumulatorV2<?, ?>> counted) {
        SparkEnv env = SparkEnv.get();
        ByteBuffer bytes = env.serializer().newInstance().serialize(value, ANY);
        Seq<AccumulatorV2<?, ?>> updates = CollectionConverters.asScala(counted).toList();
        end(taskId, TaskState.FINISHED(), new DirectTaskResult<>(bytes, updates, new long[0]));
    }

    /** What a map task's attempt gives when it wrote so many bytes for each reducer. */
    public MapStatus mapOutput(long taskId, long[] sizes) {
        return mapOutput(taskId, sizes, 0);
    }

    /** The same, and the checksum of its rows. */
    public MapStatus mapOutput(long taskId, long[] sizes, long checksum) {
        BlockManagerId place =
                BlockManagerId.apply(running.get(taskId).executorId(), hostOf(taskId), 1, Option.empty());
        return MapStatus$.MODULE$.apply(place, sizes, taskId, checksum);
    }

    /** Offers an executor no more. */
    public void without(String executorId) {
        hosts.remove(executorId);
    }

    /** Loses an executor that runs nothing. */
    public void lose(String executorId) {
        hosts.remove(executorId);
        scheduler.executorLost(executorId, new ExecutorProcessLost("lost", Option.empty(), true));
    }

    public void fail(long taskId) {
        end(
                taskId,
                TaskState.FAILED(),
                new ExceptionFailure(new IllegalStateException("broken"), Scala.emptySeq(), true));
    }

    public void endKilled(long taskId) {
        end(taskId, TaskState.KILLED(), new TaskKilled("killed", Scala.emptySeq(), Scala.emptySeq(), Scala.emptySeq()));
    }

    /** Tells what an executor's heartbeat says of one of its attempts. */
    public void heartbeat(long taskId, Seq<AccumulatorV2<?, ?>> counters) {
        TaskDescription task = running.get(taskId);
        @SuppressWarnings({"unchecked", "rawtypes"})
        Tuple2<Object, Seq<AccumulatorV2<?, ?>>>[] updates = new Tuple2[] {new Tuple2<>((Object) taskId, counters)};
        BlockManagerId place = BlockManagerId.apply(task.executorId(), hostOf(taskId), 1, Option.empty());
        scheduler.executorHeartbeatReceived(task.executorId(), updates, place, new HashMap<>());
    }

    private void end(long taskId, scala.Enumeration.Value state, Object told) {
        running.remove(taskId);
        ByteBuffer bytes = SparkEnv.get().closureSerializer().newInstance().serialize(told, ANY);
        scheduler.statusUpdate(taskId, state, bytes);
    }

    /** Waits until the stage attempt has its tasks. */
    public WatchedTaskSet awaitStage(int stage, int attempt) throws InterruptedException {
        await(() -> scheduler.taskSetManagerForAttempt(stage, attempt).isDefined(), "stage " + stage + " did not come");
        return (WatchedTaskSet)
                scheduler.taskSetManagerForAttempt(stage, attempt).get();
    }

    /** Whether Spark still takes an attempt for running. */
    public boolean countsAsRunning(int stage, int stageAttempt, long taskId) {
        var tasks = scheduler.taskSetManagerForAttempt(stage, stageAttempt);
        return tasks.isDefined() && tasks.get().taskInfos().apply(taskId).running();
    }

    public int refusals() {
        try {
            return events("copy_refused").size();
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    /** The events of a type that the outbox holds. */
    public List<JsonNode> events(String type) throws Exception {
        return events(outbox, type);
    }

    public static List<JsonNode> events(Outbox outbox, String type) throws Exception {
        List<JsonNode> found = new ArrayList<>();
        for (JsonNode event : new ObjectMapper().readTree(outbox.poll(0, 0))) {
            if (event.get("type").asText().equals(type)) {
                found.add(event);
            }
        }
        return found;
    }

    public static void await(BooleanSupplier condition, String otherwise) throws InterruptedException {
        long deadline = System.nanoTime() + DEADLINE_S * 1_000_000_000L;
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() > deadline) {
                throw new AssertionError(otherwise);
            }
            Thread.sleep(5);
        }
    }

    @Override
    public void close() {
        context.close();
        try {
            for (Thread job : jobs) {
                job.interrupt();
                job.join(JOB_ENDS_MS); // one that is late would make its shuffles in the next test's context
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
