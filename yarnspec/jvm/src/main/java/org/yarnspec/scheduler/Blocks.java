package org.yarnspec.scheduler;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/** Where no task starts: at all, none of a stage, or not one certain task; by host and by executor. */
public record Blocks(Places all, Map<Integer, Places> stages, Map<Integer, Map<Integer, Places>> tasks) {
    public static final Blocks NONE = new Blocks(new Places(Set.of(), Set.of()), Map.of(), Map.of());

    /** Hosts and executors. */
    public record Places(Set<String> hosts, Set<String> executors) {
        boolean hold(String host, String executorId) {
            return hosts.contains(host) || executors.contains(executorId);
        }

        private boolean cover(Places others) {
            return others == null || hosts.containsAll(others.hosts) && executors.containsAll(others.executors);
        }

        private Places and(Places others) {
            if (others == null) {
                return this;
            }
            Places both = new Places(new HashSet<>(hosts), new HashSet<>(executors));
            both.hosts.addAll(others.hosts);
            both.executors.addAll(others.executors);
            return both;
        }

        private static Places of(JsonNode json) {
            return new Places(texts(json.path("hosts")), texts(json.path("executors")));
        }

        private static Set<String> texts(JsonNode array) {
            Set<String> texts = new HashSet<>();
            array.forEach(text -> texts.add(text.asText()));
            return texts;
        }
    }

    /** Reads what the bridge's {@code setBlocks} is given; a stage's {@code index} is null when all its tasks are meant. */
    public static Blocks of(JsonNode json) {
        Map<Integer, Places> stages = new HashMap<>();
        Map<Integer, Map<Integer, Places>> tasks = new HashMap<>();
        for (JsonNode each : json.path("stages")) {
            int stage = each.path("stage").intValue();
            Places places = Places.of(each);
            if (each.path("index").isInt()) {
                tasks.computeIfAbsent(stage, key -> new HashMap<>())
                        .merge(each.path("index").intValue(), places, Places::and);
            } else {
                stages.merge(stage, places, Places::and);
            }
        }
        return new Blocks(Places.of(json), stages, tasks);
    }

    /** The part that outlives a SparkContext: the next one numbers its stages from 0 again. */
    public Blocks withoutStages() {
        return new Blocks(all, Map.of(), Map.of());
    }

    /** The blocks that hold for all tasks of a stage, or for all stages. */
    Blocks withoutTasks() {
        return new Blocks(all, stages, Map.of());
    }

    boolean isEmpty() {
        return all.hosts.isEmpty() && all.executors.isEmpty() && stages.isEmpty() && tasks.isEmpty();
    }

    /** True when no task of the stage may start anywhere on the host. */
    boolean keepOutAll(int stage, String host) {
        return all.hosts.contains(host) || keepOut(stage, host, null);
    }

    /** True when no task of the stage may start there. */
    boolean keepOut(int stage, String host, String executorId) {
        Places places = stages.get(stage);
        return places != null && places.hold(host, executorId);
    }

    /** True when this task may not start there, although others of its stage may. */
    boolean keepOut(int stage, int index, String host, String executorId) {
        Places places = tasks.getOrDefault(stage, Map.of()).get(index);
        return places != null && places.hold(host, executorId);
    }

    boolean hasTasksOf(int stage) {
        return tasks.containsKey(stage);
    }

    /** True when everything that was blocked before still is, by the same entry or a wider one of the same kind. */
    boolean cover(Blocks earlier) {
        return all.cover(earlier.all)
                && earlier.stages.entrySet().stream()
                        .allMatch(entry -> covers(stages.get(entry.getKey()), entry.getValue()))
                && earlier.tasks.entrySet().stream().allMatch(stage -> stage.getValue().entrySet().stream()
                        .allMatch(task -> covers(
                                tasks.getOrDefault(stage.getKey(), Map.of()).get(task.getKey()), task.getValue())));
    }

    private static boolean covers(Places now, Places before) {
        return now != null && now.cover(before);
    }
}
