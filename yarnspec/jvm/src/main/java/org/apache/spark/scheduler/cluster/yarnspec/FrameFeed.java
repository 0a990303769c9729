package org.apache.spark.scheduler.cluster.yarnspec;

import java.io.BufferedOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.Socket;
import java.util.ArrayDeque;
import java.util.concurrent.TimeUnit;

/**
 * Frames on their way to the negotiator, for one client at a time, on loopback and behind the bridge's token.
 *
 * <p>The client sends the token and a line feed. The answer is how many frames earlier connections were given (8 bytes,
 * big-endian), then frames. A client that connects later takes over. Adding never waits.
 */
final class FrameFeed {
    private static final int SEND_BUFFER_BYTES = 1 << 18;
    private static final long WAITING_BYTES_MAX = 64L << 20;

    private final TokenDoor door;
    private final long waitingBytesMax;
    private final ArrayDeque<byte[]> waiting = new ArrayDeque<>();
    private long waitingBytes;
    private long handedOver;
    private Socket newest;
    private boolean ending;

    private FrameFeed(String token, long waitingBytesMax) throws IOException {
        this.waitingBytesMax = waitingBytesMax;
        door = TokenDoor.open(token, "yarnspec-outputs-accept", this::takeOver);
    }

    static FrameFeed open(String token) throws IOException {
        return open(token, WAITING_BYTES_MAX);
    }

    static FrameFeed open(String token, long waitingBytesMax) throws IOException {
        FrameFeed feed = new FrameFeed(token, waitingBytesMax);
        TokenDoor.startDaemon(feed::serveAll, "yarnspec-outputs");
        return feed;
    }

    int port() {
        return door.port();
    }

    /** Takes a frame; false when too much waits already, and this one is not taken. */
    synchronized boolean add(byte[] frame) {
        if (waitingBytes + frame.length > waitingBytesMax) {
            return false;
        }
        waiting.add(frame);
        waitingBytes += frame.length;
        notifyAll();
        return true;
    }

    /** Sends what waits and ends the stream; false when somebody listens and could not be given all in time. */
    synchronized boolean finish(int timeoutMs) throws InterruptedException {
        long deadlineNs = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(timeoutMs);
        ending = true;
        notifyAll();
        while (newest != null) {
            long leftMs = TimeUnit.NANOSECONDS.toMillis(deadlineNs - System.nanoTime());
            if (leftMs <= 0) {
                return false;
            }
            wait(leftMs);
        }
        return true;
    }

    private synchronized void takeOver(Socket socket) {
        TokenDoor.close(newest); // its thread gets an exception, or sees that another is the newest
        newest = socket;
        notifyAll();
    }

    private void serveAll() {
        try {
            while (true) {
                Socket socket = awaitClient();
                try {
                    serve(socket);
                } catch (IOException e) {
                    // The client is gone or was replaced; what it had not been given goes to the next.
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

    private void serve(Socket socket) throws IOException, InterruptedException {
        socket.setTcpNoDelay(true);
        DataOutputStream out =
                new DataOutputStream(new BufferedOutputStream(socket.getOutputStream(), SEND_BUFFER_BYTES));
        out.writeLong(handedOver);
        out.flush();
        for (byte[] frame = next(socket, out); frame != null; frame = next(socket, out)) {
            handedOver++;
            out.write(frame);
        }
        out.flush();
    }

    /** The next frame, once there is one; null when another client has come or the stream ends. */
    private byte[] next(Socket socket, DataOutputStream out) throws IOException, InterruptedException {
        while (true) {
            synchronized (this) {
                if (newest != socket) {
                    return null;
                }
                byte[] frame = waiting.poll();
                if (frame != null) {
                    waitingBytes -= frame.length;
                    return frame;
                }
            }
            out.flush(); // without the lock: whoever adds must not wait for the client
            synchronized (this) {
                if (waiting.isEmpty() && newest == socket) {
                    if (ending) {
                        return null;
                    }
                    wait();
                }
            }
        }
    }
}
