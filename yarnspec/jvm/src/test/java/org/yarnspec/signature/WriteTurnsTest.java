package org.yarnspec.signature;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import org.junit.jupiter.api.Test;

/** Which writes of two lives are taken for the same. */
class WriteTurnsTest {
    private final WriteTurns turns = new WriteTurns();
    private final WriteTurns nextLife = new WriteTurns();

    private static WriteTurns.Target done(WriteTurns turns) {
        WriteTurns.Target target = turns.to("out");
        turns.done(target);
        return target;
    }

    @Test
    void whatFailsCountsAsNothing() {
        turns.to("out");
        assertEquals(done(turns), done(nextLife));
        assertEquals(turns.to("out").turn(), nextLife.to("out").turn());
    }

    @Test
    void whatAnEarlierLifeHasDoneCountsWithAllBeforeIt() {
        done(turns);
        nextLife.done("out", done(turns).doneBefore());
        assertEquals(turns.to("out").turn(), nextLife.to("out").turn());
    }

    @Test
    void writesElsewhereDoNotCount() {
        done(turns);
        assertEquals(turns.to("elsewhere").turn(), nextLife.to("elsewhere").turn());
        assertNotEquals(turns.to("out").turn(), nextLife.to("out").turn());
    }
}
