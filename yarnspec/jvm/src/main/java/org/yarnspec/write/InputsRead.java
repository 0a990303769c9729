package org.yarnspec.write;

import java.util.Collection;
import java.util.Collections;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.WeakHashMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import org.apache.hadoop.fs.Path;
import org.apache.spark.rdd.RDD;

/** The places that the program has read, each by one name. */
final class InputsRead {
    private static final int FILES_EACH = 100;

    private final Function<Path, String> name;
    private final int most;
    private final Set<Path> seen = ConcurrentHashMap.newKeySet();
    private final Set<RDD<?>> rdds = Collections.newSetFromMap(Collections.synchronizedMap(new WeakHashMap<>()));
    private final Map<Path, Integer> files = new ConcurrentHashMap<>();
    private final Set<String> told = new TreeSet<>();
    private final Set<String> untold = new TreeSet<>();

    /**
     * @param name always the same for the same place
     * @param most of more places only what is above them is told
     */
    InputsRead(Function<Path, String> name, int most) {
        this.name = name;
        this.most = most;
    }

    void add(Collection<InputPaths.Input> inputs) {
        for (InputPaths.Input each : inputs) {
            add(each.place());
            // What is put in the place of a file may be a directory.
            if (!seen.contains(each.path()) && files.merge(each.place(), 1, Integer::sum) <= FILES_EACH) {
                add(each.path());
            }
        }
    }

    /** Takes in what RDDs read from which this one is computed. */
    void addAll(RDD<?> rdd) {
        InputPaths.placesOf(rdd, rdds).forEach(this::add);
    }

    private void add(Path place) {
        if (!seen.contains(place)) {
            add(nameOf(place));
            seen.add(place);
        }
    }

    private String nameOf(Path place) {
        try {
            return name.apply(place);
        } catch (RuntimeException e) {
            return place.toString(); // its file system is not there: who reads it will be told so
        }
    }

    private synchronized void add(String place) {
        String shortened = place;
        if (told.size() + untold.size() >= most) {
            Path above = new Path(place).getParent();
            shortened = above == null ? place : above.toString();
        }
        if (!told.contains(shortened)) {
            untold.add(shortened);
        }
    }

    /** The places that were not told yet. */
    synchronized Collection<String> takeNew() {
        Collection<String> taken = Set.copyOf(untold);
        told.addAll(taken);
        untold.clear();
        return taken;
    }
}
