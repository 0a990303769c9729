package org.yarnspec.feed;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class RowQueueTest {
    private final RowQueue queue = new RowQueue(new NameDictionary(), 100);

    private void add(Row.RowKind kind, int count, String text) {
        Row row = new Row();
        for (int i = 0; i < count; i++) {
            queue.add(row.begin(kind, 1L, 2, 0).text(text));
        }
    }

    @Test
    void countersMakeRoomForStartsAndBothForEnds() {
        add(Row.RowKind.TASK_COUNTERS, 200, null);
        assertEquals(50, queue.accepted());
        assertEquals(0, queue.dropped()); // the next heartbeat tells them again
        add(Row.RowKind.TASK_STARTED, 200, null);
        assertEquals(75, queue.accepted());
        assertEquals(175, queue.dropped());
        add(Row.RowKind.STAGE_STARTED, 1, null);
        add(Row.RowKind.STAGE_ENDED, 1, null);
        add(Row.RowKind.TASK_ENDED, 23, null);
        assertEquals(100, queue.accepted());
        assertEquals(175, queue.dropped());
        add(Row.RowKind.TASK_ENDED, 1, null);
        assertEquals(176, queue.dropped());
    }

    @Test
    void thereIsRoomAgainWhenRowsWereSent() throws Exception {
        add(Row.RowKind.TASK_ENDED, 100, null);
        add(Row.RowKind.TASK_COUNTERS, 1, null);
        queue.sent(queue.take(0));
        add(Row.RowKind.TASK_COUNTERS, 1, null);
        assertEquals(101, queue.accepted());
    }

    @Test
    void aRowMayLoseItsTextOnly() throws Exception {
        add(Row.RowKind.TASK_ENDED, 1, "x".repeat(1_600));
        add(Row.RowKind.TASK_ENDED, 1, "x");
        RowBlock block = queue.take(1_000);
        assertEquals(2, block.rows());
        assertEquals(1_600, block.text(0).length());
        assertNull(block.text(1));
    }

    @Test
    void itsBoundFollowsTheHeap() {
        long heap = 512L << 20;
        assertTrue((long) RowQueue.rowsMax(heap) * RowBlock.ROW_BYTES <= heap / 8);
        assertEquals(RowQueue.rowsMax(heap) / 2, RowQueue.rowsMax(heap / 2), 1);
        assertEquals(2_000_000, RowQueue.rowsMax(1L << 40));
    }
}
