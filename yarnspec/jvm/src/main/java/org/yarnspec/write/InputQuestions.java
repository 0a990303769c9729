package org.yarnspec.write;

import com.google.common.collect.MapMaker;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.fs.Path;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/** The places that the program reads: remembered for the next driver, and asked about if an earlier one wrote there. */
final class InputQuestions {
    private static final int PLACES_READ = 10_000;

    private final WriteQuestions questions;
    private final QualifiedPaths names;
    private final InputsRead read;
    private final Set<Object> told =
            Collections.newSetFromMap(new MapMaker().weakKeys().makeMap());
    private final Set<Object> asked =
            Collections.newSetFromMap(new MapMaker().weakKeys().makeMap());
    private final Set<String> paths = ConcurrentHashMap.newKeySet();
    private final Map<String, Set<String>> jobsIn = new ConcurrentHashMap<>();
    /** Outputs to which an earlier driver has added, with the number of the first RDD that is made after that. */
    private final Map<String, Integer> notAddedAgain = new ConcurrentHashMap<>();

    /** By the number of a write that has failed. */
    private final Map<Integer, InPart> refused = new ConcurrentHashMap<>();

    /** Places at a path, or elsewhere, were overwritten in part: why nothing may be read at or below these, or above. */
    private record InPart(
            String path, String job, boolean onlyPlaces, Set<String> places, Set<String> elsewhere, String why) {
        boolean touches(String name) {
            return overlap(name, path) || elsewhere.stream().anyMatch(each -> overlap(name, each));
        }
    }

    private static boolean overlap(String one, String other) {
        return isWithin(one, other) || isWithin(other, one);
    }

    private static boolean isWithin(String path, String above) {
        return (path + "/").startsWith(above + "/");
    }

    InputQuestions(WriteQuestions questions, QualifiedPaths names) {
        this.questions = questions;
        this.names = names;
        this.read = new InputsRead(names::of, PLACES_READ);
    }

    /** The program goes on with another context, which counts its RDDs anew. */
    void follow() {
        notAddedAgain.replaceAll((path, rdd) -> 0); // they are made after all that
    }

    /** An addition to an output is not made again; {@code rdd}: the first number of those that are made from now on. */
    void notAddedAgain(String path, int rdd) {
        notAddedAgain.put(path, rdd);
    }

    /** @param onlyPlaces whether nothing but these was to be overwritten, or made */
    void refuse(int write, String path, String job, boolean onlyPlaces, Collection<Path> places, String why) {
        Set<String> all = namesOf(places);
        Set<String> elsewhere = new TreeSet<>(all);
        elsewhere.removeIf(each -> isWithin(each, path));
        refused.put(write, new InPart(path, job, onlyPlaces, all, elsewhere, why));
    }

    private Set<String> namesOf(Collection<Path> places) {
        Set<String> found = new TreeSet<>();
        places.forEach(each -> found.add(names.of(each)));
        return found;
    }

    void allow(int write) {
        refused.remove(write);
    }

    void allow(String path) {
        refused.values().removeIf(each -> isWithin(each.path(), path));
    }

    /** All in these places has been overwritten since; returns the jobs of those for which that was all. */
    List<String> allow(String path, Collection<Path> places) {
        Set<String> replaced = namesOf(places);
        List<String> jobs = new ArrayList<>();
        refused.values().removeIf(each -> {
            boolean isAll = each.onlyPlaces() && each.path().equals(path) && replaced.containsAll(each.places());
            if (isAll) {
                jobs.add(each.job());
            }
            return isAll;
        });
        return jobs;
    }

    /** Forgets the answers: they do not hold any more. */
    void askAgain() {
        asked.clear();
        paths.clear();
        jobsIn.clear();
    }

    /** A DataFrame gets these inputs. Asked for each step of it, so what was listed is looked at once. */
    void reads(LogicalPlan plan) {
        if (!refused.isEmpty()) {
            InputPaths.of(plan, false, Set.of(), new ArrayList<>()).forEach(this::check);
        }
        boolean asks = questions.pending();
        Set<Object> known = asks ? asked : told;
        List<Object> listings = new ArrayList<>();
        Collection<InputPaths.Input> all = InputPaths.of(plan, asks, known, listings);
        read.add(all);
        if (asks) {
            ask(all);
        }
        known.addAll(listings);
    }

    /** RDDs are read of which no stage runs. */
    void reads(RDD<?> rdd) {
        read.addAll(rdd);
    }

    /** Why a stage must not run, of which this is the last RDD; empty when it may. */
    String refusalOf(RDD<?> last) {
        try {
            read.addAll(last);
            boolean asks = questions.pending();
            if (!asks && notAddedAgain.isEmpty() && refused.isEmpty()) {
                return "";
            }
            Collection<InputPaths.Input> all = InputPaths.of(last);
            for (InputPaths.Input each : all) {
                check(each);
                String path = names.of(each.path());
                if (isOlderThanAddition(each.rdd(), path)) {
                    return "yarnspec: what an earlier driver has added to the inputs is not added again, and whether "
                            + path
                            + " is to be read cannot be told: the RDD that reads it was made before the addition";
                }
            }
            if (asks) {
                ask(all);
            }
            return "";
        } catch (Exception e) { // Scala throws any of them anywhere
            return String.valueOf(e.getMessage()); // null would mean that it may run
        }
    }

    private void check(InputPaths.Input input) {
        checkPath(names.of(input.path()));
    }

    /** @throws IllegalStateException nothing may be read there */
    void checkPath(String path) {
        refused.values().forEach(each -> {
            if (each.touches(path)) {
                throw new IllegalStateException(each.why());
            }
        });
    }

    private boolean isOlderThanAddition(int rdd, String file) {
        return notAddedAgain.entrySet().stream()
                .anyMatch(each -> rdd < each.getValue() && file.startsWith(each.getKey() + "/"));
    }

    /** Has it decided whether inputs may be read that nobody has asked about yet. */
    private void ask(Collection<InputPaths.Input> all) {
        Set<String> newPaths = new TreeSet<>();
        Map<String, Set<String>> held = new TreeMap<>();
        for (InputPaths.Input each : all) {
            newPaths.add(names.of(each.path()));
            each.jobs().forEach((place, jobs) -> held.computeIfAbsent(names.of(place), none -> new TreeSet<>())
                    .addAll(jobs));
        }
        newPaths.removeAll(paths);
        held.forEach((place, jobs) -> jobs.removeAll(jobsIn.getOrDefault(place, Set.of())));
        held.values().removeIf(Set::isEmpty);
        if (newPaths.isEmpty() && held.isEmpty()) {
            return;
        }
        questions.ask("input_read", event -> {
            var array = event.putArray("paths");
            newPaths.forEach(array::add);
            var places = event.putArray("held");
            held.forEach((place, jobs) -> {
                var one = places.addObject().put("place", place).putArray("jobs");
                jobs.forEach(one::add);
            });
        });
        paths.addAll(newPaths);
        held.forEach((place, jobs) -> jobsIn.computeIfAbsent(place, none -> ConcurrentHashMap.newKeySet())
                .addAll(jobs));
    }

    /** Places that were read, and not given here yet. */
    Collection<String> takeNew() {
        return read.takeNew();
    }
}
