package org.yarnspec.scheduler;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.yarnspec.spark.Scala;

class LocalTasksTest {
    private static List<LocalTasks> found(Map<Object, Object> tasks, Map<Object, Map<String, Object>> hosts) {
        Map<Object, scala.collection.immutable.Map<String, Object>> counts = new HashMap<>();
        hosts.forEach((profile, each) -> counts.put(profile, Scala.copyOf(each)));
        return LocalTasks.of(Scala.copyOf(tasks), Scala.copyOf(counts));
    }

    @Test
    void aProfileIsToldWithItsTasksAndTheHostsOfTheirData() {
        List<LocalTasks> found = found(Map.of(0, 5, 1, 0), Map.of(0, Map.of("a", 2, "b", 5), 1, Map.of()));
        assertEquals(List.of(new LocalTasks(0, 5, 7, Map.of("a", 2, "b", 5))), found);
        ObjectNode told = new ObjectMapper().createObjectNode();
        found.get(0).tell(told);
        assertEquals("{\"profile\":0,\"tasks\":5,\"total\":7,\"hosts\":{\"b\":5,\"a\":2}}", told.toString());
    }

    @Test
    void ofVeryManyHostsThoseWithTheMostTasksAreTold() {
        Map<String, Object> many = new HashMap<>();
        for (int i = 0; i <= LocalTasks.MOST_HOSTS; i++) {
            many.put("h" + i, 1 + i);
        }
        LocalTasks told = found(Map.of(0, 99), Map.of(0, many)).get(0);
        assertEquals(LocalTasks.MOST_HOSTS, told.hosts().size());
        assertFalse(told.hosts().containsKey("h0"));
        int all = LocalTasks.MOST_HOSTS + 1;
        assertEquals(all * (all + 1) / 2, told.total());
    }
}
