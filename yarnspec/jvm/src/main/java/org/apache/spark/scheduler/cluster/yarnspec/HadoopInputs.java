package org.apache.spark.scheduler.cluster.yarnspec;

import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapreduce.lib.input.CombineFileSplit;
import org.apache.spark.Partition;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.rdd.HadoopPartition;
import org.apache.spark.rdd.HadoopRDD;
import org.apache.spark.rdd.NewHadoopPartition;
import org.apache.spark.rdd.NewHadoopRDD;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.execution.datasources.FilePartition;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import scala.runtime.BoxedUnit;

/** The files that a Hadoop input format reads: which part of which, and whether they are still the same. */
final class HadoopInputs {
    /** Which keys of Hadoop's configuration change what is read from a file. */
    private static final List<String> KEYS = List.of(
            "mapreduce.input.", "mapred.input.", "mapred.min.split", "mapred.max.split", "textinputformat.",
            "key.value.separator", "io.compression.", "io.serializations", "parquet.", "avro.", "orc.");

    private final Values values;
    private final Set<String> files = new HashSet<>();

    HadoopInputs(Values values) {
        this.values = values;
    }

    /** Files that an RDD and those that it computes from, up to shuffles, read: one of each directory. */
    static Collection<Path> paths(RDD<?> last) {
        Map<Path, Path> paths = new HashMap<>();
        Set<Integer> seen = new HashSet<>();
        ArrayDeque<RDD<?>> left = new ArrayDeque<>(List.of(last));
        while (!left.isEmpty()) {
            RDD<?> rdd = left.pop();
            if (!seen.add(rdd.id())) {
                continue;
            }
            if (rdd.dependencies().isEmpty()) {
                for (Partition each : rdd.partitions()) {
                    addPaths(each, paths);
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

    private static void addPaths(Partition partition, Map<Path, Path> paths) {
        if (partition instanceof FilePartition files) {
            for (PartitionedFile file : files.files()) {
                addPath(file.toPath(), paths);
            }
        } else if (partition instanceof HadoopPartition hadoop
                && hadoop.inputSplit().value() instanceof org.apache.hadoop.mapred.FileSplit file) {
            addPath(file.getPath(), paths);
        } else if (partition instanceof NewHadoopPartition hadoop) {
            Object split = hadoop.serializableHadoopSplit().value();
            if (split instanceof org.apache.hadoop.mapreduce.lib.input.FileSplit file) {
                addPath(file.getPath(), paths);
            } else if (split instanceof CombineFileSplit combined) {
                List.of(combined.getPaths()).forEach(path -> addPath(path, paths));
            }
        }
    }

    private static void addPath(Path file, Map<Path, Path> paths) {
        paths.putIfAbsent(file.getParent(), file);
    }

    void add(RDD<?> rdd) {
        Configuration conf;
        if (rdd instanceof HadoopRDD<?, ?> older) {
            values.add(Fields.get(rdd, "inputFormatClass"));
            values.add(Fields.get(rdd, "initLocalJobConfFuncOpt"));
            conf = older.getConf();
        } else {
            values.add(Fields.get(rdd, "org$apache$spark$rdd$NewHadoopRDD$$inputFormatClass"));
            conf = ((NewHadoopRDD<?, ?>) rdd).getConf();
        }
        addConfiguration(conf);
        try {
            for (Partition each : rdd.partitions()) {
                if (each instanceof HadoopPartition hadoop) {
                    addSplit(hadoop.inputSplit().value(), conf);
                } else if (each instanceof NewHadoopPartition hadoop) {
                    addSplit(hadoop.serializableHadoopSplit().value(), conf);
                } else {
                    throw Unknown.kind("a split", each);
                }
            }
        } catch (IOException e) {
            throw new Unknown("an input file cannot be looked at");
        }
    }

    private void addConfiguration(Configuration conf) {
        Map<String, String> chosen = new TreeMap<>();
        for (Map.Entry<String, String> entry : conf) {
            if (KEYS.stream().anyMatch(entry.getKey()::startsWith)) {
                chosen.put(entry.getKey(), entry.getValue());
            }
        }
        values.add(chosen);
    }

    private void addSplit(Object split, Configuration conf) throws IOException {
        if (split instanceof org.apache.hadoop.mapred.FileSplit file) {
            addPart(file.getPath(), file.getStart(), file.getLength(), conf);
        } else if (split instanceof org.apache.hadoop.mapreduce.lib.input.FileSplit file) {
            addPart(file.getPath(), file.getStart(), file.getLength(), conf);
        } else if (split instanceof CombineFileSplit combined) {
            for (int i = 0; i < combined.getNumPaths(); i++) {
                addPart(combined.getPath(i), combined.getOffset(i), combined.getLength(i), conf);
            }
        } else {
            throw Unknown.kind("a split", split);
        }
        values.into().add("split");
    }

    private void addPart(Path path, long start, long length, Configuration conf) throws IOException {
        Fingerprint into = values.into();
        into.add(path.toString()).add(start).add(length);
        if (files.add(path.toString())) {
            FileStatus status = path.getFileSystem(conf).getFileStatus(path);
            into.add(status.getModificationTime()).add(status.getLen());
        }
    }
}
