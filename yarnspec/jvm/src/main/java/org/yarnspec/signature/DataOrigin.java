package org.yarnspec.signature;

import java.util.HashMap;
import java.util.Map;
import java.util.regex.Pattern;
import org.apache.spark.Dependency;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.analysis.EliminateSubqueryAliases;
import org.apache.spark.sql.catalyst.analysis.EliminateView;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.TreePattern;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.execution.LogicalRDD;
import org.apache.spark.unsafe.types.UTF8String;
import org.yarnspec.fingerprint.AddedFiles;
import org.yarnspec.fingerprint.Fingerprint;
import org.yarnspec.fingerprint.HadoopInputs;
import org.yarnspec.fingerprint.Partitioners;
import org.yarnspec.fingerprint.ShuffleIdentities;
import org.yarnspec.fingerprint.Unknown;
import org.yarnspec.fingerprint.Values;
import scala.collection.Iterator;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.BoxedUnit;

/**
 * For {@code org.yarnspec.sink}: what the files of a save are made of, for a comparison with an earlier driver's save.
 *
 * <p>Equal only for the same files, collections, functions and operations; so that a save of other data is not taken for
 * one that is done. Unlike {@code RddIdentity} it says nothing of the order of rows, so it goes through shuffles, and
 * it needs no recovery. Nothing is computed for it.
 */
public final class DataOrigin implements ShuffleIdentities {
    private static final AddedFiles ADDED = new AddedFiles();
    /** Texts that a cast to a date or a time takes for the clock's. */
    private static final Pattern CLOCK = Pattern.compile("(?i)\\s*(now|today|yesterday|tomorrow)\\b.*");

    private final Map<Integer, ShuffleDependency<?, ?, ?>> shuffles = new HashMap<>();
    private final Map<Integer, String> known = new HashMap<>();
    private final HadoopInputs inputs = HadoopInputs.withSettingsOfFormats();
    private final Fingerprint into = new Fingerprint();
    private final Values values = new Values(into, this, inputs);

    private DataOrigin() {}

    /** Empty when something in it is not known. */
    public static String of(RDD<?> rdd) {
        DataOrigin origin = new DataOrigin();
        return origin.told(rdd.context(), () -> {
            origin.collect(rdd, new HashMap<>());
            origin.values.rdds().add(rdd, true);
        });
    }

    /** Empty when something in it is not known. As it was analyzed: the optimizer puts in the time at which it runs. */
    public static String of(Dataset<Row> data) {
        DataOrigin origin = new DataOrigin();
        return origin.told(data.sparkSession().sparkContext(), () -> {
            DriverSignatures.addSettings(
                    origin.values, data.sparkSession().sessionState().conf());
            // A view for the session says when it was made.
            origin.addPlan(EliminateView.apply(
                    EliminateSubqueryAliases.apply(data.queryExecution().analyzed())));
        });
    }

    private String told(SparkContext context, Runnable data) {
        try {
            ADDED.add(into, context);
            DriverSignatures.addSettings(values, context.conf().getAllAsJavaMap());
            data.run();
            return into.hex();
        } catch (RuntimeException | LinkageError | StackOverflowError e) {
            return "";
        }
    }

    private void addPlan(LogicalPlan plan) {
        if (plan.containsPattern(TreePattern.CURRENT_LIKE())) {
            throw new Unknown("it asks what time it is");
        }
        plan.foreachWithSubqueries(node -> {
            if (node instanceof LogicalRDD rows) {
                collect(rows.rdd(), new HashMap<>());
            }
            CollectionConverters.asJava(node.expressions()).forEach(each -> each.foreach(DataOrigin::refuseClock));
            return BoxedUnit.UNIT;
        });
        values.addQuery(plan);
    }

    private static BoxedUnit refuseClock(Expression expression) {
        if (expression instanceof Literal literal
                && literal.value() instanceof UTF8String text
                && CLOCK.matcher(text.toString()).matches()) {
            throw new Unknown("it may ask what time it is");
        }
        return BoxedUnit.UNIT;
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
            Fingerprint below = new Fingerprint();
            Values values = new Values(below, this, inputs);
            Partitioners.add(values, dependency.partitioner());
            below.add(dependency.mapSideCombine() ? 1 : 0);
            values.add(dependency.keyOrdering());
            values.add(dependency.aggregator());
            values.rdds().add(dependency.rdd(), true);
            text = below.hex();
            known.put(shuffle, text);
        }
        return text;
    }

    @Override
    public boolean keptAsWell() {
        return true;
    }
}
