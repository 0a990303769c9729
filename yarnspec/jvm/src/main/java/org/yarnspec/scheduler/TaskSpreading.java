package org.yarnspec.scheduler;

import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.function.IntFunction;
import org.apache.spark.SparkConf;
import org.apache.spark.resource.ResourceProfile;
import org.apache.spark.resource.ResourceProfile$;
import org.apache.spark.scheduler.WorkerOffer;

/** Puts a round of offers in the order that spreads tasks: see {@link OfferOrder}. */
final class TaskSpreading {
    private final SparkConf conf;
    private final Random ties;

    private TaskSpreading(SparkConf conf) {
        this.conf = conf;
        this.ties = new Random(conf.getLong("spark.yarnspec.taskSeed", 0));
    }

    /** Null where the order is Spark's: at random. */
    static TaskSpreading of(SparkConf conf) {
        return conf.getBoolean("spark.yarnspec.spreadTasks", false) ? new TaskSpreading(conf) : null;
    }

    /**
     * The offers in their order, one for each free slot of an executor for which all tasks that wait need the same.
     *
     * @param running how many tasks each executor runs, of all stages
     * @param executors which executors each host has, those that are not offered included
     * @param waiting the profiles of the stages with tasks that wait, by the profile of executors that may run them
     */
    List<WorkerOffer> order(
            List<WorkerOffer> offers,
            Map<String, Integer> running,
            Map<String, Set<String>> executors,
            IntFunction<List<ResourceProfile>> waiting) {
        Map<Integer, Optional<BigDecimal>> slots = new HashMap<>();
        OfferOrder order = new OfferOrder(ties);
        List<OfferOrder.Executor> rows = new ArrayList<>();
        Set<String> offered = new HashSet<>();
        for (WorkerOffer offer : offers) {
            offered.add(offer.executorId());
            BigDecimal cores = offer.cores().bigDecimal();
            Optional<BigDecimal> cpus =
                    slots.computeIfAbsent(offer.resourceProfileId(), profile -> cpusOfOne(waiting.apply(profile)));
            // A part of a core is enough for some task, as far as is known here.
            BigDecimal free =
                    cpus.map(cores::divideToIntegralValue).orElseGet(() -> cores.setScale(0, RoundingMode.CEILING));
            rows.add(new OfferOrder.Executor(
                    offer.executorId(),
                    offer.host(),
                    running.getOrDefault(offer.executorId(), 0),
                    free.intValue(),
                    cpus.isEmpty()));
        }
        for (String host :
                new HashSet<>(rows.stream().map(OfferOrder.Executor::host).toList())) {
            for (String executorId : executors.getOrDefault(host, Set.of())) {
                if (!offered.contains(executorId)) {
                    order.alsoRunning(host, running.getOrDefault(executorId, 0));
                }
            }
        }
        List<WorkerOffer> ordered = new ArrayList<>();
        for (int number : order.of(rows)) {
            WorkerOffer offer = offers.get(number);
            ordered.add(slots.get(offer.resourceProfileId())
                    .map(cpus -> slot(offer, cpus))
                    .orElse(offer));
        }
        return ordered;
    }

    private static WorkerOffer slot(WorkerOffer offer, BigDecimal cpus) {
        return offer.copy(
                offer.executorId(),
                offer.host(),
                new scala.math.BigDecimal(cpus),
                offer.address(),
                offer.resources(),
                offer.resourceProfileId());
    }

    /** The cores that every task that waits needs; empty when they differ, or when tasks want other resources too. */
    private Optional<BigDecimal> cpusOfOne(List<ResourceProfile> waiting) {
        BigDecimal one = null;
        for (ResourceProfile profile : waiting) {
            BigDecimal cpus = ResourceProfile$.MODULE$
                    .getTaskCpusOrDefaultForProfile(profile, conf)
                    .bigDecimal();
            boolean plain = profile.getCustomTaskResources().isEmpty();
            if (!plain || cpus.signum() <= 0 || (one != null && one.compareTo(cpus) != 0)) {
                return Optional.empty();
            }
            one = cpus;
        }
        return Optional.ofNullable(one);
    }
}
