package org.yarnspec.mapoutputs;

import java.io.Serializable;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import org.apache.spark.MapOutputTrackerMaster;
import org.apache.spark.ShuffleStatus;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;
import org.apache.spark.rpc.RpcCallContext;
import org.apache.spark.rpc.RpcEnv;
import org.apache.spark.rpc.ThreadSafeRpcEndpoint;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerBlockManagerAdded;
import org.apache.spark.scheduler.SparkListenerBlockUpdated;
import org.apache.spark.scheduler.SparkListenerExecutorRemoved;
import org.apache.spark.storage.BlockManagerId;
import org.apache.spark.storage.BlockUpdatedInfo;
import org.apache.spark.storage.ShuffleDataBlockId;
import org.apache.spark.storage.StorageLevel;
import org.apache.spark.util.ShutdownHookManager;
import org.yarnspec.channel.Outbox;
import org.yarnspec.executor.KeeperPlugin;
import org.yarnspec.executor.Messages;
import org.yarnspec.executor.Messages.End;
import org.yarnspec.executor.OutputName;
import org.yarnspec.spark.Scala;
import scala.PartialFunction;
import scala.runtime.AbstractPartialFunction;
import scala.runtime.BoxedUnit;

/**
 * The driver's half of keeping map outputs: it tells executors what to take over, and when to delete what they have.
 *
 * <p>Executors get their half as a Spark plugin, beside the plugins that the user names.
 */
public final class Adoption implements ThreadSafeRpcEndpoint {
    private static final String PLUGINS = "spark.plugins";
    private static final long LEAVING_TIMEOUT_MS = 3_000;

    private final SparkContext context;
    private final RpcEnv rpcEnv;
    private final Outbox outbox;
    private final SavedOutputs saved;
    private final Claims claims;
    private final boolean served;
    private final LiveAdoption live;
    private final Set<String> keepers = new HashSet<>();
    private Predicate<String> dismissed = executor -> false;
    private boolean finished;

    private Adoption(SparkContext context, Outbox outbox, SavedOutputs saved) {
        this.context = context;
        this.outbox = outbox;
        this.saved = saved;
        rpcEnv = context.env().rpcEnv();
        served = served(context.conf());
        live = LiveAdoption.current();
        claims =
                new Claims(context.conf().getInt("spark.yarnspec.epoch", 1), saved, new Tracker(context), served, live);
    }

    /** Whether the shuffle services of the cluster give out map outputs, also when their executor is gone. */
    public static boolean served(SparkConf conf) {
        return conf.getBoolean("spark.shuffle.service.enabled", false);
    }

    /** Why map outputs cannot outlive their executors here; empty when they can. Programs may set it in their code. */
    public static String whyNot(SparkConf conf) {
        if (conf.getBoolean("spark.io.encryption.enabled", false)) {
            return "spark.io.encryption.enabled is on: a new driver cannot read what the old one's executors wrote";
        }
        if (served(conf) && conf.getBoolean("spark.shuffle.service.fetch.rdd.enabled", false)) {
            return "spark.shuffle.service.fetch.rdd.enabled is on: cached data of executors that are gone is not kept";
        }
        if (conf.getBoolean("spark.shuffle.useOldFetchProtocol", false)) {
            return "spark.shuffle.useOldFetchProtocol is on: shuffle files are named the old way, by their map's index";
        }
        if (conf.contains("spark.shuffle.sort.io.plugin.class")) {
            return "spark.shuffle.sort.io.plugin.class is set: map outputs may not be files of the executor's";
        }
        return "";
    }

