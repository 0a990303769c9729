package org.yarnspec.write;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapred.FileInputFormat;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapreduce.lib.input.CombineFileSplit;
import org.apache.spark.Partition;
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
import org.yarnspec.files.WrittenFiles;
import org.yarnspec.fingerprint.HadoopInputs;
import org.yarnspec.spark.Lineage;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.BoxedUnit;

/** Which files a query or a stage reads. */
final class InputPaths {
    /** The relations of DataFrames list their files when they are made, which is when they are looked at. */
    private static final int NO_RDD = Integer.MAX_VALUE;

    /** Of a table with more directories only the table is told. */
    private static final int DIRECTORIES_TOLD = 1_000;

    /** The marks by which a path is a pattern. */
    private static final String GLOBS = ".*[*?\\[{].*";

    /**
     * Something that is read.
     *
     * @param path a directory, or a file, which may stand for all that is read in its directory
     * @param place the directory, or by {@link WrittenFiles#filesIn} its files
     * @param jobs that are in names of files, by the place in which these are
     * @param rdd the smallest number of those that list it when they are first run
     */
    record Input(Path path, Path place, Map<Path, Set<String>> jobs, int rdd) {}

    private InputPaths() {}

    /**
     * The inputs of a query's relations: files, directories and tables.
     *
     * @param withJobs whether anybody asks for the jobs
     * @param known listings that have been looked at, by their identity
     * @param looked gets those that are looked at now
     */
    static Collection<Input> of(LogicalPlan plan, boolean withJobs, Set<Object> known, Collection<Object> looked) {
        List<Input> inputs = new ArrayList<>();
        Consumer<FileIndex> reader = index -> {
            // Tables of a catalog list their files later, partition by partition.
            Map<Path, FileStatus> files = index instanceof PartitioningAwareFileIndex listed
                    ? CollectionConverters.asJava(listed.leafFiles())
                    : Map.of();
            // A refreshed index has another listing.
            Object listing = index instanceof PartitioningAwareFileIndex listed ? listed.leafFiles() : index;
            if (!known.contains(listing)) {
                looked.add(listing);
                Set<Path> roots = Set.copyOf(CollectionConverters.asJava(index.rootPaths()));
                addAll(roots, files.keySet(), withJobs, inputs);
            }
        };
        plan.foreachWithSubqueries(node -> {
            if (node instanceof LogicalRelation relation && relation.relation() instanceof HadoopFsRelation files) {
                reader.accept(files.location());
            } else if (node instanceof DataSourceV2Relation relation && relation.table() instanceof FileTable table) {
                reader.accept(table.fileIndex());
            } else if (node instanceof HiveTableRelation relation
                    && relation.tableMeta().storage().locationUri().isDefined()) {
                Path path =
                        new Path(relation.tableMeta().storage().locationUri().get());
                inputs.add(new Input(path, path, Map.of(), NO_RDD));
            }
            return BoxedUnit.UNIT;
        });
        return inputs;
    }

    private static void addAll(Set<Path> roots, Set<Path> files, boolean withJobs, List<Input> inputs) {
        Map<Path, Map<Path, Set<String>>> jobs = new HashMap<>();
        if (withJobs) {
            Map<Path, Path> rootOf = new HashMap<>();
            for (Path file : files) {
                Set<String> found = WrittenFiles.jobs(file.getName());
                if (!found.isEmpty()) {
                    Path directory = file.getParent();
                    // Of a pattern Spark makes a list of files.
                    Path root = roots.contains(file) ? file : rootOf.computeIfAbsent(directory, in -> above(in, roots));
                    jobs.computeIfAbsent(root, none -> new HashMap<>())
                            .computeIfAbsent(WrittenFiles.filesIn(directory), none -> new TreeSet<>())
                            .addAll(found);
                }
            }
        }
        for (Path root : roots) {
            // Another time a pattern may find other files.
            Path place = files.contains(root) ? WrittenFiles.filesIn(root.getParent()) : root;
            Map<Path, Set<String>> below = jobs.getOrDefault(root, Map.of());
            if (below.size() > DIRECTORIES_TOLD) {
                Set<String> all = new TreeSet<>();
                below.values().forEach(all::addAll);
                below = Map.of(root, all);
            }
            inputs.add(new Input(root, place, below, NO_RDD));
        }
    }

