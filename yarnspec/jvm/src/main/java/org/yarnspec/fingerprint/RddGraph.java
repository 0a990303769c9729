package org.yarnspec.fingerprint;

import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.Dependency;
import org.apache.spark.NarrowDependency;
import org.apache.spark.OneToOneDependency;
import org.apache.spark.Partition;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.api.python.PairwiseRDD;
import org.apache.spark.api.python.PythonRDD;
import org.apache.spark.rdd.CartesianRDD;
import org.apache.spark.rdd.CoalescedRDD;
import org.apache.spark.rdd.EmptyRDD;
import org.apache.spark.rdd.HadoopRDD;
import org.apache.spark.rdd.MapPartitionsRDD;
import org.apache.spark.rdd.NewHadoopRDD;
import org.apache.spark.rdd.ParallelCollectionPartition;
import org.apache.spark.rdd.ParallelCollectionRDD;
import org.apache.spark.rdd.PartitionerAwareUnionRDD;
import org.apache.spark.rdd.RDD;
import org.apache.spark.rdd.ShuffledRDD;
import org.apache.spark.rdd.UnionRDD;
import org.apache.spark.sql.execution.ShuffledRowRDD;
import org.apache.spark.sql.execution.ShuffledRowRDDPartition;
import org.apache.spark.sql.execution.datasources.FilePartition;
import org.apache.spark.sql.execution.datasources.FileScanRDD;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.yarnspec.spark.Fields;
import org.yarnspec.spark.Lineage;
import scala.collection.Iterator;
import scala.jdk.javaapi.CollectionConverters;

/** The RDDs that a stage computes, from its last one down to files, collections and the shuffles that it reads. */
public final class RddGraph {
    /** RDDs that do nothing but what their class, their partitions and their parents tell. */
    private static final Set<Class<?>> PLAIN = Set.of(
            PairwiseRDD.class,
            UnionRDD.class,
            PartitionerAwareUnionRDD.class,
            CoalescedRDD.class,
            CartesianRDD.class,
            EmptyRDD.class,
            ShuffledRDD.class,
            ShuffledRowRDD.class,
            ParallelCollectionRDD.class);

    private final Values values;
    private final ShuffleIdentities shuffles;
    private final HadoopInputs.FileLook inputs;
    private final Map<Integer, Integer> seen = new HashMap<>();
    private final Set<Integer> parents = new LinkedHashSet<>();

    RddGraph(Values values, ShuffleIdentities shuffles, HadoopInputs inputs) {
        this.values = values;
        this.shuffles = shuffles;
        this.inputs = inputs.look(values);
    }

    /** The shuffles that are read, in the order in which the graph names them: the next driver's have other numbers. */
    public Set<Integer> parents() {
        return parents;
    }

    /**
     * Adds an RDD and what it computes from.
     *
     * @param functions whether the functions that it was made with have to be looked at; those of a query's operators
     *     need not, as its plan tells what they do
     */
    public void add(RDD<?> rdd, boolean functions) {
        Fingerprint into = values.into();
        Integer number = seen.putIfAbsent(rdd.id(), seen.size());
        if (number != null) {
            into.add("as before").add(number);
            return;
        }
        into.add("rdd").add(rdd.getClass().getName()).add(rdd.getNumPartitions());
        into.add(rdd.outputDeterministicLevel().toString());
        if (rdd.isBarrier()) {
            throw new Unknown("a barrier stage is below it");
        }
        if (!shuffles.keptAsWell() && Lineage.isCached(rdd)) {
            // What is kept may hold other records than those that the next driver would compute, and others read it
            // too.
            throw new Unknown("it reads a cached RDD");
        }
        if (!shuffles.keptAsWell() && Lineage.isCheckpointed(rdd)) {
            throw new Unknown("it reads from a checkpoint, or what is to become one");
        }
        addOwn(rdd, functions);
        if (rdd.dependencies().isEmpty()) {
            addSource(rdd);
        }
        for (Iterator<Dependency<?>> all = rdd.dependencies().iterator(); all.hasNext(); ) {
            addDependency(rdd, all.next(), functions);
        }
    }

    private void addOwn(RDD<?> rdd, boolean functions) {
        if (rdd instanceof PythonRDD python) {
            values.add(Fields.get(python, "func"));
        } else if (rdd instanceof ShuffledRowRDD) {
            for (Partition each : rdd.partitions()) {
                values.add(((ShuffledRowRDDPartition) each).spec());
            }
        } else if (functions && rdd.getClass() == MapPartitionsRDD.class) {
            values.add(Fields.get(rdd, "f"));
        } else if (functions && !PLAIN.contains(rdd.getClass()) && !HadoopInputs.isOne(rdd)) {
            throw rdd.getClass().getName().startsWith("org.apache.spark.sql.")
                    ? new Unknown("the RDD of a DataFrame is not known")
                    : Unknown.kind("an RDD", rdd);
        }
    }

    private void addSource(RDD<?> rdd) {
        if (rdd instanceof ParallelCollectionRDD<?>) {
            for (Partition each : rdd.partitions()) {
                values.add(CollectionConverters.asJava(((ParallelCollectionPartition<?>) each).values()));
            }
        } else if (rdd instanceof FileScanRDD) {
            addLeniency(rdd, FileScanRDD.class);
            for (Partition each : rdd.partitions()) {
                addFiles((FilePartition) each);
            }
        } else if (HadoopInputs.isOne(rdd)) {
            addLeniency(rdd, rdd instanceof HadoopRDD<?, ?> ? HadoopRDD.class : NewHadoopRDD.class);
            inputs.add(rdd);
        } else if (!(rdd instanceof EmptyRDD<?>)) {
            throw Unknown.kind("a source", rdd);
        }
    }

    /** Whether a damaged or missing file is no error, by Spark's settings or the reader's options; {@code type}: who knows. */
    private void addLeniency(RDD<?> reader, Class<?> type) {
        String prefix = type.getName().replace('.', '$') + "$$";
        for (String each : List.of("ignoreCorruptFiles", "ignoreMissingFiles")) {
            if (!Boolean.FALSE.equals(Fields.get(reader, prefix + each))) {
                values.readInPart();
            }
        }
    }

    private void addFiles(FilePartition partition) {
        Fingerprint into = values.into();
        into.add("files").add(partition.files().length);
        for (PartitionedFile file : partition.files()) {
            into.add(file.filePath().urlEncoded()).add(file.start()).add(file.length());
            into.add(file.modificationTime()).add(file.fileSize());
            values.add(file.partitionValues());
            values.add(file.otherConstantMetadataColumnValues());
        }
    }

    private void addDependency(RDD<?> rdd, Dependency<?> dependency, boolean functions) {
        Fingerprint into = values.into();
        if (dependency instanceof ShuffleDependency<?, ?, ?> shuffle) {
            parents.add(shuffle.shuffleId());
            into.add("shuffle").add(shuffles.of(shuffle.shuffleId()));
            return;
        } else if (dependency instanceof OneToOneDependency<?>) {
            into.add("same");
        } else if (dependency instanceof NarrowDependency<?> narrow) {
            into.add("parents");
            for (int i = 0; i < rdd.getNumPartitions(); i++) {
                values.add(CollectionConverters.asJava(narrow.getParents(i)));
            }
        } else {
            throw Unknown.kind("a dependency", dependency);
        }
        add(dependency.rdd(), functions);
    }
}
