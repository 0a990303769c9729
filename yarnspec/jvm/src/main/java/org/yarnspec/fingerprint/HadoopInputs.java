package org.yarnspec.fingerprint;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.WeakHashMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RemoteIterator;
import org.apache.hadoop.mapreduce.lib.input.CombineFileSplit;
import org.apache.spark.Partition;
import org.apache.spark.rdd.HadoopPartition;
import org.apache.spark.rdd.HadoopRDD;
import org.apache.spark.rdd.NewHadoopPartition;
import org.apache.spark.rdd.NewHadoopRDD;
import org.apache.spark.rdd.RDD;
import org.yarnspec.spark.Fields;
import org.yarnspec.spark.FileSplits;

/**
 * The files that Hadoop's input formats read: which part of which, and whether they are still the same.
 *
 * <p>What counts is what a shuffle's maps have read. They run between two looks: the one of their own driver when it
 * declares the shuffle, and that of the next driver. When both find the same length and time, nobody has changed the file
 * in between, so that this is what was read. That is why every shuffle looks anew, also when an earlier one of the same RDD
 * has looked: a file that the program changes between the two, and puts back later by renaming it, would have the first
 * look's length and time again, and nobody would know that the second shuffle has read something else.
 *
 * <p>Looking costs the driver time, often that of Spark's scheduler. So a directory is listed, not asked for each of its
 * files, and what takes too many files or too long is given up: then it is never looked at again.
 */
public final class HadoopInputs {
    private static final int FILES_MAX = 5_000;
    private static final long TIME_MAX_MS = 10_000;

    /** A directory is listed as long as that is less work than to ask for the files one by one. */
    private static final int ENTRIES_PER_FILE = 100;

    private final HadoopSettings settings = new HadoopSettings();
    private final Map<RDD<?>, String> givenUp = Collections.synchronizedMap(new WeakHashMap<>());
    private final int filesMax;
    private final long timeMaxMs;
    private final boolean allSettings;

    public HadoopInputs() {
        this(FILES_MAX, TIME_MAX_MS);
    }

    /** For those who compare two lives of a program: what other inputs have left among the settings differs there. */
    public static HadoopInputs withSettingsOfFormats() {
        return new HadoopInputs(FILES_MAX, TIME_MAX_MS, false);
    }

    /** Both limits are for all that one shuffle reads. */
    public HadoopInputs(int filesMax, long timeMaxMs) {
        this(filesMax, timeMaxMs, true);
    }

    private HadoopInputs(int filesMax, long timeMaxMs, boolean allSettings) {
        this.allSettings = allSettings;
        this.filesMax = filesMax;
        this.timeMaxMs = timeMaxMs;
    }

    /** Looks at what one shuffle reads. */
    FileLook look(Values values) {
        return new FileLook(values);
    }

    public static boolean isOne(RDD<?> rdd) {
        return rdd instanceof HadoopRDD<?, ?> || rdd instanceof NewHadoopRDD<?, ?>;
    }

    /** The configuration by which an RDD reads that is one of these. */
    public static Configuration conf(RDD<?> rdd) {
        return rdd instanceof HadoopRDD<?, ?> older ? older.getConf() : ((NewHadoopRDD<?, ?>) rdd).getConf();
    }

    /** The settings in which a configuration for Hadoop's formats differs from the cluster's own. */
    public Map<String, String> settings(Configuration conf) {
        return settings.of(conf);
    }

    final class FileLook {
        private final Values values;
        private final List<RDD<?>> rdds = new ArrayList<>();
        private int files;
        private long beganMs;

        private FileLook(Values values) {
            this.values = values;
        }

        void add(RDD<?> rdd) {
            String why = givenUp.get(rdd);
            if (why != null) {
                throw new Unknown(why);
            }
            rdds.add(rdd);
            beganMs = beganMs == 0 ? nowMs() : beganMs;
            checkTime();
            addFormat(rdd);
            Set<Path> read = new LinkedHashSet<>();
            for (Partition each : rdd.partitions()) {
                addPartition(each, read);
            }
            files += read.size();
            if (files > filesMax) {
                throw giveUp("it reads more than " + filesMax + " files that would have to be looked at");
            }
            try {
                Map<Path, FileStatus> found = statuses(read, conf(rdd));
                read.forEach(file -> values.into()
                        .add(found.get(file).getModificationTime())
                        .add(found.get(file).getLen()));
            } catch (IOException e) {
                throw new Unknown("an input file cannot be looked at");
            }
        }

