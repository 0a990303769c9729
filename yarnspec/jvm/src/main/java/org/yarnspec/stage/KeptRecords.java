package org.yarnspec.stage;

import java.util.Set;
import java.util.stream.Collectors;
import org.apache.spark.rdd.RDD;
import org.apache.spark.scheduler.TaskLocation;
import org.yarnspec.spark.Lineage;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The records that a stage keeps for later jobs: {@code cache}, {@code persist}, {@code localCheckpoint}.
 *
 * <p>Each attempt of a task leaves what it has kept with its executor, also one that another attempt overtakes. Two attempts
 * may give different records: for Python and {@code rand()} it is plain, and after a shuffle records come in another order,
 * which decides what {@code dropDuplicates} or {@code limit} leaves. Then two executors have two versions of one partition,
 * and later tasks read either.
 */
final class KeptRecords {
    private KeptRecords() {}

    /** The RDDs of a stage of which every partition is kept: neither they nor those below them are computed. */
    static Set<RDD<?>> whole(RDD<?> last) {
        return Lineage.ofStage(last).stream().filter(KeptRecords::areAll).collect(Collectors.toSet());
    }

    /** Whether one of the RDDs that a stage computes is to be kept. */
    static boolean areMade(RDD<?> last) {
        return Lineage.ofStage(last, whole(last)).stream().anyMatch(Lineage::isCached);
    }

    private static boolean areAll(RDD<?> rdd) {
        if (!Lineage.isCached(rdd)) {
            return false;
        }
        for (Seq<TaskLocation> places :
                CollectionConverters.asJava(rdd.sparkContext().dagScheduler().getCacheLocs(rdd))) {
            if (places.isEmpty()) {
                return false;
            }
        }
        return true;
    }
}
