package org.apache.spark.scheduler.cluster.yarnspec;

import java.util.ArrayDeque;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.rdd.RDD;
import org.apache.spark.storage.StorageLevel$;
import scala.runtime.BoxedUnit;

/** The RDDs that one is computed from. */
final class Lineage {
    private Lineage() {}

    /** Itself and those below it up to shuffles, which is what a stage computes. */
    static Set<RDD<?>> ofStage(RDD<?> last) {
        return walk(last, false, Set.of());
    }

    /** The shuffles that it is computed from, without those below these. */
    static Set<Integer> shufflesOf(RDD<?> last) {
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

    /** Itself and all below it, without those that are known and what is below these. */
    static Set<RDD<?>> ofAll(RDD<?> last, Set<RDD<?>> known) {
        return walk(last, true, known);
    }

    /** Whether its records are kept in executors for the program's later jobs, or will be. */
    static boolean isCached(RDD<?> rdd) {
        return !rdd.getStorageLevel().equals(StorageLevel$.MODULE$.NONE());
    }

    /** Whether it is read from a checkpoint of whatever kind, or is to become one. */
    static boolean isCheckpointed(RDD<?> rdd) {
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
