package org.yarnspec.signature;

import java.util.ArrayDeque;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Set;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SQLExecution;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec;
import org.yarnspec.fingerprint.Unknown;
import scala.Option;
import scala.Product;
import scala.collection.Iterable;

/** The step of a query that a shuffle belongs to. */
final class ExchangeOwner {
    private ExchangeOwner() {}

    /** The query that this thread works for. */
    static QueryExecution query(SparkContext context) {
        String id = context.getLocalProperty("spark.sql.execution.id");
        QueryExecution query = id == null ? null : SQLExecution.getQueryExecution(Long.parseLong(id));
        if (query == null) {
            throw new Unknown("it belongs to a DataFrame, but to no query of its own");
        }
        return query;
    }

    /**
     * The exchange, or the limit, whose shuffle this is: they share their metrics.
     *
     * <p>Only what constructors were given is looked at: lazy values have locks, and another thread may hold one while it
     * waits for this one.
     */
    static SparkPlan find(QueryExecution query, ShuffleDependency<?, ?, ?> dependency) {
        ShuffleMetrics metrics = ShuffleMetrics.of(dependency);
        Set<Object> seen = Collections.newSetFromMap(new IdentityHashMap<>());
        ArrayDeque<Object> left = new ArrayDeque<>();
        left.add(query.executedPlan());
        while (!left.isEmpty()) {
            Object each = left.pop();
            if (!seen.add(each)) {
                continue;
            }
            if (each instanceof SparkPlan plan && metrics.areOf(plan)) {
                return plan;
            }
            if (each instanceof AdaptiveSparkPlanExec adaptive) {
                left.add(adaptive.executedPlan());
            }
            Iterable<?> parts =
                    each instanceof Product product ? product.productIterator().toList() : (Iterable<?>) each;
            parts.foreach(part -> {
                boolean follow = part instanceof TreeNode<?>
                        || part instanceof Option<?>
                        || part instanceof scala.collection.Seq<?>;
                return follow && left.add(part);
            });
        }
        throw new Unknown("its exchange is not in the plan of its query");
    }
}
