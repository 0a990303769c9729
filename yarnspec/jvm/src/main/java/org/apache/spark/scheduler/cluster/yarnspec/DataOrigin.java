package org.apache.spark.scheduler.cluster.yarnspec;

import java.util.HashMap;
import java.util.Map;
import org.apache.spark.Dependency;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.analysis.EliminateSubqueryAliases;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.execution.LogicalRDD;
import scala.collection.Iterator;
import scala.runtime.BoxedUnit;

/**
 * For {@code org.yarnspec.sink}: what the records of a save are made of, for a comparison with an earlier driver's save.
 *
 * <p>Equal only for the same files, collections, functions and operations; so that a save of other data is not taken for
 * one that is done. Unlike {@link RddIdentity} it says nothing of the order of rows, so it goes through shuffles, and
 * it needs no recovery. Nothing is computed for it.
 */
public final class DataOrigin implements ShuffleIdentities {
    private final Map<Integer, ShuffleDependency<?, ?, ?>> shuffles = new HashMap<>();
    private final Map<Integer, String> known = new HashMap<>();
    private final HadoopInputs inputs = HadoopInputs.withoutSettings();

    private DataOrigin() {}

    /** Empty when something in it is not known. */
    public static String of(RDD<?> rdd) {
        Fingerprint into = new Fingerprint();
        try {
            new DataOrigin().addRdd(into, rdd);
            return into.hex();
        } catch (RuntimeException | LinkageError | StackOverflowError e) {
            return "";
        }
    }

    /** Empty when something in it is not known. As it was analyzed: the optimizer puts in the time at which it runs. */
    public static String of(Dataset<Row> data) {
        Fingerprint into = new Fingerprint();
        try {
            new DataOrigin().addPlan(into, EliminateSubqueryAliases.apply(data.queryExecution().analyzed()));
            return into.hex();
        } catch (RuntimeException | LinkageError | StackOverflowError e) {
            return "";
        }
    }

    private void addPlan(Fingerprint into, LogicalPlan plan) {
        plan.foreachWithSubqueries(node -> {
            if (node instanceof LogicalRDD rows) {
                collect(rows.rdd(), new HashMap<>());
            }
            return BoxedUnit.UNIT;
        });
        new Values(into, this, inputs).addQuery(plan);
    }

    private void addRdd(Fingerprint into, RDD<?> rdd) {
        collect(rdd, new HashMap<>());
        new Values(into, this, inputs).rdds().add(rdd, true);
    }

    private void collect(RDD<?> rdd, Map<Integer, RDD<?>> seen) {
        if (seen.putIfAbsent(rdd.id(), rdd) != null) {
            return;
        }
        for (Iterator<Dependency<?>> all = rdd.dependencies().iterator(); all.hasNext(); ) {
            Dependency<?> each = all.next();
            if (each instanceof ShuffleDependency<?, ?, ?> shuffle) {
                shuffles.put(shuffle.shuffleId(), shuffle);
            }
            collect(each.rdd(), seen);
        }
    }

    @Override
    public String of(int shuffle) {
        String text = known.get(shuffle);
        if (text == null) {
            ShuffleDependency<?, ?, ?> dependency = shuffles.get(shuffle);
            if (dependency == null || ShuffleMetrics.ofQuery(dependency)) {
                throw new Unknown("a query's shuffle is below it");
            }
            Fingerprint into = new Fingerprint();
            Values values = new Values(into, this, inputs);
            Partitioners.add(values, dependency.partitioner());
            into.add(dependency.mapSideCombine() ? 1 : 0);
            values.add(dependency.keyOrdering());
            values.add(dependency.aggregator());
            values.rdds().add(dependency.rdd(), true);
            text = into.hex();
            known.put(shuffle, text);
        }
        return text;
    }

    @Override
    public boolean keptAsWell() {
        return true;
    }
}
