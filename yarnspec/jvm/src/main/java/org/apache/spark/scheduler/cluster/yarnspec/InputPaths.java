package org.apache.spark.scheduler.cluster.yarnspec;

import java.util.ArrayDeque;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapreduce.lib.input.CombineFileSplit;
import org.apache.spark.Partition;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.rdd.HadoopPartition;
import org.apache.spark.rdd.NewHadoopPartition;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.catalog.HiveTableRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.FilePartition;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.execution.datasources.v2.FileTable;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.BoxedUnit;

/** Which files a query or a stage reads. */
final class InputPaths {
    /** The relations of DataFrames list their files when they are made, which is when they are looked at. */
    private static final int NO_RDD = Integer.MAX_VALUE;

    /** A file, for all of its directory; {@code rdd}: the smallest number of those that list it when they are first run. */
    record Listed(Path path, int rdd) {}

    private InputPaths() {}

    /** What the relations of a query read: files, directories and tables. */
    static Collection<Path> of(LogicalPlan plan) {
        Set<Path> paths = new HashSet<>();
        plan.foreachWithSubqueries(node -> {
            if (node instanceof LogicalRelation relation && relation.relation() instanceof HadoopFsRelation files) {
                addAll(files.location(), paths);
            } else if (node instanceof DataSourceV2Relation relation && relation.table() instanceof FileTable table) {
                addAll(table.fileIndex(), paths);
            } else if (node instanceof HiveTableRelation relation
                    && relation.tableMeta().storage().locationUri().isDefined()) {
                paths.add(new Path(relation.tableMeta().storage().locationUri().get()));
            }
            return BoxedUnit.UNIT;
        });
        return paths;
    }

    private static void addAll(FileIndex index, Set<Path> paths) {
        paths.addAll(CollectionConverters.asJava(index.rootPaths()));
    }

    /**
     * Files that an RDD and those that it computes from, up to shuffles, read: one of each directory.
     *
     * @param wanted which of those that read anything are looked at
     */
    static Collection<Listed> of(RDD<?> last, Predicate<RDD<?>> wanted) {
        Map<Path, Listed> paths = new HashMap<>();
        Set<Integer> seen = new HashSet<>();
        ArrayDeque<RDD<?>> left = new ArrayDeque<>(List.of(last));
        while (!left.isEmpty()) {
            RDD<?> rdd = left.pop();
            if (!seen.add(rdd.id())) {
                continue;
            }
            if (rdd.dependencies().isEmpty() && wanted.test(rdd)) {
                for (Partition each : rdd.partitions()) {
                    addPaths(each, rdd.id(), paths);
                }
            }
            rdd.dependencies().foreach(each -> {
                if (!(each instanceof ShuffleDependency<?, ?, ?>)) {
                    left.add(each.rdd());
                }
                return BoxedUnit.UNIT;
            });
        }
        return paths.values();
    }

    private static void addPaths(Partition partition, int rdd, Map<Path, Listed> paths) {
        if (partition instanceof FilePartition files) {
            for (PartitionedFile file : files.files()) {
                addPath(file.toPath(), NO_RDD, paths);
            }
        } else if (partition instanceof HadoopPartition hadoop
                && hadoop.inputSplit().value() instanceof org.apache.hadoop.mapred.FileSplit file) {
            addPath(file.getPath(), rdd, paths);
        } else if (partition instanceof NewHadoopPartition hadoop) {
            Object split = hadoop.serializableHadoopSplit().value();
            if (split instanceof org.apache.hadoop.mapreduce.lib.input.FileSplit file) {
                addPath(file.getPath(), rdd, paths);
            } else if (split instanceof CombineFileSplit combined) {
                List.of(combined.getPaths()).forEach(path -> addPath(path, rdd, paths));
            }
        }
    }

    private static void addPath(Path file, int rdd, Map<Path, Listed> paths) {
        paths.merge(file.getParent(), new Listed(file, rdd), (one, other) -> one.rdd() <= other.rdd() ? one : other);
    }
}
