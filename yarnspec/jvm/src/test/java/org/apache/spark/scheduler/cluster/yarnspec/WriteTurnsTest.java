package org.apache.spark.scheduler.cluster.yarnspec;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import java.util.Map;
import org.junit.jupiter.api.Test;

/** Which shuffles of two lives are taken for those of the same write. */
class WriteTurnsTest {
    private final WriteTurns turns = new WriteTurns();
    private final WriteTurns nextLife = new WriteTurns();

    private static String tried(WriteTurns turns) {
        return turns.to("out").own("s");
    }

    /** What the journal gets of it. */
    private static Map<String, Integer> done(WriteTurns turns) {
        WriteTurns.Target target = turns.to("out");
        target.own("s");
        turns.done(target.doneBefore());
        return target.doneBefore();
    }

    @Test
    void whatFailsInOneLifeAloneShiftsNothingAfterIt() {
        assertNotEquals(tried(turns), tried(turns));
        done(turns);
        done(nextLife);
        assertEquals(tried(turns), tried(nextLife));
    }

    /** As where an RDD is saved again: its shuffle is there. */
    @Test
    void norDoesWhatIsTriedAgainWithTheSameShuffle() {
        String own = tried(turns);
        WriteTurns.Target again = turns.to("out");
        again.reads(own);
        turns.done(again.doneBefore());
        done(nextLife);
        assertEquals(tried(turns), tried(nextLife));
    }

    @Test
    void whatAnEarlierLifeHasDoneCountsWithAllBeforeIt() {
        done(turns);
        nextLife.done(done(turns));
        assertEquals(tried(turns), tried(nextLife));
    }

    @Test
    void oneWriteHasOneTurnForAllThatAreAlike() {
        WriteTurns.Target target = turns.to("out");
        assertEquals(target.own("s"), target.own("s"));
        assertNotEquals(target.own("s"), tried(turns));
    }

    @Test
    void writesWithOtherShufflesMayComeInAnyOrder() {
        done(turns);
        assertEquals(turns.to("out").own("other"), nextLife.to("out").own("other"));
        assertNotEquals(tried(turns), tried(nextLife));
    }
}