    private static Path above(Path directory, Set<Path> roots) {
        Path root = directory;
        while (root != null && !roots.contains(root)) {
            root = root.getParent();
        }
        return root == null ? directory : root;
    }

    /** Files that an RDD and those that it computes from, up to shuffles, read: one of each directory. */
    static Collection<Input> of(RDD<?> last) {
        Map<Path, Input> inputs = new HashMap<>();
        sources(Lineage.ofStage(last))
                .forEach(rdd -> files(rdd, (file, number) -> {
                    Path place = WrittenFiles.filesIn(file.getParent());
                    Input known = inputs.get(place);
                    if (known == null || number < known.rdd()) {
                        Set<String> jobs =
                                known == null ? new TreeSet<>() : known.jobs().get(place);
                        known = new Input(file, place, Map.of(place, jobs), number);
                        inputs.put(place, known);
                    }
                    known.jobs().get(place).addAll(WrittenFiles.jobs(file.getName()));
                }));
        return inputs.values();
    }

    /**
     * Where RDDs alone read, also below shuffles: of those that come back from an earlier driver epoch no stage runs.
     *
     * @param known RDDs that have been looked at; those that are now are added
     */
    static Collection<Path> placesOf(RDD<?> last, Set<RDD<?>> known) {
        Set<Path> places = new HashSet<>();
        Set<RDD<?>> looked = Lineage.ofAll(last, known);
        sources(looked).filter(HadoopInputs::isOne).forEach(rdd -> {
            files(rdd, (file, number) -> places.add(WrittenFiles.filesIn(file.getParent())));
            for (Path each : named(rdd)) {
                // Where nothing is yet no file is read, and what a file is now may be a directory.
                if (!places.contains(WrittenFiles.filesIn(each))) {
                    places.add(each);
                }
            }
        });
        known.addAll(looked);
        return places;
    }

    private static Stream<RDD<?>> sources(Set<RDD<?>> rdds) {
        return rdds.stream().filter(rdd -> rdd.dependencies().isEmpty());
    }

    /** The files and directories that an RDD was told to read, other than by patterns. */
    private static List<Path> named(RDD<?> rdd) {
        try {
            Path[] all = FileInputFormat.getInputPaths(new JobConf(HadoopInputs.conf(rdd)));
            return Arrays.stream(all)
                    .filter(each -> !each.toString().matches(GLOBS))
                    .toList();
        } catch (IllegalArgumentException e) {
            return List.of(); // an input format may have something else there
        }
    }

    /** Takes a file, and the number of the RDD that has listed it. */
    private interface FileReader {
        void accept(Path file, int rdd);
    }

    private static void files(RDD<?> rdd, FileReader reader) {
        FileReader placed = (file, number) -> {
            if (file != null && file.getParent() != null) { // an input format may have splits of nothing
                reader.accept(file, number);
            }
        };
        for (Partition each : rdd.partitions()) {
            files(each, rdd.id(), placed);
        }
    }

    private static void files(Partition partition, int rdd, FileReader reader) {
        if (partition instanceof FilePartition files) {
            for (PartitionedFile file : files.files()) {
                reader.accept(file.toPath(), NO_RDD);
            }
        } else if (partition instanceof HadoopPartition hadoop
                && hadoop.inputSplit().value() instanceof org.apache.hadoop.mapred.FileSplit file) {
            reader.accept(file.getPath(), rdd);
        } else if (partition instanceof NewHadoopPartition hadoop) {
            Object split = hadoop.serializableHadoopSplit().value();
            if (split instanceof org.apache.hadoop.mapreduce.lib.input.FileSplit file) {
                reader.accept(file.getPath(), rdd);
            } else if (split instanceof CombineFileSplit combined) {
                List.of(combined.getPaths()).forEach(path -> reader.accept(path, rdd));
            }
        }
    }
}
