package org.apache.spark.scheduler.cluster.yarnspec;

import java.io.IOException;
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
import org.apache.spark.rdd.HadoopPartition;
import org.apache.spark.rdd.HadoopRDD;
import org.apache.spark.rdd.NewHadoopPartition;
import org.apache.spark.rdd.NewHadoopRDD;
import org.apache.spark.rdd.RDD;

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
