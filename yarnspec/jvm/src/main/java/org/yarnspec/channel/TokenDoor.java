package org.yarnspec.channel;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/** A port on loopback that lets in clients that begin with the bridge's token and a line feed. */
final class TokenDoor {
    // Deadline for the whole token. A client without it blocks others no longer than this.
    private static final int TOKEN_TIMEOUT_MS = 2_000;

    private final byte[] token;
    private final ServerSocket server;
    private final Consumer<Socket> onClient;

    private TokenDoor(byte[] token, ServerSocket server, Consumer<Socket> onClient) {
        this.token = token;
        this.server = server;
        this.onClient = onClient;
    }

    /**
     * Listens on a port of its own.
     *
     * @param onClient is handed each client that knows the token
     */
    static TokenDoor open(String token, String threadName, Consumer<Socket> onClient) throws IOException {
        InetAddress loopback = InetAddress.getByAddress("localhost", new byte[] {127, 0, 0, 1});
        TokenDoor door =
                new TokenDoor(token.getBytes(StandardCharsets.US_ASCII), new ServerSocket(0, 4, loopback), onClient);
        startDaemon(door::acceptAll, threadName);
        return door;
    }

    static void startDaemon(Runnable work, String name) {
        Thread thread = new Thread(work, name);
        thread.setDaemon(true);
        thread.start();
    }

    int port() {
        return server.getLocalPort();
    }

    private void acceptAll() {
        while (true) {
            Socket socket = null;
            try {
                socket = server.accept();
                if (knowsToken(socket)) {
                    onClient.accept(socket);
                } else {
                    socket.close();
                }
            } catch (IOException e) {
                close(socket);
                if (server.isClosed()) {
                    return;
                }
            }
        }
    }

    private boolean knowsToken(Socket socket) throws IOException {
        long untilNs = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(TOKEN_TIMEOUT_MS);
        InputStream in = socket.getInputStream();
        ByteArrayOutputStream told = new ByteArrayOutputStream();
        while (told.size() <= token.length) {
            long leftMs = TimeUnit.NANOSECONDS.toMillis(untilNs - System.nanoTime());
            socket.setSoTimeout((int) Math.max(1, leftMs));
            int read = in.read();
            if (read == '\n') {
                return MessageDigest.isEqual(told.toByteArray(), token);
            }
            if (read < 0 || leftMs <= 0) {
                return false;
            }
            told.write(read);
        }
        return false;
    }

    static void close(Socket socket) {
        if (socket != null) {
            try {
                socket.close();
            } catch (IOException e) {
                // The socket is of no use any more, whether it closed well or not.
            }
        }
    }
}
