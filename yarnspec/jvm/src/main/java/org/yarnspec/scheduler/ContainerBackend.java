package org.yarnspec.scheduler;

import com.fasterxml.jackson.databind.node.ArrayNode;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;
import org.apache.spark.deploy.security.HadoopDelegationTokenManager;
import org.apache.spark.resource.ResourceProfile;
import org.apache.spark.rpc.RpcAddress;
import org.apache.spark.rpc.RpcEndpointAddress;
import org.apache.spark.scheduler.ExecutorDecommissionInfo;
import org.apache.spark.scheduler.ExecutorExited;
import org.apache.spark.scheduler.ExecutorProcessLost;
import org.apache.spark.scheduler.cluster.CoarseGrainedClusterMessages.IsExecutorAlive;
import org.apache.spark.scheduler.cluster.CoarseGrainedSchedulerBackend;
import org.apache.spark.scheduler.cluster.CoarseGrainedSchedulerBackend$;
import org.apache.spark.scheduler.cluster.SchedulerBackendUtils$;
import org.yarnspec.channel.Outbox;
import org.yarnspec.feed.TaskFeed;
import org.yarnspec.mapoutputs.Adoption;
import org.yarnspec.recovery.Recovery;
import org.yarnspec.spark.Scala;
import scala.Option;
import scala.Tuple2;
import scala.collection.immutable.Map$;
import scala.collection.immutable.Seq;
import scala.concurrent.Future;
import scala.jdk.javaapi.CollectionConverters;
import scala.reflect.ClassTag$;

/**
 * The driver's side of executors that somebody else starts: it tells the negotiator what Spark wants, and Spark why an
 * executor ended.
 */
public final class ContainerBackend extends CoarseGrainedSchedulerBackend {
    private static final double MIN_REGISTERED_RATIO = 0.8; // as Spark on YARN: begin when most executors are there
    private static final long LOSS_REASON_TIMEOUT_MS = 10_000;

    private final SparkContext context;
    private final Outbox outbox;
    private final TaskFeed tasks;
    private final int contextNumber;
    private final Adoption adoption;
    private final long lossReasonTimeoutMs;
    private final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor(task -> {
        Thread thread = new Thread(task, "yarnspec-loss-reasons");
        thread.setDaemon(true);
        return thread;
    });
    private final int initialExecutors;
    private final int fixedParallelism;
    private final boolean awaitsNegotiator;
    private volatile boolean declaredReady;
    private final ProfileSizes profileSizes;
    private Map<ResourceProfile, Integer> toldExecutors = Map.of();
    private List<LocalTasks> toldLocalTasks = List.of();
    private volatile boolean stopping;

    /**
     * @param adoption what speaks to the executors about map outputs; null when those end with their executors
     */
    public ContainerBackend(
            HostBlockingScheduler scheduler,
            SparkContext context,
            Outbox outbox,
            TaskFeed tasks,
            int contextNumber,
            Adoption adoption) {
        super(scheduler, context.env().rpcEnv());
        this.context = context;
        this.outbox = outbox;
        this.tasks = tasks;
        this.contextNumber = contextNumber;
        this.adoption = adoption;
        if (adoption != null) {
            adoption.dismissedBy(this::isDismissed);
        }
        this.lossReasonTimeoutMs =
                context.conf().getTimeAsMs("spark.yarnspec.lossReason.timeoutMs", LOSS_REASON_TIMEOUT_MS + "ms");
        this.profileSizes = new ProfileSizes(context.conf());
        this.initialExecutors = initialExecutors(context.conf());
        this.fixedParallelism = fixedParallelism(context.conf(), initialExecutors);
        this.awaitsNegotiator = context.conf().getBoolean("spark.yarnspec.start.awaitsNegotiator", false);
    }

    /** The fixed number of executors, or the number that dynamic allocation begins with. */
    private static int initialExecutors(SparkConf conf) {
        int planned =
                conf.getInt("spark.yarnspec.executors", SchedulerBackendUtils$.MODULE$.DEFAULT_NUMBER_EXECUTORS());
        return SchedulerBackendUtils$.MODULE$.getInitialTargetExecutorNumber(conf, planned);
    }

    /**
     * With recovery on the cores of all executors, be they there yet or not: Spark splits files and merges partitions
     * of shuffles by this number, and what the next driver computes would not be the same with another one. 0: as
     * Spark has it, by the cores that are registered at that moment.
     */
    private static int fixedParallelism(SparkConf conf, int executors) {
        boolean fixed = conf.getBoolean("spark.yarnspec.recovery.enabled", false) && !allocatesDynamically(conf);
        return fixed ? Math.max(2, executors * conf.getInt("spark.executor.cores", 1)) : 0;
    }

    private static boolean allocatesDynamically(SparkConf conf) {
        return conf.getBoolean("spark.dynamicAllocation.enabled", false);
    }