    /**
     * Sets it up for the executors to come; to be called before the first of them asks for its configuration.
     *
     * @return null when executors are to be stock ones
     */
    public static Adoption open(SparkContext context, Outbox outbox) {
        SparkConf conf = context.conf();
        if (!conf.getBoolean("spark.yarnspec.recovery.enabled", false)) {
            return null;
        }
        String whyNot = whyNot(conf);
        if (!whyNot.isEmpty()) {
            outbox.add(
                    "adoption_off",
                    event -> event.put("executor_id", "").put("host", "").put("why", whyNot));
            return null;
        }
        Set<String> plugins = new LinkedHashSet<>(List.of(conf.get(PLUGINS, "").split("\\s*,\\s*")));
        plugins.remove("");
        plugins.add(KeeperPlugin.class.getName());
        conf.set(PLUGINS, String.join(",", plugins));
        Adoption adoption = new Adoption(context, outbox, SavedOutputs.get());
        adoption.rpcEnv.setupEndpoint(Messages.ENDPOINT, adoption);
        context.listenerBus().addToManagementQueue(new SparkListener() {
            @Override
            public void onExecutorRemoved(SparkListenerExecutorRemoved removed) {
                adoption.executorLost(removed.executorId());
            }

            @Override
            public void onBlockManagerAdded(SparkListenerBlockManagerAdded added) {
                if (added.blockManagerId().isDriver()) {
                    adoption.askServices(context); // now Spark's client for them is ready
                }
            }
        });
        if (adoption.served) {
            adoption.saved.askServices();
        }
        return adoption;
    }

