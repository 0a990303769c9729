package org.apache.spark.scheduler.cluster.yarnspec;

import java.io.BufferedOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.Socket;
import java.util.concurrent.TimeUnit;
import java.util.function.LongConsumer;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;

/**
 * The stages and tasks of this driver as Arrow batches, for one client at a time, on loopback and behind the bridge's
 * token.
 *
 * <p>The client sends the token and a line feed. The answer is how many rows earlier connections were given (8 bytes,
 * big-endian), then an Arrow stream. A client that connects later takes over.
 */
final class TaskFeed {
    private static final int SEND_BUFFER_BYTES = 1 << 20;
    private static final int LOOK_ROUND_MS = 100;

    private final Names names = new Names();
    private final RowQueue queue;
    private final TokenDoor door;
    private final LongConsumer onDropped;
    private Socket newest;
    private long handedOver;
    private long droppedTold;
    private boolean ending;

    private TaskFeed(String token, int rowsMax, LongConsumer onDropped) throws IOException {
        this.onDropped = onDropped;
        queue = new RowQueue(names, rowsMax);
        door = TokenDoor.open(token, "yarnspec-feed-accept", this::takeOver);
    }

    /**
     * Listens on a port of its own.
     *
     * @param onDropped is told how many rows were dropped, once there is room again
     */
    static TaskFeed open(String token, LongConsumer onDropped) throws IOException {
        return open(token, RowQueue.rowsMax(Runtime.getRuntime().maxMemory()), onDropped);
    }

    static TaskFeed open(String token, int rowsMax, LongConsumer onDropped) throws IOException {
        TaskFeed feed = new TaskFeed(token, rowsMax, onDropped);
        TokenDoor.startDaemon(feed::serveAll, "yarnspec-feed");
        return feed;
    }

    int port() {
        return door.port();
    }

    /** Takes a copy of a row; never waits. */
    void add(Row row) {
        queue.add(row);
    }

    /** How many rows were taken so far. */
    long rows() {
        return queue.accepted();
    }

    long rowsWaiting() {
        return queue.waiting();
    }

    long rowsDropped() {
        return queue.dropped();
    }

    /** Sends what waits and ends the stream; false when somebody listens and could not be given all in time. */
    boolean finish(int timeoutMs) throws InterruptedException {
        synchronized (this) {
            if (newest == null) {
                return true;
            }
        }
        long deadlineNs = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(timeoutMs);
        if (!queue.flush(timeoutMs)) {
            return false;
        }
        synchronized (this) {
            ending = true;
            while (newest != null) {
                long leftMs = TimeUnit.NANOSECONDS.toMillis(deadlineNs - System.nanoTime());
                if (leftMs <= 0) {
                    return false;
                }
                wait(leftMs);
            }
        }
        return true;
    }

    private synchronized void takeOver(Socket socket) {
        TokenDoor.close(newest); // its thread gets an exception and looks for the new one
        newest = socket;
        notifyAll();
    }

    private void serveAll() {
        try (BufferAllocator allocator = new RootAllocator()) {
            while (true) {
                Socket socket = awaitClient();
                try {
                    serve(socket, allocator);
                } catch (IOException | RuntimeException e) {
                    if (!(e instanceof IOException)) {
                        System.err.println("yarnspec: the feed of tasks broke off: " + e);
                    }
                } finally {
                    leave(socket);
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private synchronized Socket awaitClient() throws InterruptedException {
        while (newest == null) {
            wait();
        }
        return newest;
    }

    private synchronized void leave(Socket socket) {
        TokenDoor.close(socket);
        if (newest == socket) {
            newest = null;
        }
        notifyAll();
    }

    private synchronized boolean serves(Socket socket) {
        return newest == socket;
    }

    private synchronized boolean ending() {
        return ending;
    }

    private void serve(Socket socket, BufferAllocator allocator) throws IOException, InterruptedException {
        socket.setTcpNoDelay(true);
        DataOutputStream out =
                new DataOutputStream(new BufferedOutputStream(socket.getOutputStream(), SEND_BUFFER_BYTES));
        out.writeLong(handedOver);
        try (ArrowRows rows = new ArrowRows(names, allocator, out)) {
            rows.start();
            out.flush();
            while (serves(socket)) {
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
