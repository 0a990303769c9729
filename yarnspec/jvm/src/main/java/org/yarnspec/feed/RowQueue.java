package org.yarnspec.feed;

import java.util.ArrayDeque;
import java.util.concurrent.TimeUnit;

/**
 * Rows between the threads that tell them, which never wait, and the one that sends them.
 *
 * <p>Bounded, as it lies in the driver's heap: what does not fit is dropped and counted. What matters most has the most
 * room. Counters come again with the next heartbeat, so they are left out once the queue is half full, and are not
 * counted as lost; a start's facts are in its end too; the last quarter is for ends and stages. Texts are bounded of
 * their own; a row may lose its text only.
 */
final class RowQueue {
    private static final int ROWS_MAX = 2_000_000;
    private static final int SHARE_OF_HEAP = 8;
    private static final int CHARS_PER_ROW = 16;
    private static final long LINGER_NS = TimeUnit.MILLISECONDS.toNanos(20);

    private final NameDictionary names;
    private final int rowsMax;
    private final long charsMax;
    private final ArrayDeque<RowBlock> full = new ArrayDeque<>();
    private RowBlock open = new RowBlock();
    private RowBlock spare;
    private long openedNs;
    private long waitingRows;
    private long waitingChars;
    private long accepted;
    private long dropped;
    private boolean takerWaits;
    private boolean flushing;

    RowQueue(NameDictionary names, int rowsMax) {
        this.names = names;
        this.rowsMax = rowsMax;
        this.charsMax = (long) CHARS_PER_ROW * rowsMax;
    }

    /** How many rows may wait in a heap of this size; their texts take a quarter as much again at most. */
    static int rowsMax(long heapBytes) {
        return (int) Math.min(ROWS_MAX, heapBytes / SHARE_OF_HEAP / RowBlock.ROW_BYTES);
    }

    /** Takes a copy of a row. */
    void add(Row row) {
        int host = names.code(row.host);
        int executor = names.code(row.executor);
        synchronized (this) {
            if (waitingRows >= roomFor(row.kind())) {
                dropped += row.kind() == Row.RowKind.TASK_COUNTERS ? 0 : 1;
                return;
            }
            if (row.text != null) {
                if (waitingChars + row.text.length() > charsMax) {
                    row.text = null;
                } else {
                    waitingChars += row.text.length();
                }
            }
            if (open.rows() == 0) {
                openedNs = System.nanoTime();
            }
            open.add(row, host, executor);
            accepted++;
            waitingRows++;
            boolean wasFilled = open.full();
            if (wasFilled) {
                full.add(open);
                open = spare == null ? new RowBlock() : spare;
                spare = null;
            }
            if (takerWaits && (wasFilled || open.rows() == 1)) {
                notifyAll();
            }
        }
    }

    private long roomFor(Row.RowKind kind) {
        return switch (kind) {
            case TASK_COUNTERS -> rowsMax / 2;
            case TASK_STARTED -> rowsMax - rowsMax / 4;
            default -> rowsMax;
        };
    }

    /**
     * Takes the oldest rows: a full block, or what there is once its first row has waited for 20 ms.
     *
     * @param timeoutMs how long to wait for a first row; the answer is null when none came
     */
    synchronized RowBlock take(long timeoutMs) throws InterruptedException {
        long deadlineNs = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(timeoutMs);
        while (full.isEmpty()) {
            long now = System.nanoTime();
            boolean empty = open.rows() == 0;
            long leftNs = empty ? deadlineNs - now : openedNs + LINGER_NS - now;
            if (leftNs <= 0 || flushing) {
                return empty ? null : swapOpen();
            }
            takerWaits = true;
            TimeUnit.NANOSECONDS.timedWait(this, Math.max(leftNs, 1_000_000));
            takerWaits = false;
        }
        return full.remove();
    }

    private RowBlock swapOpen() {
        RowBlock taken = open;
        open = spare == null ? new RowBlock() : spare;
        spare = null;
        return taken;
    }

    /** Puts a block that could not be sent back to the front. */
    synchronized void giveBack(RowBlock block) {
        full.addFirst(block);
    }

    /** The block was sent; it may be filled again. */
    synchronized void sent(RowBlock block) {
        waitingRows -= block.rows();
        for (int i = 0; block.hasTexts() && i < block.rows(); i++) {
            waitingChars -= block.text(i) == null ? 0 : block.text(i).length();
        }
        block.clear();
        spare = block;
        notifyAll();
    }

    /** From now on no row waits for others; true when none is left within the time. */
    synchronized boolean flush(int timeoutMs) throws InterruptedException {
        flushing = true;
        notifyAll();
        long deadlineNs = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(timeoutMs);
        while (waitingRows > 0) {
            long leftNs = deadlineNs - System.nanoTime();
            if (leftNs <= 0) {
                return false;
            }
            TimeUnit.NANOSECONDS.timedWait(this, Math.max(leftNs, 1_000_000));
        }
        return true;
    }

    /** How many rows came in, those that were dropped not counted. */
    synchronized long accepted() {
        return accepted;
    }

    synchronized long waiting() {
        return waitingRows;
    }

    synchronized long dropped() {
        return dropped;
    }
}
