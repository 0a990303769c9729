package org.yarnspec.stage;

import java.util.HashSet;
import java.util.Properties;
import java.util.Set;
import org.apache.spark.rdd.DeterministicLevel$;
import org.apache.spark.rdd.RDD;
import org.apache.spark.scheduler.TaskLocation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SQLExecution;
import org.apache.spark.sql.execution.columnar.InMemoryRelation;
import org.yarnspec.spark.Lineage;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Whether a stage keeps records for later jobs ({@code cache}, {@code persist}, {@code localCheckpoint}) that another attempt of
 * its task could give otherwise.
 *
 * <p>Each attempt leaves what it has kept with its executor, also one that another attempt overtakes. So two executors would
 * have two versions of one partition, and later tasks would read now the one, now the other.
 */
final class KeptRecords {
    private KeptRecords() {}

    /** Whether attempts may keep different records: they run Python, or something in the query is not deterministic. */
    static boolean mayDiffer(RDD<?> last, Properties ofJob) {
        Set<RDD<?>> filled = new HashSet<>();
        for (RDD<?> rdd : Lineage.ofStage(last)) {
            if (Lineage.isCached(rdd) && !areAll(rdd)) {
                filled.add(rdd);
            }
        }
        for (RDD<?> rdd : filled) {
            if (rdd.outputDeterministicLevel() == DeterministicLevel$.MODULE$.INDETERMINATE()
                    || Lineage.ofStage(rdd).stream().anyMatch(StageFlags::runsPython)) {
                return true;
            }
        }
        return !filled.isEmpty() && !isDeterministic(ofJob);
    }

    /** Whether every partition is kept; Spark's scheduler has asked the same, and knows the answer. */
    static boolean areAll(RDD<?> rdd) {
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

    /** Whether the job's query, and those that its cached tables were made of, always give the same. */
    private static boolean isDeterministic(Properties ofJob) {
        String execution = ofJob == null ? null : ofJob.getProperty(SQLExecution.EXECUTION_ID_KEY());
        if (execution == null) {
            return true; // RDDs of the JVM's; random ones have a seed
        }
        QueryExecution query = SQLExecution.getQueryExecution(Long.parseLong(execution));
        return query != null && isDeterministic(query.withCachedData());
    }

    private static boolean isDeterministic(LogicalPlan plan) {
        return plan.deterministic()
                && CollectionConverters.asJava(plan.collectLeaves()).stream()
                        .allMatch(leaf -> !(leaf instanceof InMemoryRelation cached)
                                || isDeterministic(cached.cacheBuilder().logicalPlan()));
    }
}
