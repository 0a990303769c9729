package org.yarnspec.stage;

import java.nio.charset.StandardCharsets;
import java.util.Set;
import org.apache.spark.Partition;
import org.apache.spark.api.python.PythonFunction;
import org.apache.spark.api.python.PythonRDD;
import org.apache.spark.rdd.CheckpointRDD;
import org.apache.spark.rdd.EmptyRDD;
import org.apache.spark.rdd.HadoopPartition;
import org.apache.spark.rdd.NewHadoopPartition;
import org.apache.spark.rdd.ParallelCollectionRDD;
import org.apache.spark.rdd.PipedRDD;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.execution.datasources.FilePartition;
import org.apache.spark.sql.execution.datasources.v2.DataSourceRDDPartition;
import org.yarnspec.fingerprint.PythonFunctions;
import org.yarnspec.spark.Fields;
import org.yarnspec.spark.FileSplits;
import org.yarnspec.spark.Lineage;

/**
 * Whether a stage asks somebody outside Spark for its records, found in the RDDs that it computes.
 *
 * <p>Files, collections of the program, shuffles, kept records and random numbers do nobody harm when two attempts of a task
 * read them. Every other RDD without one below it counts as a reader of something else: of a database, of a data source of
 * others. So does the output of a command of the program's ({@code pipe}, {@code TRANSFORM … USING}).
 */
final class Sources {
    /** RDDs of Spark's that read nothing; MLlib's, of random numbers, need not be in the class path. */
    private static final Set<String> READ_NOTHING = Set.of(
            "org.apache.spark.sql.execution.EmptyRDDWithPartitions",
            "org.apache.spark.mllib.rdd.RandomRDD",
            "org.apache.spark.mllib.rdd.RandomVectorRDD");

    // PySpark's pipe() is a function on partitions for the JVM. The error that its function may raise stands in the
    // pickle (pyspark/core/rdd.py), also where other functions of the program are pipelined around it.
    private static final byte[] PYTHON_PIPE = "PIPE_FUNCTION_EXITED".getBytes(StandardCharsets.US_ASCII);

    // How Spark names its operators for TRANSFORM … USING, with Hive and without.
    private static final String SQL_PIPE = "ScriptTransformation";

    private Sources() {}

    /** Whether an RDD that the stage computes is such a reader; what is kept of all partitions is not computed again. */
    static boolean readElsewhere(RDD<?> last) {
        return Lineage.ofStage(last, KeptRecords.whole(last)).stream()
                .anyMatch(rdd -> pipes(rdd) || isSource(rdd) && !isHarmless(rdd));
    }

    private static boolean pipes(RDD<?> rdd) {
        return rdd instanceof PipedRDD<?>
                || rdd.scope().isDefined() && rdd.scope().get().name().contains(SQL_PIPE)
                || rdd instanceof PythonRDD
                        && Fields.get(rdd, "func") instanceof PythonFunction function
                        && PythonFunctions.contain(function, PYTHON_PIPE);
    }

    private static boolean isSource(RDD<?> rdd) {
        return rdd.dependencies().isEmpty();
    }

    private static boolean isHarmless(RDD<?> source) {
        if (source instanceof ParallelCollectionRDD<?>
                || source instanceof EmptyRDD<?>
                || source instanceof CheckpointRDD<?>
                || READ_NOTHING.contains(source.getClass().getName())) {
            return true;
        }
        for (Partition each : source.partitions()) {
            if (!isOfFiles(each)) {
                return false;
            }
        }
        return true;
    }

    private static boolean isOfFiles(Partition partition) {
        if (partition instanceof DataSourceRDDPartition of) {
            return of.inputPartition().isEmpty() || of.inputPartition().get() instanceof FilePartition;
        } else if (partition instanceof HadoopPartition hadoop) {
            return FileSplits.isOfFiles(hadoop.inputSplit().value());
        } else if (partition instanceof NewHadoopPartition hadoop) {
            return FileSplits.isOfFiles(hadoop.serializableHadoopSplit().value());
        }
        return partition instanceof FilePartition;
    }
}
