package org.yarnspec.channel;

import java.io.DataOutputStream;
import java.io.IOException;
import java.net.Socket;
import java.util.ArrayDeque;
import java.util.concurrent.TimeUnit;

/** Frames on their way to the negotiator; each counts as one of what was given. Adding never waits. */
public final class FrameFeed extends ClientFeed {
    private static final int SEND_BUFFER_BYTES = 1 << 18;
    private static final long WAITING_BYTES_MAX = 64L << 20;

    private final long waitingBytesMax;
    private final ArrayDeque<byte[]> waiting = new ArrayDeque<>();
    private long waitingBytes;
    private long handedOver;
    private boolean ending;
    private boolean full;

    private FrameFeed(String token, long waitingBytesMax) throws IOException {
        super(token, "yarnspec-outputs", SEND_BUFFER_BYTES);
        this.waitingBytesMax = waitingBytesMax;
    }

    public static FrameFeed open(String token) throws IOException {
        return open(token, WAITING_BYTES_MAX);
    }

    public static FrameFeed open(String token, long waitingBytesMax) throws IOException {
        FrameFeed feed = new FrameFeed(token, waitingBytesMax);
        feed.start();
        return feed;
    }

    /**
     * Takes a frame; false when too much waits already, or waited once: this one is not taken, nor is any after it, as they
     * may rest on it.
     */
    public synchronized boolean add(byte[] frame) {
        full |= waitingBytes + frame.length > waitingBytesMax;
        if (full) {
            return false;
        }
        waiting.add(frame);
        waitingBytes += frame.length;
        notifyAll();
        return true;
    }

    /** Sends what waits and ends the stream; false when somebody listens and could not be given all in time. */
    public synchronized boolean finish(int timeoutMs) throws InterruptedException {
        long deadlineNs = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(timeoutMs);
        ending = true;
        notifyAll();
        return awaitNoClient(deadlineNs);
    }

    @Override
    protected long handedOver() {
        return handedOver;
    }

    @Override
    protected void serve(Socket client, DataOutputStream out) throws IOException, InterruptedException {
        for (byte[] frame = next(client, out); frame != null; frame = next(client, out)) {
            handedOver++;
            out.write(frame);
        }
        out.flush();
    }

    /** The next frame, once there is one; null when another client has come or the stream ends. */
    private byte[] next(Socket client, DataOutputStream out) throws IOException, InterruptedException {
        while (true) {
            synchronized (this) {
                if (!serves(client)) {
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
                if (waiting.isEmpty() && serves(client)) {
                    if (ending) {
                        return null;
                    }
                    wait();
                }
            }
        }
    }
}
