package org.yarnspec.stage;

import java.io.IOException;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.Dependency;
import org.apache.spark.MapOutputTrackerMaster;
import org.apache.spark.NarrowDependency;
import org.apache.spark.OneToOneDependency;
import org.apache.spark.Partition;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.rdd.HadoopPartition;
import org.apache.spark.rdd.NewHadoopPartition;
import org.apache.spark.rdd.RDD;
import org.apache.spark.scheduler.Stage;
import org.apache.spark.scheduler.Task;
import org.apache.spark.sql.execution.datasources.FilePartition;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.sql.execution.datasources.v2.DataSourceRDDPartition;
import org.yarnspec.spark.Lineage;
import scala.collection.Iterator;
import scala.jdk.javaapi.CollectionConverters;

/**
 * How many bytes each task of a stage will read, as far as the driver knows that before they start: the lengths of file
 * splits and the sizes of map outputs. Unknown is -1.
 */
public final class TaskInputs {
    private static final long UNKNOWN = -1;
    private static final int STEPS_MAX = 1_000;

    private final MapOutputTrackerMaster outputs;

    public TaskInputs(MapOutputTrackerMaster outputs) {
        this.outputs = outputs;
    }

    /** One number for each task; all unknown when something goes wrong, as nothing here is worth a job. */
    public long[] of(Stage stage, Task<?>[] tasks) {
        long[] result = new long[tasks.length];
        Arrays.fill(result, UNKNOWN);
        try {
            long[] bytes = new Walk().of(stage.rdd(), 0);
            for (int i = 0; i < tasks.length; i++) {
                result[i] = bytes[tasks[i].partitionId()];
            }
        } catch (RuntimeException | LinkageError | IOException | InterruptedException e) {
            Arrays.fill(result, UNKNOWN);
            if (e instanceof InterruptedException) {
                Thread.currentThread().interrupt();
            }
        }
        return result;
    }

    /** One look at the RDDs that a stage computes; each is looked at once. */
    private final class Walk {
        private final Map<Integer, long[]> known = new HashMap<>();

        long[] of(RDD<?> rdd, int depth) throws IOException, InterruptedException {
            long[] bytes = known.get(rdd.id());
            if (bytes == null) {
                bytes = depth > STEPS_MAX ? unknown(rdd.partitions().length) : lookAt(rdd, depth);
                known.put(rdd.id(), bytes);
            }
            return bytes;
        }

        private long[] lookAt(RDD<?> rdd, int depth) throws IOException, InterruptedException {
            Partition[] partitions = rdd.partitions();
            if (Lineage.isCached(rdd)) {
                return unknown(partitions.length); // cached: what is read depends on what was kept, and where
            }
            if (rdd.dependencies().isEmpty()) {
                return splits(partitions);
            }
            long[] bytes = new long[partitions.length];
            for (Iterator<Dependency<?>> all = rdd.dependencies().iterator(); all.hasNext(); ) {
                Dependency<?> dependency = all.next();
                if (dependency instanceof ShuffleDependency<?, ?, ?> shuffle) {
                    new ShuffleSizes(outputs, shuffle).addTo(bytes, partitions);
                } else if (dependency instanceof OneToOneDependency<?> same) {
                    addSame(bytes, of(same.rdd(), depth + 1));
                } else if (dependency instanceof NarrowDependency<?> narrow) {
                    addParents(bytes, narrow, of(narrow.rdd(), depth + 1));
                } else {
                    return unknown(partitions.length);
                }
            }
            return bytes;
        }
    }

    private static void addSame(long[] bytes, long[] more) {
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = sum(bytes[i], more[i]);
        }
    }

    private static void addParents(long[] bytes, NarrowDependency<?> narrow, long[] parents) {
        for (int i = 0; i < bytes.length; i++) {
            for (Object parent : CollectionConverters.asJava(narrow.getParents(i))) {
                bytes[i] = sum(bytes[i], parents[(Integer) parent]);
            }
        }
    }

    /** Unknown and something is unknown. */
    static long sum(long a, long b) {
        return a < 0 || b < 0 ? UNKNOWN : a + b;
    }

    private static long[] unknown(int count) {
        long[] bytes = new long[count];
        Arrays.fill(bytes, UNKNOWN);
        return bytes;
    }

    private static long[] splits(Partition[] partitions) throws IOException, InterruptedException {
        long[] bytes = new long[partitions.length];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = split(partitions[i]);
        }
        return bytes;
    }

    private static long split(Partition partition) throws IOException, InterruptedException {
        if (partition instanceof FilePartition files) {
            return length(files);
        } else if (partition instanceof HadoopPartition hadoop) {
            return hadoop.inputSplit().value().getLength();
        } else if (partition instanceof NewHadoopPartition hadoop) {
            return hadoop.serializableHadoopSplit().value().getLength();
        } else if (partition instanceof DataSourceRDDPartition source
                && source.inputPartition().isDefined()
                && source.inputPartition().get() instanceof FilePartition files) {
            return length(files);
        }
        return UNKNOWN;
    }

    private static long length(FilePartition partition) {
        long length = 0;
        for (PartitionedFile file : partition.files()) {
            length += file.length();
        }
        return length;
    }
}
