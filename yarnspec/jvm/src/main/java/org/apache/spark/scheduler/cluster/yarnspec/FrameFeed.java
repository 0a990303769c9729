package org.apache.spark.scheduler.cluster.yarnspec;

import java.io.BufferedOutputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.ArrayDeque;
import java.util.concurrent.TimeUnit;

/**
 * Frames on their way to the negotiator, for one client at a time, on loopback and behind the bridge's token.
 *
 * <p>The client sends the token and a line feed. The answer is how many frames earlier connections were given (8 bytes,
 * big-endian), then frames. A client that connects later takes over. Adding never waits.
 */
final class FrameFeed {
    private static final int TOKEN_TIMEOUT_MS = 5_000;
    private static final int SEND_BUFFER_BYTES = 1 << 18;
    private static final long WAITING_BYTES_MAX = 64L << 20;

    private final byte[] token;
    private final ServerSocket server;
    private final long waitingBytesMax;
    private final ArrayDeque<byte[]> waiting = new ArrayDeque<>();
    private long waitingBytes;
    private long handedOver;
    private Socket newest;
    private boolean ending;

    private FrameFeed(String token, ServerSocket server, long waitingBytesMax) {
        this.token = token.getBytes(StandardCharsets.US_ASCII);
        this.server = server;
        this.waitingBytesMax = waitingBytesMax;
    }

    static FrameFeed open(String token) throws IOException {
        return open(token, WAITING_BYTES_MAX);
    }

    static FrameFeed open(String token, long waitingBytesMax) throws IOException {
        InetAddress loopback = InetAddress.getByAddress("localhost", new byte[] {127, 0, 0, 1});
        FrameFeed feed = new FrameFeed(token, new ServerSocket(0, 4, loopback), waitingBytesMax);
        startDaemon(feed::acceptAll, "yarnspec-outputs-accept");
        startDaemon(feed::serveAll, "yarnspec-outputs");
        return feed;
    }

    private static void startDaemon(Runnable work, String name) {
        Thread thread = new Thread(work, name);
        thread.setDaemon(true);
        thread.start();
    }

    int port() {
        return server.getLocalPort();
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

    private void acceptAll() {
        while (!server.isClosed()) {
            Socket socket = null;
            try {
                socket = server.accept();
                if (knowsToken(socket)) {
                    takeOver(socket);
                } else {
                    socket.close();
                }
            } catch (IOException e) {
                close(socket);
            }
        }
    }

    private boolean knowsToken(Socket socket) throws IOException {
        socket.setSoTimeout(TOKEN_TIMEOUT_MS);
        InputStream in = socket.getInputStream();
        ByteArrayOutputStream told = new ByteArrayOutputStream();
        for (int read = in.read(); read != '\n'; read = in.read()) {
            if (read < 0 || told.size() > token.length) {
                return false;
            }
            told.write(read);
        }
        return MessageDigest.isEqual(told.toByteArray(), token);
    }

    private synchronized void takeOver(Socket socket) {
        close(newest); // its thread gets an exception, or sees that another is the newest
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
        close(socket);
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

    private static void close(Socket socket) {
        if (socket != null) {
            try {
                socket.close();
            } catch (IOException e) {
                // It is of no use any more, whether it closed well or not.
            }
        }
    }
}
