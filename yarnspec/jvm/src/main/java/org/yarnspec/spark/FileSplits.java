package org.yarnspec.spark;

import java.util.List;
import org.apache.hadoop.mapreduce.lib.input.CombineFileSplit;

/**
 * Which of the splits of Hadoop's input formats are parts of files, and nothing else.
 *
 * <p>Hive's tables over HBase, JDBC, Druid or Kafka have splits, too, that extend {@code FileSplit}: their path is only the
 * table's directory. Those of Hudi and Iceberg read more files than they name, and
 * those of Hive's symlink tables others. So only the splits of Hadoop's, Hive's and
 * Parquet's own formats count.
 */
public final class FileSplits {
    private static final List<String> KNOWN = List.of(
            "org.apache.hadoop.mapred.",
            "org.apache.hadoop.mapreduce.",
            "org.apache.hadoop.hive.ql.io.orc.",
            "org.apache.parquet.");

    private FileSplits() {}

    /** Whether the records of this split are those of the files that it names. */
    public static boolean isOfFiles(Object split) {
        return (split instanceof org.apache.hadoop.mapred.FileSplit
                        || split instanceof org.apache.hadoop.mapreduce.lib.input.FileSplit
                        || split instanceof CombineFileSplit)
                && KNOWN.stream().anyMatch(split.getClass().getName()::startsWith);
    }
}