    /** Zeros when dynamic allocation is off. */
    static void tellDynamicBounds(SparkConf conf, ArrayNode told) {
        boolean dynamic = allocatesDynamically(conf);
        told.add(dynamic ? conf.getInt("spark.dynamicAllocation.minExecutors", 0) : 0);
        told.add(dynamic ? conf.getInt("spark.dynamicAllocation.maxExecutors", Integer.MAX_VALUE) : 0);
    }

    @Override
    public void start() {
        super.start();
        outbox.add("backend_started", event -> {
            event.put("driver_url", driverUrl());
            event.put("ui_url", Scala.orNull(context.uiWebUrl()));
            event.put("context", contextNumber);
            event.put("feed_rows", tasks.rows());
            profileSizes.tell(
                    context.resourceProfileManager().defaultResourceProfile(), 0, event.putObject("executor"));
            tellDynamicBounds(context.conf(), event.putArray("dynamic_bounds"));
        });
        // Seeds Spark's own count of what it asked for: without it a first sc.killExecutors() would count down from 0.
        int profile = ResourceProfile.DEFAULT_RESOURCE_PROFILE_ID();
        requestTotalExecutors(Scala.mapOf(profile, initialExecutors), Scala.mapOf(profile, 0), hostCounts(profile));
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private static scala.collection.immutable.Map<Object, scala.collection.immutable.Map<String, Object>> hostCounts(
            int profile) {
        return (scala.collection.immutable.Map) Scala.mapOf(profile, Scala.emptyMap());
    }

    private String driverUrl() {
        SparkConf conf = context.conf();
        return new RpcEndpointAddress(
                        conf.get("spark.driver.host"),
                        conf.getInt("spark.driver.port", 0),
                        CoarseGrainedSchedulerBackend$.MODULE$.ENDPOINT_NAME())
                .toString();
    }

    @Override
    public void stop() {
        stopping = true;
        if (Recovery.current() != null) {
            Recovery.current().contextEnds(context);
        }
        timer.shutdownNow();
        if (adoption != null) {
            adoption.contextStops();
        }
        super.stop(); // tells the executors to end
        if (adoption != null) {
            adoption.awaitLeaving();
        }
    }

    /** Whether Spark itself wants this executor to end. */
    private synchronized boolean isDismissed(String executorId) {
        return executorsPendingToRemove().contains(executorId);
    }

    public boolean stopping() {
        return stopping || context.isStopped();
    }

    @Override
    public String applicationId() {
        return context.conf().get("spark.yarnspec.app.id");
    }

    /** The epoch; a second SparkContext of the same program adds its number, or its event log would clash. */
    @Override
    public Option<String> applicationAttemptId() {
        String epoch = context.conf().get("spark.yarnspec.epoch");
        return Option.apply(contextNumber == 1 ? epoch : epoch + "-" + contextNumber);
    }

    /** Where YARN shows the driver's logs: its environment says so, by the names that Spark's standalone driver has. */
    @Override
    public Option<scala.collection.immutable.Map<String, String>> getDriverLogUrls() {
        return told(System.getenv(), "SPARK_DRIVER_LOG_URL_", true);
    }

    @Override
    public Option<scala.collection.immutable.Map<String, String>> getDriverAttributes() {
        return told(System.getenv(), "SPARK_DRIVER_ATTRIBUTE_", false);
    }

    static Option<scala.collection.immutable.Map<String, String>> told(
            Map<String, String> environment, String prefix, boolean smallLetters) {
        Map<String, String> found = new HashMap<>();
        for (Map.Entry<String, String> entry : environment.entrySet()) {
            if (entry.getKey().startsWith(prefix)) {
                String name = entry.getKey().substring(prefix.length());
                found.put(smallLetters ? name.toLowerCase(Locale.ROOT) : name, entry.getValue());
            }
        }
        return found.isEmpty() ? Option.empty() : Option.apply(Map$.MODULE$.from(CollectionConverters.asScala(found)));
    }

    @Override
    public int defaultParallelism() {
        return fixedParallelism == 0
                ? super.defaultParallelism()
                : context.conf().getInt("spark.default.parallelism", fixedParallelism);
    }

    @Override
    public double minRegisteredRatio() {
        return context.conf().contains("spark.scheduler.minRegisteredResourcesRatio")
                ? super.minRegisteredRatio()
                : MIN_REGISTERED_RATIO;
    }

    @Override
    public boolean sufficientResourcesRegistered() {
        return totalRegisteredExecutors().get() >= initialExecutors * minRegisteredRatio();
    }

    /**
     * With bounds for the number of executors the negotiator alone says when tasks may start; else Spark's own rule holds.
     * Spark asks every 100 ms while the program stands in {@code getOrCreate()}.
     */
    @Override
    public boolean isReady() {
        return awaitsNegotiator ? declaredReady : super.isReady();
    }

    /** The negotiator says that there are executors enough. */
    public void declareReady() {
        declaredReady = true;
    }

    @Override
    public Future<Object> doRequestTotalExecutors(scala.collection.immutable.Map<ResourceProfile, Object> wanted) {
        Map<ResourceProfile, Integer> counts = new HashMap<>();
        CollectionConverters.asJava(wanted).forEach((profile, count) -> counts.put(profile, (Integer) count));
        List<LocalTasks> localTasks;
        synchronized (this) {
            localTasks = LocalTasks.of(numLocalityAwareTasksPerResourceProfileId(), rpHostToLocalTaskCount());
            if (counts.equals(toldExecutors) && localTasks.equals(toldLocalTasks)) {
                return Scala.done();
            }
            toldExecutors = counts;
            toldLocalTasks = localTasks;
        }
        int usual = counts.entrySet().stream()
                .filter(each -> isUsual(each.getKey()))
                .mapToInt(Map.Entry::getValue)
                .sum();
        outbox.add("target_executors", event -> {
            event.put("count", usual);
            ArrayNode profiles = event.putArray("profiles");
            counts.forEach((profile, count) -> {
                if (!isUsual(profile)) {
                    profileSizes.tell(profile, count, profiles.addObject());
                }
            });
            ArrayNode local = event.putArray("local_tasks");
            localTasks.forEach(each -> each.tell(local.addObject()));
        });
        return Scala.done();
    }

    static boolean isUsual(ResourceProfile profile) {
        return profile.id() == ResourceProfile.DEFAULT_RESOURCE_PROFILE_ID();
    }

    @Override
    public Future<Object> doKillExecutors(Seq<String> executorIds) {
        outbox.add("kill_executors", event -> {
            var ids = event.putArray("ids");
            CollectionConverters.asJava(executorIds).forEach(ids::add);
        });
        return Scala.done();
    }

    /** The executors that finish from now on end with exit code 0, and the negotiator must not take that for a fault. */
    @Override
    public Seq<String> decommissionExecutors(
            Tuple2<String, ExecutorDecommissionInfo>[] executors, boolean adjustTarget, boolean byExecutor) {
        Seq<String> begun = super.decommissionExecutors(executors, adjustTarget, byExecutor);
        if (!begun.isEmpty()) {
            outbox.add("executors_decommissioned", event -> {
                var ids = event.putArray("executor_ids");
                CollectionConverters.asJava(begun).forEach(ids::add);
            });
        }
        return begun;
    }

    /** The seam for Kerberos, as on YARN: collects delegation tokens and hands them to executors when security is on. */
    @Override
    public Option<HadoopDelegationTokenManager> createTokenManager() {
        return Option.apply(
                new HadoopDelegationTokenManager(context.conf(), context.hadoopConfiguration(), driverEndpoint()));
    }

    /** The negotiator knows why an executor has gone or is about to go. {@code causedByApp=false} costs the running tasks no failure. */
    public void executorGone(String executorId, int exitCode, boolean causedByApp, String reason) {
        if (Recovery.current() != null) {
            Recovery.current().executorLost(executorId); // Spark may not have known it yet
        }
        removeExecutor(executorId, new ExecutorExited(exitCode, causedByApp, reason));
    }

    /** Returns when every task launch that was decided before the call has been sent. */
    public void awaitLaunches() {
        // The endpoint works through its messages one at a time: once it answers, its last round of offers is over.
        driverEndpoint().askSync(new IsExecutorAlive(""), ClassTag$.MODULE$.Boolean());
    }

    @Override
    public DriverEndpoint createDriverEndpoint() {
        return new ReasonAwaitingEndpoint();
    }

    /**
     * Holds a vanished executor's tasks back until the negotiator says why it vanished.
     *
     * <p>Stock Spark counts a broken connection as the application's fault at once, and a container's exit status
     * arrives a second or two later: a preempted container would cost its tasks a failure each.
     */
    private final class ReasonAwaitingEndpoint extends DriverEndpoint {
        @Override
        public void onDisconnected(RpcAddress address) {
            String executorId = Scala.orNull(addressToExecutorId().get(address));
            if (executorId == null || ContainerBackend.this.stopping()) {
                return;
            }
            boolean killedBySpark;
            synchronized (ContainerBackend.this) {
                killedBySpark = executorsPendingToRemove().contains(executorId)
                        || executorsPendingDecommission().contains(executorId);
            }
            if (killedBySpark) {
                // Spark itself asked for this end and says so to its tasks; nobody needs to be asked.
                forget(executorId, "It ended as Spark asked.");
            } else if (disableExecutor(executorId)) {
                outbox.add("executor_disconnected", event -> event.put("executor_id", executorId));
                timer.schedule(
                        () -> forget(
                                executorId,
                                "The connection broke, and YARN did not say why within " + lossReasonTimeoutMs
                                        + " ms."),
                        lossReasonTimeoutMs,
                        TimeUnit.MILLISECONDS);
            }
        }

        private void forget(String executorId, String reason) {
            boolean known;
            synchronized (ContainerBackend.this) {
                known = executorsPendingLossReason().contains(executorId)
                        || executorsPendingToRemove().contains(executorId)
                        || executorsPendingDecommission().contains(executorId);
            }
            if (known) {
                removeExecutor(executorId, new ExecutorProcessLost(reason, Option.empty(), true));
            }
        }
    }
}
