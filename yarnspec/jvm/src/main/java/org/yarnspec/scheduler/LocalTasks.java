package org.yarnspec.scheduler;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import scala.jdk.javaapi.CollectionConverters;

/**
 * How many tasks of a resource profile's stages have data on some hosts, and how many of them on each host: {@code
 * LocalTasks} of core/messages/events.py. Dynamic allocation counts them.
 */
record LocalTasks(int profile, int tasks, Map<String, Integer> hosts) {
    /** Where data lie on more hosts, those with the fewest tasks are left out: a message has to stay small. */
    static final int MOST_HOSTS = 64;

    private static final Comparator<Map.Entry<String, Integer>> MOST_TASKS_FIRST = Map.Entry.<String, Integer>comparingByValue()
            .reversed()
            .thenComparing(Map.Entry.comparingByKey());

    /**
     * @param tasks how many tasks have such data, by profile
     * @param hosts how many of them have data on a host, by profile
     */
    static List<LocalTasks> of(
            scala.collection.Map<Object, Object> tasks,
            scala.collection.Map<Object, ? extends scala.collection.Map<String, Object>> hosts) {
        List<LocalTasks> found = new ArrayList<>();
        CollectionConverters.asJava(hosts).forEach((profile, counts) -> {
            Map<String, Integer> most = new LinkedHashMap<>();
            Map<String, Integer> all = new LinkedHashMap<>();
            CollectionConverters.asJava(counts).forEach((host, count) -> all.put(host, (Integer) count));
            all.entrySet().stream()
                    .sorted(MOST_TASKS_FIRST)
                    .limit(MOST_HOSTS)
                    .forEach(each -> most.put(each.getKey(), each.getValue()));
            if (!most.isEmpty() && tasks.contains(profile)) {
                found.add(new LocalTasks((Integer) profile, (Integer) tasks.apply(profile), most));
            }
        });
        return found;
    }

    void tell(ObjectNode told) {
        told.put("profile", profile).put("tasks", tasks);
        ObjectNode counts = told.putObject("hosts");
        hosts.forEach(counts::put);
    }
}
