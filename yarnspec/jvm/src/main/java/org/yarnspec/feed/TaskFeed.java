package org.yarnspec.feed;

import java.io.DataOutputStream;
import java.io.IOException;
import java.net.Socket;
import java.util.concurrent.TimeUnit;
import java.util.function.LongConsumer;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.yarnspec.channel.ClientFeed;

/** The stages and tasks of this driver as an Arrow stream; what earlier connections were given is counted in rows. */
public final class TaskFeed extends ClientFeed {
    private static final int SEND_BUFFER_BYTES = 1 << 20;
    private static final int LOOK_ROUND_MS = 100;

    private final NameDictionary names = new NameDictionary();
    private final RowQueue queue;
    private final LongConsumer onDropped;
    private long handedOver;
    private long droppedTold;
    private boolean ending;

    private TaskFeed(String token, int rowsMax, LongConsumer onDropped) throws IOException {
        super(token, "yarnspec-feed", SEND_BUFFER_BYTES);
        this.onDropped = onDropped;
        queue = new RowQueue(names, rowsMax);
    }

    /**
     * Listens on a port of its own.
     *
     * @param onDropped is told how many rows were dropped, once there is room again
     */
    public static TaskFeed open(String token, LongConsumer onDropped) throws IOException {
        return open(token, RowQueue.rowsMax(Runtime.getRuntime().maxMemory()), onDropped);
    }

    public static TaskFeed open(String token, int rowsMax, LongConsumer onDropped) throws IOException {
        TaskFeed feed = new TaskFeed(token, rowsMax, onDropped);
        feed.start();
        return feed;
    }

    /** Takes a copy of a row; never waits. */
    void add(Row row) {
        queue.add(row);
    }

    /** How many rows were taken so far. */
    public long rows() {
        return queue.accepted();
    }

    public long rowsWaiting() {
        return queue.waiting();
    }

    public long rowsDropped() {
        return queue.dropped();
    }

    /** Sends what waits and ends the stream; false when somebody listens and could not be given all in time. */
    public boolean finish(int timeoutMs) throws InterruptedException {
        if (!hasClient()) {
            return true;
        }
        long deadlineNs = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(timeoutMs);
        if (!queue.flush(timeoutMs)) {
            return false;
        }
        end();
        return awaitNoClient(deadlineNs);
    }

    @Override
    protected long handedOver() {
        return handedOver;
    }

    private synchronized void end() {
        ending = true;
    }

    private synchronized boolean ending() {
        return ending;
    }

    @Override
    protected void serve(Socket client, DataOutputStream out) throws IOException, InterruptedException {
        try (BufferAllocator allocator = new RootAllocator();
                ArrowRows rows = new ArrowRows(names, allocator, out)) {
            rows.start();
            out.flush();
            while (serves(client)) {
                RowBlock block = queue.take(LOOK_ROUND_MS);
                if (block != null) {
                    send(block, rows, out);
                } else if (ending()) {
                    rows.end();
                    out.flush();
                    return;
                }
            }
        }
    }

    /** Sends a block; one that could not be sent whole goes to the next client. */
    private void send(RowBlock block, ArrowRows rows, DataOutputStream out) throws IOException {
        boolean sent = false;
        try {
            rows.write(block);
            out.flush();
            sent = true;
        } finally {
            if (sent) {
                handedOver += block.rows();
                queue.sent(block);
                tellDropped();
            } else {
                queue.giveBack(block);
            }
        }
    }

    private void tellDropped() {
        long dropped = queue.dropped();
        if (dropped > droppedTold) {
            onDropped.accept(dropped - droppedTold);
            droppedTold = dropped;
        }
    }
}
