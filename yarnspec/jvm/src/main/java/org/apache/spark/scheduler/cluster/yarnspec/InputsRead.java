package org.apache.spark.scheduler.cluster.yarnspec;

import java.util.Collection;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import org.apache.hadoop.fs.Path;
import org.apache.spark.rdd.HadoopRDD;
import org.apache.spark.rdd.NewHadoopRDD;
import org.apache.spark.rdd.RDD;

/** What the program has read up to now: files and directories, each by one name. Of very many only those above them. */
final class InputsRead {
    private static final int MOST = 256;

    private final Function<Path, String> name;
    private final Set<Path> seen = ConcurrentHashMap.newKeySet();
    private final Set<Integer> rdds = ConcurrentHashMap.newKeySet();
    private Set<String> paths = new TreeSet<>();

    /** @param name always the same for the same place */
    InputsRead(Function<Path, String> name) {
        this.name = name;
    }

    /** Whether an RDD reads files that are not known from anywhere else; true once for each. */
    boolean isNew(RDD<?> rdd) {
        return (rdd instanceof HadoopRDD<?, ?> || rdd instanceof NewHadoopRDD<?, ?>) && rdds.add(rdd.id());
    }

    void add(Collection<Path> read) {
        for (Path each : read) {
            if (seen.add(each)) {
                add(name.apply(each));
            }
        }
    }

    private synchronized void add(String path) {
        paths.add(path);
        Set<String> known = Set.of();
        while (paths.size() > MOST && !paths.equals(known)) {
            known = paths;
            paths = above(paths);
        }
    }

    private static Set<String> above(Set<String> paths) {
        Set<String> above = new TreeSet<>();
        for (String each : paths) {
            Path parent = new Path(each).getParent();
            above.add(parent == null ? each : parent.toString());
        }
        return above;
    }

    synchronized Set<String> paths() {
        return Set.copyOf(paths);
    }
}
