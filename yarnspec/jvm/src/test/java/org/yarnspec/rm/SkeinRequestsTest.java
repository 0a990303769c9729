package org.yarnspec.rm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.Map;
import java.util.TreeMap;
import org.apache.hadoop.yarn.api.records.Priority;
import org.junit.jupiter.api.Test;

class SkeinRequestsTest {

    /** As Skein's application master has them: the services by priority, and in each its containers by priority. */
    static final class Master {
        private final TreeMap<Priority, ServiceTracker> priorities = new TreeMap<>();

        static final class ServiceTracker {
            private final TreeMap<Priority, Model.Container> requested = new TreeMap<>();
        }
    }

    @Test
    void aRequestsProfileStandsInTheEnvironmentOfItsContainer() throws Exception {
        Master master = new Master();
        Master.ServiceTracker service = new Master.ServiceTracker();
        for (int priority = 1; priority <= 3; priority++) {
            master.priorities.put(Priority.newInstance(priority), service);
        }
        service.requested.put(Priority.newInstance(1), new Model.Container(Map.of("YARNSPEC_PROFILE", "7")));
        service.requested.put(Priority.newInstance(2), new Model.Container(Map.of("YARNSPEC_EXECUTOR_ID", "2")));
        SkeinRequests requests = new SkeinRequests();
        requests.find(master);
        assertEquals(7, requests.applyAsInt(1));
        assertEquals(0, requests.applyAsInt(2));
        assertEquals(0, requests.applyAsInt(3), "it is not among the requested ones any more");
        assertEquals(0, requests.applyAsInt(4));
    }

    @Test
    void anotherSkeinIsAnError() {
        assertThrows(NoSuchFieldException.class, () -> new SkeinRequests().find(new Object()));
    }
}

/** Named as Skein's. */
final class Model {
    private Model() {}

    public record Container(Map<String, String> getEnv) {}
}
