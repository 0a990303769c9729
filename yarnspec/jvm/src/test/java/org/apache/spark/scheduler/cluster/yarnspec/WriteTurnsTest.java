package org.apache.spark.scheduler.cluster.yarnspec;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import org.junit.jupiter.api.Test;

/** Which writes of two lives are taken for the same. */
class WriteTurnsTest {
    private final WriteTurns turns = new WriteTurns();
    private final WriteTurns nextLife = new WriteTurns();

    private static WriteTurns.Target done(WriteTurns turns) {
        WriteTurns.Target target = turns.next("out");
        turns.done(target);
        return target;
    }

    @Test
    void whatFailsInOneLifeAloneShiftsNothingAfterIt() {
        WriteTurns.Target failed = turns.next("out");
        assertNotEquals(failed, done(turns));
        assertEquals(failed, done(nextLife));
        assertEquals(turns.next("out"), nextLife.next("out"));
    }

    @Test
    void whatAnEarlierLifeHasDoneCountsWithAllBeforeIt() {
        done(turns);
        nextLife.done("out", done(turns).doneBefore());
        assertEquals(turns.next("out"), nextLife.next("out"));
    }

    @Test
    void writesElsewhereDoNotCount() {
        done(turns);
        assertEquals(turns.next("elsewhere"), nextLife.next("elsewhere"));
        assertNotEquals(turns.next("out"), nextLife.next("out"));
    }
}
