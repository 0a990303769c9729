package org.yarnspec.spark;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Supplier;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.ExternalRDD;
import org.apache.spark.sql.execution.LogicalRDD;
import org.apache.spark.sql.execution.columnar.InMemoryRelation;
import org.apache.spark.storage.StorageLevel$;
import scala.runtime.BoxedUnit;

/** The RDDs that one is computed from. */
public final class Lineage {
    private Lineage() {}

    /** Itself and those below it up to shuffles, which is what a stage computes. */
    public static Set<RDD<?>> ofStage(RDD<?> last) {
        return ofStage(last, Set.of());
    }

    /** The RDDs of a stage, without those that are known and all below these. */
    public static Set<RDD<?>> ofStage(RDD<?> last, Set<RDD<?>> known) {
        return walk(last, false, known);
    }

    /** The shuffles that it is computed from, without those below these. */
    public static Set<Integer> shufflesOf(RDD<?> last) {
        Set<Integer> found = new LinkedHashSet<>();
        for (RDD<?> rdd : ofStage(last)) {
            rdd.dependencies().foreach(each -> {
                if (each instanceof ShuffleDependency<?, ?, ?> shuffle) {
                    found.add(shuffle.shuffleId());
                }
                return BoxedUnit.UNIT;
            });
        }
        return found;
    }

    /** The shuffles that RDDs are computed from; as many as can be found. */
    public static Set<Integer> shufflesOf(Supplier<List<RDD<?>>> last) {
        Set<Integer> found = new LinkedHashSet<>();
        try {
            last.get().forEach(rdd -> found.addAll(shufflesOf(rdd)));
        } catch (Exception | LinkageError | StackOverflowError e) { // an input that is not there, and nobody will read
            Failures.keepInterrupt(e);
        }
        return found;
    }

    /** The RDDs that a query reads, also those that a cached table was made of. */
    public static List<RDD<?>> rddsOf(LogicalPlan query) {
        List<RDD<?>> found = new ArrayList<>();
        query.foreachWithSubqueries(node -> {
            if (node instanceof LogicalRDD rows) {
                found.add(rows.rdd());
            } else if (node instanceof ExternalRDD<?> objects) {
                found.add(objects.rdd());
            } else if (node instanceof InMemoryRelation cached) {
                found.addAll(rddsOf(cached.cacheBuilder().logicalPlan()));
            }
            return BoxedUnit.UNIT;
        });
        return found;
    }

    /** Itself and all below it, without those that are known and what is below these. */
    public static Set<RDD<?>> ofAll(RDD<?> last, Set<RDD<?>> known) {
        return walk(last, true, known);
    }

    /** Whether its records are kept in executors for the program's later jobs, or will be. */
    public static boolean isCached(RDD<?> rdd) {
        return !rdd.getStorageLevel().equals(StorageLevel$.MODULE$.NONE());
    }

    /** Whether it is read from a checkpoint of whatever kind, or is to become one. */
    public static boolean isCheckpointed(RDD<?> rdd) {
        return rdd.checkpointData().isDefined();
    }

    private static Set<RDD<?>> walk(RDD<?> last, boolean belowShuffles, Set<RDD<?>> known) {
        Set<RDD<?>> seen = new HashSet<>();
        ArrayDeque<RDD<?>> left = new ArrayDeque<>(List.of(last));
        while (!left.isEmpty()) {
            RDD<?> rdd = left.pop();
            if (known.contains(rdd) || !seen.add(rdd)) {
                continue;
            }
            rdd.dependencies().foreach(each -> {
                if (belowShuffles || !(each instanceof ShuffleDependency<?, ?, ?>)) {
                    left.add(each.rdd());
                }
                return BoxedUnit.UNIT;
            });
        }
        return seen;
    }
}
