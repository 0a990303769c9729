package org.apache.spark.scheduler.cluster.yarnspec;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Consumer;
import org.apache.hadoop.fs.FileStatus;
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
import org.apache.spark.sql.execution.datasources.PartitioningAwareFileIndex;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.execution.datasources.v2.FileTable;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.BoxedUnit;

/** Which files a query or a stage reads. */
final class InputPaths {
    /** The relations of DataFrames list their files when they are made, which is when they are looked at. */
    private static final int NO_RDD = Integer.MAX_VALUE;

    /**
     * Something that is read.
     *
     * @param path a directory, or a file, which may stand for all that is read in its directory
     * @param place the directory, or by {@link WrittenFiles#filesIn} its files
     * @param jobs that are in names of files there
     * @param rdd the smallest number of those that list it when they are first run
     */
    record Input(Path path, Path place, Set<String> jobs, int rdd) {}

    private InputPaths() {}

    /**
     * What the relations of a query read: files, directories and tables.
     *
     * @param withJobs whether anybody asks for the jobs
     */
    static Collection<Input> of(LogicalPlan plan, boolean withJobs) {
        List<Input> inputs = new ArrayList<>();
        plan.foreachWithSubqueries(node -> {
            if (node instanceof LogicalRelation relation && relation.relation() instanceof HadoopFsRelation files) {
                addAll(files.location(), withJobs, inputs);
            } else if (node instanceof DataSourceV2Relation relation && relation.table() instanceof FileTable table) {
                addAll(table.fileIndex(), withJobs, inputs);
            } else if (node instanceof HiveTableRelation relation
                    && relation.tableMeta().storage().locationUri().isDefined()) {
                Path path = new Path(relation.tableMeta().storage().locationUri().get());
                inputs.add(new Input(path, path, Set.of(), NO_RDD));
            }
            return BoxedUnit.UNIT;
        });
        return inputs;
    }

    private static void addAll(FileIndex index, boolean withJobs, List<Input> inputs) {
        // Tables of a catalog list their files later, partition by partition.
        Map<Path, FileStatus> files = index instanceof PartitioningAwareFileIndex listed
                ? CollectionConverters.asJava(listed.leafFiles())
                : Map.of();
        for (Path root : CollectionConverters.asJava(index.rootPaths())) {
            if (files.containsKey(root)) {
                // Of a pattern Spark makes a list of files; another time it may be others.
                inputs.add(new Input(
                        root, WrittenFiles.filesIn(root.getParent()), WrittenFiles.jobs(root.getName()), NO_RDD));
                continue;
            }
            Set<String> jobs = new TreeSet<>();
            if (withJobs) {
                String below = root + "/";
                files.keySet().stream()
                        .filter(file -> file.toString().startsWith(below))
                        .forEach(file -> jobs.addAll(WrittenFiles.jobs(file.getName())));
            }
            inputs.add(new Input(root, root, jobs, NO_RDD));
        }
    }

    /** Files that an RDD and those that it computes from, up to shuffles, read: one of each directory. */
    static Collection<Input> of(RDD<?> last) {
        Map<Path, Input> inputs = new HashMap<>();
        visit(last, false, Set.of(), rdd -> addAll(rdd, inputs));
        return inputs.values();
    }

    /**
     * The same for files that RDDs alone read, also below shuffles: of those that come back from an earlier life no stage
     * runs.
     *
     * @param known RDDs that have been looked at; those that are now are added
     */
    static Collection<Input> ofAll(RDD<?> last, Set<Integer> known) {
        Map<Path, Input> inputs = new HashMap<>();
        Set<Integer> seen = visit(last, true, known, rdd -> {
            if (HadoopInputs.isOne(rdd)) {
                addAll(rdd, inputs);
            }
        });
        known.addAll(seen);
        return inputs.values();
    }

    private static Set<Integer> visit(
            RDD<?> last, boolean belowShuffles, Set<Integer> known, Consumer<RDD<?>> reader) {
        Set<Integer> seen = new HashSet<>();
        ArrayDeque<RDD<?>> left = new ArrayDeque<>(List.of(last));
        while (!left.isEmpty()) {
            RDD<?> rdd = left.pop();
            if (known.contains(rdd.id()) || !seen.add(rdd.id())) {
                continue;
            }
            if (rdd.dependencies().isEmpty()) {
                reader.accept(rdd);
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

    private static void addAll(RDD<?> rdd, Map<Path, Input> inputs) {
        for (Partition each : rdd.partitions()) {
            addAll(each, rdd.id(), inputs);
        }
    }

    private static void addAll(Partition partition, int rdd, Map<Path, Input> inputs) {
        if (partition instanceof FilePartition files) {
            for (PartitionedFile file : files.files()) {
                add(file.toPath(), NO_RDD, inputs);
            }
        } else if (partition instanceof HadoopPartition hadoop
                && hadoop.inputSplit().value() instanceof org.apache.hadoop.mapred.FileSplit file) {
            add(file.getPath(), rdd, inputs);
        } else if (partition instanceof NewHadoopPartition hadoop) {
            Object split = hadoop.serializableHadoopSplit().value();
            if (split instanceof org.apache.hadoop.mapreduce.lib.input.FileSplit file) {
                add(file.getPath(), rdd, inputs);
            } else if (split instanceof CombineFileSplit combined) {
                List.of(combined.getPaths()).forEach(path -> add(path, rdd, inputs));
            }
        }
    }

    private static void add(Path file, int rdd, Map<Path, Input> inputs) {
        Input known = inputs.get(file.getParent());
        if (known == null || rdd < known.rdd()) {
            Path place = WrittenFiles.filesIn(file.getParent());
            known = new Input(file, place, known == null ? new TreeSet<>() : known.jobs(), rdd);
            inputs.put(file.getParent(), known);
        }
        known.jobs().addAll(WrittenFiles.jobs(file.getName()));
    }
}
