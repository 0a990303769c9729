package org.yarnspec.executor;

import java.io.IOException;
import java.io.Serializable;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.PluginContext;
import org.apache.spark.rpc.RpcEndpointRef;
import org.apache.spark.rpc.RpcTimeout;
import org.apache.spark.shuffle.sort.SortShuffleManager;
import org.apache.spark.storage.BlockManagerId;
import org.apache.spark.storage.DiskBlockManager;
import org.apache.spark.util.RpcUtils;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.yarnspec.executor.Messages.End;
import scala.concurrent.duration.FiniteDuration;
import scala.reflect.ClassTag$;

/**
 * An executor's part in recovery: its map outputs outlive it, and those of executors before it on this host become its
 * own, before it gets its first task.
 *
 * <p>No fault in here ends the executor: then its files are deleted with it, as Spark does, and nothing is taken over.
 */
final class Keeper implements ExecutorPlugin {
    private static final Logger LOG = LoggerFactory.getLogger(Keeper.class);

    /** How long data is read before the executor begins to work; the rest is read beside its tasks. */
    private static final long VERIFY_BEFORE_START_MS = 5_000;

    private static final long AGAIN_MS = 200;
    private static final long MANAGER_WAIT_MS = 60_000;
    private static final long ASK_TIMEOUT_MS = 10_000;
    private static final long LAST_ASK_TIMEOUT_MS = 2_000;

    // Held until the process ends: without them others would take this executor for gone.
    private final List<DirectoryLock> locks = new ArrayList<>();
    private final ScheduledExecutorService thread = Executors.newSingleThreadScheduledExecutor(task -> {
        Thread named = new Thread(task, "yarnspec-keeper");
        named.setDaemon(true);
        return named;
    });
    private final long startedNs = System.nanoTime();
    private Settings settings;
    private DiskBlockManager disks;
    private BlockManagerId where;
    private RpcEndpointRef driver;
    private NewHome home;
    private Sweep sweep;
    private volatile boolean keeps;
    private boolean reported;

    @Override
    public void init(PluginContext context, Map<String, String> extra) {
        try {
            keep(context);
        } catch (Exception | LinkageError e) {
            LOG.warn("The map outputs of this executor end with it, and it can take over none.", e);
            sayUnable(e);
            return;
        }
        look(VERIFY_BEFORE_START_MS);
        thread.execute(this::again);
    }

    private void keep(PluginContext context) throws IOException {
        SparkEnv env = SparkEnv.get();
        where = env.blockManager().shuffleServerId(); // where readers go: a shuffle service of this host, or here
        driver = RpcUtils.makeDriverRef(Messages.ENDPOINT, context.conf(), env.rpcEnv());
        settings = Settings.of(context.conf());
        disks = env.blockManager().diskBlockManager();
        home = new NewHome(disks);
        sweep = new Sweep(settings, home, where, message -> ask(message, ASK_TIMEOUT_MS));
        Owner owner = new Owner(
                settings.application(),
                settings.epoch(),
                context.executorID(),
                ProcessHandle.current().pid());
        for (Path directory : home.directories()) {
            locks.add(DirectoryLock.create(directory)); // first: a record without a held lock means a gone executor
            owner.write(directory);
        }
        disks.deleteFilesOnStop_$eq(false);
        keeps = true;
    }

    private void sayUnable(Throwable why) {
        if (driver != null) {
            try {
                ask(new Messages.Unable(where, why.toString()), ASK_TIMEOUT_MS);
            } catch (Exception e) {
                LOG.warn("The driver could not be told.", e);
            }
        }
    }

    /** Looks at what lies here, and reports once nothing more can come of it. */
    private void look(long verifyMs) {
        try {
            int before = sweep.adopted();
            boolean settled = sweep.run(System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(verifyMs));
            boolean stuck = sweep.adopted() == before && sinceStartMs() > settings.windowMs();
            if (!reported && (settled || stuck)) {
                ask(sweep.report(sinceStartMs()), ASK_TIMEOUT_MS);
                reported = true;
            }
        } catch (Exception e) {
            LOG.warn("What earlier executors left on this host could not be looked after; again in a moment.", e);
        }
    }

    /** Searches on beside the executor's tasks while more may come, then only looks after what is kept. */
    private void again() {
        SparkEnv env = SparkEnv.get();
        if (env == null || !env.waitForShuffleManagerInit(MANAGER_WAIT_MS)) {
            return; // the executor ends already
        }
        home.register((SortShuffleManager) env.blockingShuffleManager());
        thread.schedule(
                () -> {
                    look(settings.windowMs());
                    again();
                },
                reported ? settings.sweepMs() : AGAIN_MS,
                TimeUnit.MILLISECONDS);
    }

    private long sinceStartMs() {
        return TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - startedNs);
    }

    private Object ask(Serializable message, long timeoutMs) {
        RpcTimeout timeout = new RpcTimeout(
                new FiniteDuration(timeoutMs, TimeUnit.MILLISECONDS), "the patience of yarnspec's keeper");
        return driver.<Object>askSync(message, timeout, ClassTag$.MODULE$.Any());
    }

    /** The driver says whether anybody will need the files; with the driver gone, its successor may. */
    @Override
    public void shutdown() {
        if (!keeps) {
            return;
        }
        thread.shutdownNow();
        End end = End.KEEP;
        try {
            end = (End) ask(new Messages.Leaving(where.executorId()), LAST_ASK_TIMEOUT_MS);
        } catch (Exception e) {
            LOG.info("The driver cannot be asked, so this executor's map outputs stay: {}", e.toString());
        }
        try {
            if (end == End.DELETE || end == End.DELETE_ALL && sweep.deleteAll()) {
                disks.deleteFilesOnStop_$eq(true);
            } else {
                home.deleteAllButOutputs();
            }
        } catch (IOException e) {
            LOG.warn("Some files of executors that are gone could not be deleted.", e);
        }
    }
}
