package org.yarnspec.channel;

import java.io.BufferedOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.Socket;
import java.util.concurrent.TimeUnit;

/**
 * Something the negotiator reads from a port on loopback, behind the bridge's token, one client at a time.
 *
 * <p>The client sends the token and a line feed; the answer is how much earlier connections were given (8 bytes,
 * big-endian), then the feed itself. A client that connects later takes over. The object's own lock guards who is
 * served.
 */
public abstract class ClientFeed {
    private final String name;
    private final int bufferBytes;
    private final TokenDoor door;
    private Socket newest;

    /** Listens on a port of its own; nobody is served before {@link #start}. */
    public ClientFeed(String token, String name, int bufferBytes) throws IOException {
        this.name = name;
        this.bufferBytes = bufferBytes;
        door = TokenDoor.open(token, name + "-accept", this::takeOver);
    }

    /** Serves clients from now on, in a thread of its own. */
    protected final void start() {
        TokenDoor.startDaemon(this::serveAll, name);
    }

    public final int port() {
        return door.port();
    }

    /** How much all clients so far were given. */
    protected abstract long handedOver();

    /** Gives a client what there is, until another one has come or the feed ends. */
    protected abstract void serve(Socket client, DataOutputStream out) throws IOException, InterruptedException;

    protected final synchronized boolean serves(Socket client) {
        return newest == client;
    }

    protected final synchronized boolean hasClient() {
        return newest != null;
    }

    /** Waits until nobody is served any more; false when that took too long. */
    protected final synchronized boolean awaitNoClient(long deadlineNs) throws InterruptedException {
        while (newest != null) {
            long leftMs = TimeUnit.NANOSECONDS.toMillis(deadlineNs - System.nanoTime());
            if (leftMs <= 0) {
                return false;
            }
            wait(leftMs);
        }
        return true;
    }

    private synchronized void takeOver(Socket client) {
        TokenDoor.close(newest); // its thread gets an exception, or sees that another is the newest
        newest = client;
        notifyAll();
    }

    private void serveAll() {
        try {
            while (true) {
                Socket client = awaitClient();
                try {
                    client.setTcpNoDelay(true);
                    DataOutputStream out =
                            new DataOutputStream(new BufferedOutputStream(client.getOutputStream(), bufferBytes));
                    out.writeLong(handedOver());
                    out.flush();
                    serve(client, out);
                } catch (IOException e) {
                    // The client is gone or was replaced; what it had not been given goes to the next.
                } catch (RuntimeException e) {
                    System.err.println("yarnspec: " + name + " broke off: " + e);
                } finally {
                    leave(client);
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

    private synchronized void leave(Socket client) {
        TokenDoor.close(client);
        if (newest == client) {
            newest = null;
        }
        notifyAll();
    }
}
