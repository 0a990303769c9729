package org.yarnspec.scheduler;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import scala.jdk.javaapi.CollectionConverters;

/**
 * How many tasks of a resource profile's stages have data on hosts, and how many of them on each host: {@code
 * LocalTasks} of core/messages/events.py. Dynamic allocation counts them.
 */
record LocalTasks(int profile, int tasks, int total, Map<String, Integer> hosts) {
    /** Where data lie on more hosts, those with the fewest tasks are left out: a message has to stay small. */
    static final int MOST_HOSTS = 64;

    private static final Comparator<Map.Entry<String, Object>> MOST_TASKS_FIRST = Comparator.comparingInt(
                    (Map.Entry<String, Object> each) -> -(Integer) each.getValue())
            .thenComparing(Map.Entry.comparingByKey());

    /**
     * @param tasks how many tasks have such data, by profile
     * @param hosts how many of them have data on a host, by profile
     */
    static List<LocalTasks> of(
            scala.collection.Map<Object, Object> tasks,
            scala.collection.Map<Object, ? extends scala.collection.Map<String, Object>> hosts) {
        List<LocalTasks> found = new ArrayList<>();
        CollectionConverters.asJava(hosts).forEach((profile, all) -> {
            Map<String, Integer> most = new LinkedHashMap<>();
            Map<String, Object> counts = CollectionConverters.asJava(all);
            counts.entrySet().stream()
                    .sorted(MOST_TASKS_FIRST)
                    .limit(MOST_HOSTS)
                    .forEach(each -> most.put(each.getKey(), (Integer) each.getValue()));
            if (!most.isEmpty() && tasks.contains(profile)) {
                int total = counts.values().stream()
                        .mapToInt(count -> (Integer) count)
                        .sum();
                found.add(new LocalTasks((Integer) profile, (Integer) tasks.apply(profile), total, most));
            }
        });
        return found;
    }

    void tell(ObjectNode told) {
        told.put("profile", profile).put("tasks", tasks).put("total", total);
        ObjectNode counts = told.putObject("hosts");
        hosts.forEach(counts::put);
    }
}
