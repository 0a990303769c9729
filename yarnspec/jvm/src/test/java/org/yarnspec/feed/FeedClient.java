package org.yarnspec.feed;

import java.io.DataInputStream;
import java.io.IOException;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.ipc.ArrowStreamReader;

/** Reads the feed as the negotiator does: every row as a map of column to value. */
final class FeedClient implements AutoCloseable {
    private static final int TIMEOUT_MS = 30_000;

    private final Socket socket;
    private final DataInputStream in;
    private final RootAllocator allocator = new RootAllocator();
    private ArrowStreamReader reader;

    FeedClient(int port, String token) throws IOException {
        socket = new Socket("127.0.0.1", port);
        socket.setSoTimeout(TIMEOUT_MS);
        socket.getOutputStream().write((token + "\n").getBytes(StandardCharsets.US_ASCII));
        in = new DataInputStream(socket.getInputStream());
    }

    /** How many rows earlier clients were given. */
    long handedOver() throws IOException {
        return in.readLong();
    }

    boolean refused() throws IOException {
        return in.read() < 0;
    }

    /** The rows of the next batch; null when the stream has ended. */
    List<Map<String, Object>> batch() throws IOException {
        reader = reader == null ? new ArrowStreamReader(in, allocator) : reader;
        if (!reader.loadNextBatch()) {
            return null;
        }
        VectorSchemaRoot root = reader.getVectorSchemaRoot();
        List<Map<String, Object>> rows = new ArrayList<>();
        for (int i = 0; i < root.getRowCount(); i++) {
            Map<String, Object> row = new HashMap<>();
            for (FieldVector vector : root.getFieldVectors()) {
                Object value = vector.getObject(i);
                row.put(vector.getName(), value instanceof Number number ? number.longValue() : text(value));
            }
            rows.add(row);
        }
        return rows;
    }

    private static String text(Object value) {
        return value == null ? null : value.toString();
    }

    /** At least so many rows, in order. */
    List<Map<String, Object>> rows(int count) throws IOException {
        List<Map<String, Object>> rows = new ArrayList<>();
        while (rows.size() < count) {
            rows.addAll(batch());
        }
        return rows;
    }

    @Override
    public void close() throws IOException {
        socket.close();
        if (reader != null) {
            reader.close();
        }
        allocator.close();
    }
}
