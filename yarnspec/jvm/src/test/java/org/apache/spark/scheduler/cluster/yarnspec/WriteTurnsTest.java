package org.apache.spark.scheduler.cluster.yarnspec;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import org.junit.jupiter.api.Test;

/** Which writes of two lives are taken for the same. */
class WriteTurnsTest {
    private final WriteTurns turns = new WriteTurns();
    private final WriteTurns nextLife = new WriteTurns();

    private static String next(WriteTurns turns) {
        return turns.next("out", "s").text();
    }

    private static WriteTurns.Turn done(WriteTurns turns) {
        WriteTurns.Turn turn = turns.next("out", "s");
        turns.done(turn, turn.done());
        return turn;
    }

    @Test
    void whatFailsInOneLifeAloneShiftsNothingAfterIt() {
        String failed = next(turns);
        assertNotEquals(failed, done(turns).text());
        assertEquals(failed, done(nextLife).text());
        assertEquals(next(turns), next(nextLife));
    }

    @Test
    void whatAnEarlierLifeHasDoneCountsWithAllBeforeIt() {
        done(turns);
        int before = done(turns).done();
        nextLife.done(nextLife.next("out", "s"), before);
        assertEquals(next(turns), next(nextLife));
    }

    @Test
    void writesOfSomethingElseMayComeInAnyOrder() {
        String first = next(turns);
        String other = turns.next("out", "other").text();
        assertEquals(other, nextLife.next("out", "other").text());
        assertEquals(first, next(nextLife));
        assertNotEquals(first, turns.next("elsewhere", "s").text());
    }

    /** It may be what was known in the other life. */
    @Test
    void oneOfWhichNothingIsKnownIsTakenForAnyOther() {
        turns.next("out", "");
        assertNotEquals(next(turns), next(nextLife));
    }
}
