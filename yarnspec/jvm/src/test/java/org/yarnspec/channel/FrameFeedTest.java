package org.yarnspec.channel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.DataInputStream;
import java.io.IOException;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** The stream of finished maps, as the negotiator reads it. */
class FrameFeedTest {
    private static byte[] frame(int number) throws IOException {
        return Frames.encode(Frames.header("map_finished").put("index", number), new byte[100]);
    }

    private static Socket connect(FrameFeed feed, String token) throws IOException {
        Socket socket = new Socket("127.0.0.1", feed.port());
        socket.setSoTimeout(30_000);
        socket.getOutputStream().write((token + "\n").getBytes(StandardCharsets.US_ASCII));
        return socket;
    }

    private static int next(DataInputStream in) throws IOException {
        return Frames.read(in).header().get("index").asInt();
    }

    @Test
    void framesComeInOrderAndALaterClientTakesOver() throws Exception {
        FrameFeed feed = FrameFeed.open("token");
        feed.add(frame(0));
        try (Socket first = connect(feed, "token");
                Socket wrong = connect(feed, "other")) {
            DataInputStream in = new DataInputStream(first.getInputStream());
            assertEquals(0, in.readLong());
            assertEquals(0, next(in));
            feed.add(frame(1));
            assertEquals(1, next(in));
            assertEquals(-1, wrong.getInputStream().read());
            try (Socket second = connect(feed, "token")) {
                DataInputStream later = new DataInputStream(second.getInputStream());
                assertEquals(2, later.readLong());
                feed.add(frame(2));
                assertEquals(2, next(later));
                feed.add(frame(3));
                assertTrue(feed.finish(30_000));
                assertEquals(3, next(later));
                assertNull(Frames.read(later));
            }
        }
    }

    @Test
    void whoSendsATokenByteByByteKeepsOthersOutForAWhileOnly() throws Exception {
        String token = "t".repeat(64);
        FrameFeed feed = FrameFeed.open(token);
        AtomicInteger sent = new AtomicInteger();
        try (Socket stranger = new Socket("127.0.0.1", feed.port())) {
            Thread drips = new Thread(() -> drip(stranger, sent));
            drips.setDaemon(true);
            drips.start();
            try (Socket client = connect(feed, token)) {
                assertEquals(0, new DataInputStream(client.getInputStream()).readLong());
            }
            assertTrue(sent.get() < token.length() / 2, sent + " bytes were waited for");
        }
    }

    private static void drip(Socket socket, AtomicInteger sent) {
        try {
            while (true) {
                socket.getOutputStream().write('t');
                sent.incrementAndGet();
                Thread.sleep(200);
            }
        } catch (IOException | InterruptedException e) {
            // The door has closed it.
        }
    }

    @Test
    void addingNeverWaits() throws Exception {
        FrameFeed feed = FrameFeed.open("token", 400);
        assertTrue(feed.add(frame(0)));
        assertTrue(feed.add(frame(1)));
        assertFalse(feed.add(frame(2))); // nobody reads
        assertFalse(feed.add(new byte[1])); // there is room for it, but it may rest on what was not taken
        assertTrue(feed.finish(0));
    }
}