        private void addFormat(RDD<?> rdd) {
            boolean older = rdd instanceof HadoopRDD<?, ?>;
            Class<?> format = (Class<?>)
                    Fields.get(rdd, older ? "inputFormatClass" : "org$apache$spark$rdd$NewHadoopRDD$$inputFormatClass");
            values.add(format);
            values.readBy(format);
            if (older) {
                values.add(Fields.get(rdd, "initLocalJobConfFuncOpt"));
            }
            values.add(allSettings ? settings.of(rdd) : settings.ofFormats(rdd));
        }

        private void addPartition(Partition partition, Set<Path> read) {
            if (partition instanceof HadoopPartition hadoop) {
                addSplit(hadoop.inputSplit().value(), read);
            } else if (partition instanceof NewHadoopPartition hadoop) {
                addSplit(hadoop.serializableHadoopSplit().value(), read);
            } else {
                throw Unknown.kind("a split", partition);
            }
        }

        private void addSplit(Object split, Set<Path> read) {
            if (!FileSplits.isOfFiles(split)) {
                throw Unknown.kind("a split", split);
            } else if (split instanceof org.apache.hadoop.mapred.FileSplit file) {
                addPart(file.getPath(), file.getStart(), file.getLength(), read);
            } else if (split instanceof org.apache.hadoop.mapreduce.lib.input.FileSplit file) {
                addPart(file.getPath(), file.getStart(), file.getLength(), read);
            } else {
                CombineFileSplit combined = (CombineFileSplit) split;
                for (int i = 0; i < combined.getNumPaths(); i++) {
                    addPart(combined.getPath(i), combined.getOffset(i), combined.getLength(i), read);
                }
            }
            values.into().add("split");
        }

        private void addPart(Path path, long start, long length, Set<Path> read) {
            values.into().add(path.toString()).add(start).add(length);
            read.add(path);
        }

        private Map<Path, FileStatus> statuses(Collection<Path> read, Configuration conf) throws IOException {
            Map<Path, Map<String, Path>> directories = new LinkedHashMap<>();
            read.forEach(path -> directories
                    .computeIfAbsent(path.getParent(), each -> new LinkedHashMap<>())
                    .put(path.getName(), path));
            Map<Path, FileStatus> found = new HashMap<>();
            for (Map.Entry<Path, Map<String, Path>> each : directories.entrySet()) {
                FileSystem fileSystem = each.getKey().getFileSystem(conf);
                Map<String, Path> missing = each.getValue();
                if (missing.size() > 1) {
                    list(fileSystem, each.getKey(), missing, found);
                }
                for (Path file : missing.values()) {
                    checkTime();
                    found.put(file, fileSystem.getFileStatus(file));
                }
                checkTime();
            }
            return found;
        }

        /** Finds what it can, and takes that out of what is missing. */
        private void list(
                FileSystem fileSystem, Path directory, Map<String, Path> missing, Map<Path, FileStatus> found) {
            try {
                RemoteIterator<FileStatus> entries = fileSystem.listStatusIterator(directory);
                for (long left = (long) ENTRIES_PER_FILE * missing.size(); left > 0 && !missing.isEmpty(); left--) {
                    if (!entries.hasNext()) {
                        return;
                    }
                    FileStatus entry = entries.next();
                    Path file = missing.remove(entry.getPath().getName());
                    if (file != null) {
                        found.put(file, entry);
                    }
                }
            } catch (IOException e) {
                // Who may not list a directory may still look at its files.
            }
        }

        private void checkTime() {
            if (nowMs() - beganMs > timeMaxMs) {
                throw giveUp("its files could not be looked at within " + timeMaxMs / 1000 + " s");
            }
        }

        /** For all that has been looked at: the next shuffle above one of them would take as long. */
        private Unknown giveUp(String why) {
            rdds.forEach(each -> givenUp.put(each, why));
            return new Unknown(why);
        }

        private static long nowMs() {
            return System.nanoTime() / 1_000_000;
        }
    }
}