    /** Asks the shuffle services for what is saved, beside the driver's start; what they do not have is then adopted. */
    private void askServices(SparkContext context) {
        if (!served || !saved.hasPast()) {
            return;
        }
        SparkConf conf = context.conf();
        long windowMs = Long.parseLong(conf.get("spark.yarnspec.recovery.window_ms"));
        boolean all = Boolean.parseBoolean(conf.get("spark.yarnspec.recovery.verify_checksums"));
        ServiceProbe.Services services = ServiceProbe.of(
                context.env().blockManager().blockStoreClient(),
                conf.get("spark.shuffle.checksum.algorithm", "ADLER32"));
        ServiceProbe probe = new ServiceProbe(saved, all, services, this::answered);
        Thread thread = new Thread(() -> {
            try {
                probe.run(windowMs / 3);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
        thread.setName("yarnspec-shuffle-services");
        thread.setDaemon(true);
        thread.start();
    }

    /** Of a host whose service has all of it nothing needs to be taken over. */
    private void answered(String host, int outputs, int given, long bytes, long durationMs) {
        outbox.add("outputs_reported", event -> {
            event.put("executor_id", "")
                    .put("host", host)
                    .put("found", outputs)
                    .put("served", given)
                    .put("bytes", bytes)
                    .put("duration_ms", durationMs);
            event.putObject("refused");
        });
    }

    /** Tells which executors Spark itself wants to end: nobody will look for their files. */
    public synchronized void dismissedBy(Predicate<String> wanted) {
        dismissed = wanted;
    }

    synchronized void executorLost(String executor) {
        claims.lost(executor);
        keepers.remove(executor);
        notifyAll();
    }

    /**
     * The SparkContext stops. When it does so in order executors may delete everything; when the JVM is being ended, or
     * Spark stops itself after a fault, the next driver will look for it.
     */
    public synchronized void contextStops() {
        // SparkContext.stopInNewThread, which only Spark's own faults lead to, names its thread so.
        finished = !ShutdownHookManager.inShutdown()
                && !Thread.currentThread().getName().equals("stop-spark-context");
    }

    /** Waits until all executors, told to end by now, have asked what to do with their files. */
    public synchronized void awaitLeaving() {
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(LEAVING_TIMEOUT_MS);
        try {
            while (finished && !keepers.isEmpty()) {
                long leftMs = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime());
                if (leftMs <= 0) {
                    return;
                }
                wait(leftMs);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public RpcEnv rpcEnv() {
        return rpcEnv;
    }

    @Override
    public PartialFunction<Object, BoxedUnit> receiveAndReply(RpcCallContext call) {
        return new AbstractPartialFunction<>() {
            @Override
            public boolean isDefinedAt(Object message) {
                return true;
            }

            @Override
            public BoxedUnit apply(Object message) {
                try {
                    call.reply(answer(message));
                } catch (RuntimeException e) {
                    call.sendFailure(e);
                }
                return BoxedUnit.UNIT;
            }
        };
    }

    private Serializable answer(Object message) {
        if (message instanceof Messages.Inventory inventory) {
            arrived(inventory.where().executorId());
            return (Serializable) claims.judge(inventory);
        } else if (message instanceof Messages.Sizes sizes) {
            return (Serializable) claims.compare(sizes);
        } else if (message instanceof Messages.Adopted outcome) {
            claims.settle(outcome);
            holds(outcome);
        } else if (message instanceof Messages.Report report) {
            arrived(report.where().executorId());
            reported(report);
        } else if (message instanceof Messages.Kept kept) {
            kept(kept);
        } else if (message instanceof Messages.Unable unable) {
            unable(unable);
        } else if (message instanceof Messages.Leaving leaving) {
            return leaves(leaving.executorId());
        } else {
            throw new IllegalArgumentException("unknown message " + message);
        }
        return true;
    }

    /** With dynamic allocation Spark lets go of an idle executor, unless it has heard that there are map outputs on it. */
    private void holds(Messages.Adopted outcome) {
        Set<Integer> told = new HashSet<>();
        for (OutputName name : outcome.outputs()) {
            if (told.add(name.shuffle())) {
                ShuffleDataBlockId block = ShuffleDataBlockId.apply(name.shuffle(), name.mapId(), 0);
                BlockUpdatedInfo info = BlockUpdatedInfo.apply(outcome.where(), block, StorageLevel.DISK_ONLY(), 0, 0);
                context.listenerBus().post(SparkListenerBlockUpdated.apply(info));
            }
        }
    }

    private synchronized void arrived(String executor) {
        keepers.add(executor);
    }

    private synchronized End leaves(String executor) {
        keepers.remove(executor);
        notifyAll();
        if (finished) {
            return End.DELETE_ALL;
        }
        return dismissed.test(executor) && !served ? End.DELETE : End.KEEP;
    }

    private void reported(Messages.Report report) {
        heard(report.where());
        outbox.add("outputs_reported", event -> {
            event.put("executor_id", report.where().executorId())
                    .put("host", report.where().host())
                    .put("found", report.found())
                    .put("adopted", report.adopted())
                    .put("garbage", report.garbage())
                    .put("bytes", report.adoptedBytes())
                    .put("duration_ms", report.durationMs());
            var refused = event.putObject("refused");
            report.refused().forEach(refused::put);
        });
    }

    private void heard(BlockManagerId where) {
        saved.reported(where.host(), where.executorId());
        if (live != null) {
            live.reported(where.host(), where.executorId());
        }
    }

    private void kept(Messages.Kept kept) {
        outbox.add(
                "outputs_kept", event -> event.put("executor_id", kept.where().executorId())
                        .put("host", kept.where().host())
                        .put("outputs", kept.outputs())
                        .put("bytes", kept.bytes())
                        .put("dropped", kept.dropped())
                        .put("dropped_bytes", kept.droppedBytes()));
    }

    /** Its host has nothing to give, as far as this executor can tell. */
    private void unable(Messages.Unable unable) {
        heard(unable.where());
        outbox.add(
                "adoption_off", event -> event.put("executor_id", unable.where().executorId())
                        .put("host", unable.where().host())
                        .put("why", unable.why()));
    }

    /** Spark's own table of map outputs. */
    private record Tracker(SparkContext context) implements Claims.Shuffles {
        private ShuffleStatus status(int shuffle) {
            MapOutputTrackerMaster tracker =
                    (MapOutputTrackerMaster) context.env().mapOutputTracker();
            return Scala.orNull(tracker.shuffleStatuses().get(shuffle));
        }

        @Override
        public boolean exists(int shuffle) {
            return status(shuffle) != null;
        }

        @Override
        public boolean isComplete(int shuffle) {
            ShuffleStatus status = status(shuffle);
            // Not numAvailableMapOutputs(): that is how Recovery learns that a job needs the shuffle.
            return status != null && status.findMissingPartitions().isEmpty();
        }
    }
}
