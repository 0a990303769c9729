package org.yarnspec.mapoutputs;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.apache.spark.network.shuffle.BlockStoreClient;
import org.apache.spark.network.shuffle.checksum.Cause;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.storage.BlockManagerId;
import org.yarnspec.mapoutputs.SavedOutputs.OutputKey;
import org.yarnspec.mapoutputs.SavedOutputs.Saved;

/**
 * Asks the shuffle services of the cluster for what executors of earlier drivers left: an output that its host's service
 * still gives out, whole, is where it was, and nobody needs to take it over.
 *
 * <p>What a service does not say in time that it has, for whatever reason, is left to {@link Adoption}.
 */
final class ServiceProbe {
    /** More than this would take longer, and say more in the services' logs, than taking the files over. */
    private static final int BLOCKS_MAX = 50_000;

    private static final int THREADS_MAX = 16;
    private static final int SILENT_MAX = 2;

    /** A client of the services. */
    @FunctionalInterface
    interface Services {
        /** Whether the part of an output that is for one reducer is there and has its checksum. */
        boolean isWhole(BlockManagerId where, int shuffle, long mapId, int reducer);
    }

    /** Hears what each host's service gives out, of so many outputs that are saved there. */
    @FunctionalInterface
    interface ProbeWatcher {
        void answered(String host, int outputs, int served, long bytes, long durationMs);
    }

    /** An output and where it is asked for. */
    private record Asked(Saved output, BlockManagerId where, int[] reducers) {}

    private final SavedOutputs saved;
    private final boolean all;
    private final Services services;
    private final ProbeWatcher watcher;

    /** @param all whether every part of an output is read, or only the last one that holds anything */
    ServiceProbe(SavedOutputs saved, boolean all, Services services, ProbeWatcher watcher) {
        this.saved = saved;
        this.all = all;
        this.services = services;
        this.watcher = watcher;
    }

    /** Spark's own client, by the call with which its readers find out who damaged a block. */
    static Services of(BlockStoreClient client, String algorithm) {
        return (where, shuffle, mapId, reducer) -> {
            Cause cause = client.diagnoseCorruption(
                    where.host(), where.port(), where.executorId(), shuffle, mapId, reducer, 0, algorithm);
            // The service has compared what is on the disk with the writer's checksum; ours, 0, is the odd one out.
            return cause == Cause.NETWORK_ISSUE || cause == Cause.CHECKSUM_VERIFY_PASS;
        };
    }

    /** Asks for all that is saved; what has no answer after {@code timeoutMs} is asked for no more. */
    void run(long timeoutMs) throws InterruptedException {
        Map<String, List<Asked>> byHost = new TreeMap<>();
        int blocks = 0;
        for (Saved output : saved.all()) {
            Asked asked = asked(output);
            if (asked == null || blocks + asked.reducers().length > BLOCKS_MAX) {
                saved.notServed(output.key());
            } else {
                blocks += asked.reducers().length;
                byHost.computeIfAbsent(output.host(), host -> new ArrayList<>()).add(asked);
            }
        }
        if (!byHost.isEmpty()) {
            ask(byHost, timeoutMs);
        }
        saved.all().forEach(output -> saved.notServed(output.key()));
    }

    private Asked asked(Saved output) {
        try {
            MapStatus status = output.content().status();
            return new Asked(
                    output,
                    status.location(),
                    reducers(status, saved.shuffle(output.shuffle()).reduces()));
        } catch (IOException | RuntimeException e) {
            return null; // whoever wants it will see that it cannot be read
        }
    }

    private int[] reducers(MapStatus status, int reduces) {
        List<Integer> filled = new ArrayList<>();
        for (int reducer = 0; reducer < reduces; reducer++) {
            if (status.getSizeForBlock(reducer) > 0) {
                filled.add(reducer);
            }
        }
        List<Integer> chosen = all || filled.isEmpty() ? filled : filled.subList(filled.size() - 1, filled.size());
        return chosen.stream().mapToInt(Integer::intValue).toArray();
    }

    private void ask(Map<String, List<Asked>> byHost, long timeoutMs) throws InterruptedException {
        ExecutorService threads = Executors.newFixedThreadPool(Math.min(byHost.size(), THREADS_MAX), task -> {
            Thread thread = new Thread(task, "yarnspec-shuffle-service");
            thread.setDaemon(true);
            return thread;
        });
        byHost.forEach((host, outputs) -> threads.execute(() -> askHost(host, outputs)));
        threads.shutdown();
        if (!threads.awaitTermination(timeoutMs, TimeUnit.MILLISECONDS)) {
            threads.shutdownNow();
        }
    }

    private void askHost(String host, List<Asked> outputs) {
        long startedNs = System.nanoTime();
        Map<String, Integer> silent = new TreeMap<>();
        int served = 0;
        long bytes = 0;
        for (Asked each : outputs) {
            OutputKey key = each.output().key();
            String executor = each.where().executorId();
            // A service that does not know an executor, or does not answer, is not asked for each of its outputs.
            if (silent.getOrDefault(executor, 0) < SILENT_MAX && isWhole(each)) {
                silent.remove(executor);
                if (saved.served(each.where(), key)) {
                    served++;
                    bytes += each.output().bytes();
                }
            } else {
                silent.merge(executor, 1, Integer::sum);
                saved.notServed(key);
            }
        }
        int there = (int)
                saved.all().stream().filter(each -> each.host().equals(host)).count();
        watcher.answered(host, there, served, bytes, TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - startedNs));
    }

    private boolean isWhole(Asked asked) {
        for (int reducer : asked.reducers()) {
            try {
                if (!services.isWhole(
                        asked.where(), asked.output().shuffle(), asked.output().mapId(), reducer)) {
                    return false;
                }
            } catch (RuntimeException e) {
                return false;
            }
        }
        return true;
    }
}
