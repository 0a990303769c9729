package org.yarnspec.driver;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import org.apache.hadoop.security.Credentials;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.spark.SecurityManager$;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.ExternalClusterManager;
import org.apache.spark.scheduler.LiveListenerBus;
import org.apache.spark.scheduler.SchedulerBackend;
import org.apache.spark.scheduler.TaskScheduler;
import org.apache.spark.scheduler.TaskSchedulerImpl;
import org.yarnspec.feed.ApplicationFeed;
import org.yarnspec.feed.Progress;
import org.yarnspec.feed.TaskListener;
import org.yarnspec.mapoutputs.Adoption;
import org.yarnspec.recovery.Recovery;
import org.yarnspec.recovery.ResumingShuffleManager;
import org.yarnspec.scheduler.ContainerBackend;
import org.yarnspec.scheduler.HostBlockingScheduler;

/**
 * Answers Spark when it asks who runs the cluster behind the master {@code yarn}.
 *
 * <p>Spark's own YARN client is left out of the driver's class path, so nobody else claims the name.
 */
public final class ClusterManager implements ExternalClusterManager {
    private static final String MASTER = "yarn";
    static final String SPARK_VERSION = "4.3.";

    @Override
    public boolean canCreate(String masterUrl) {
        return MASTER.equals(masterUrl);
    }

    @Override
    public TaskScheduler createTaskScheduler(SparkContext context, String masterUrl) {
        requireVersion(context.version());
        restoreSecret(context.conf());
        Bridge bridge = Bridge.open(context.conf());
        HostBlockingScheduler scheduler = new HostBlockingScheduler(context, bridge.outbox(), bridge.tasks());
        Recovery recovery = Recovery.current();
        if (recovery != null && recovery.attach(context)) {
            scheduler.nextTaskId().set(recovery.firstTask());
        }
        return scheduler;
    }

    @Override
    public SchedulerBackend createSchedulerBackend(SparkContext context, String masterUrl, TaskScheduler scheduler) {
        Bridge bridge = Bridge.open(context.conf());
        HostBlockingScheduler blocking = (HostBlockingScheduler) scheduler;
        int contextNumber = bridge.nextContextNumber();
        // Before the backend, since executors wait for it and ask for the configuration at once. A second SparkContext
        // of
        // the same program has none: its shuffles and tasks get the numbers of the first one's.
        Adoption adoption = contextNumber == 1 ? Adoption.open(context, bridge.outbox()) : null;
        ContainerBackend backend =
                new ContainerBackend(blocking, context, bridge.outbox(), bridge.tasks(), contextNumber, adoption);
        ResumingShuffleManager.keepFromExecutors(context.conf());
        MasterGuard.keepFromExecutors(context.conf());
        Progress progress = new Progress();
        bridge.attach(blocking, backend, progress);
        LiveListenerBus bus = context.listenerBus();
        // The rows first: events that follow on them say how many there were.
        bus.addToQueue(new TaskListener(bridge.tasks(), blocking.stages()), ApplicationFeed.QUEUE);
        ApplicationFeed feed = new ApplicationFeed(bus, context.conf(), bridge.outbox(), bridge.tasks(), progress);
        bus.addToQueue(feed, ApplicationFeed.QUEUE);
        return backend;
    }

    @Override
    public void initialize(TaskScheduler scheduler, SchedulerBackend backend) {
        ((TaskSchedulerImpl) scheduler).initialize(backend);
    }

    /** Fails with a sentence that names both versions: these classes are built on one line of Spark's internals. */
    static void requireVersion(String version) {
        if (version == null || !version.startsWith(SPARK_VERSION)) {
            throw new IllegalStateException(
                    "yarnspec works with Spark " + SPARK_VERSION + "x, but this driver runs Spark " + version
                            + ". Use pyspark " + SPARK_VERSION + "x, or point --spark-jars at its jars.");
        }
    }

    /**
     * Puts the application's secret where Spark looks first.
     *
     * <p>With the master {@code yarn} Spark makes up a secret of its own and stores it in the user's credentials,
     * which win over the configuration; our executors hold the configured one and could never register.
     */
    private static void restoreSecret(SparkConf conf) {
        String key = SecurityManager$.MODULE$.SPARK_AUTH_SECRET_CONF();
        if (!conf.getBoolean("spark.authenticate", false) || !conf.contains(key)) {
            return;
        }
        Credentials credentials = new Credentials();
        credentials.addSecretKey(
                SecurityManager$.MODULE$.SECRET_LOOKUP_KEY(), conf.get(key).getBytes(StandardCharsets.UTF_8));
        try {
            UserGroupInformation.getCurrentUser().addCredentials(credentials);
        } catch (IOException e) {
            throw new IllegalStateException("The application's secret cannot be stored in the user's credentials.", e);
        }
    }
}
