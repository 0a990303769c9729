package org.apache.spark.scheduler.cluster.yarnspec;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import org.junit.jupiter.api.Test;

/** Which writes of two lives are taken for the same. */
class WriteTurnsTest {
    private final WriteTurns turns = new WriteTurns();
    private final WriteTurns nextLife = new WriteTurns();

    private static String next(WriteTurns turns) {
        return turns.next("out").turn();
    }

    private static WriteTurns.Target done(WriteTurns turns) {
        WriteTurns.Target target = turns.next("out");
        turns.done(target);
        return target;
    }

    @Test
    void whatFailsInOneLifeAloneShiftsNothingAfterIt() {
        String failed = next(turns);
        assertNotEquals(failed, done(turns).turn());
        assertEquals(failed, done(nextLife).turn());
        assertEquals(next(turns), next(nextLife));
    }

    @Test
    void whatAnEarlierLifeHasDoneCountsWithAllBeforeIt() {
        done(turns);
        nextLife.done("out", done(turns).doneBefore());
        assertEquals(next(turns), next(nextLife));
    }

    @Test
    void whatIsDoneCountsOnce() {
        turns.done(done(turns));
        done(nextLife);
        assertEquals(next(turns), next(nextLife));
    }

    @Test
    void writesElsewhereDoNotCount() {
        done(turns);
        assertEquals(turns.next("elsewhere").turn(), nextLife.next("elsewhere").turn());
        assertNotEquals(next(turns), next(nextLife));
    }

    @Test
    void whatIsMadeEarlyIsNumberedElsewhereUnlessAWriteHasFailed() {
        done(turns);
        assertEquals(turns.early("out").turn(), nextLife.early("out").turn());
        turns.failed("out");
        assertNotEquals(turns.early("out").turn(), nextLife.early("out").turn());
        assertEquals(turns.early("elsewhere").turn(), nextLife.early("elsewhere").turn());
    }
}
