package org.yarnspec.rm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.TreeMap;
import org.apache.hadoop.yarn.api.records.Priority;
import org.junit.jupiter.api.Test;

class SkeinPrioritiesTest {

    /** Shaped like Skein's application master where it matters. */
    static final class PriorityMaster {
        private final TreeMap<Priority, String> priorities = new TreeMap<>();

        int next() {
            return priorities.lastKey().getPriority() + 1;
        }
    }

    @Test
    void theLastKeyIsTheHighestNumberAfterwards() throws Exception {
        PriorityMaster master = new PriorityMaster();
        master.priorities.put(Priority.newInstance(1), "first");
        master.priorities.put(Priority.newInstance(2), "second");
        assertEquals(2, master.next(), "the mistake: 2 is in use");
        SkeinPriorities.cure(master);
        assertEquals(3, master.next());
        assertEquals("first", master.priorities.get(Priority.newInstance(1)));
    }

    @Test
    void anotherSkeinIsAnError() {
        assertThrows(NoSuchFieldException.class, () -> SkeinPriorities.cure(new Object()));
        assertThrows(NoSuchFieldException.class, SkeinMaster::ofThisThread);
    }
}
