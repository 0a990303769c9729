package org.yarnspec.mapoutputs;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.Externalizable;
import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.scheduler.CompressedMapStatus;
import org.apache.spark.scheduler.HighlyCompressedMapStatus;
import org.apache.spark.scheduler.MapStatus;

/**
 * All that a finished map gave the driver, as bytes: where its output is and how large, the two SQL metrics that
 * adaptive execution plans with, the updates of the program's Python accumulators, and what was counted by {@code observe}.
 *
 * <p>Layout 2: {@code u8 2 | u8 kind of status | u32 length, status | i64 data size | i64 records written | u32 count,
 * each u32 length, update | u32 count, each u32 place, u32 length, row}. The status is what Spark's own
 * {@code writeExternal} writes; a metric that is not there is -1.
 *
 * @param accumulated pickled {@code (id, value)} pairs, as Spark hands them to the program
 */
public record MapBlob(
        MapStatus status, long dataSize, long recordsWritten, List<byte[]> accumulated, List<Observed> observed) {
    public static final long NO_METRIC = -1;

    private static final int VERSION = 2;
    private static final int COMPRESSED = 1;
    private static final int HIGHLY_COMPRESSED = 2;

    /** Whether something of the program is to be counted again with it. */
    public boolean counts() {
        return !accumulated.isEmpty() || !observed.isEmpty();
    }

    public byte[] encode() throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(bytes);
        out.writeByte(VERSION);
        out.writeByte(kindOf(status));
        ByteArrayOutputStream external = new ByteArrayOutputStream();
        try (ObjectOutputStream objects = new ObjectOutputStream(external)) {
            ((Externalizable) status).writeExternal(objects);
        }
        write(out, external.toByteArray());
        out.writeLong(dataSize);
        out.writeLong(recordsWritten);
        out.writeInt(accumulated.size());
        for (byte[] update : accumulated) {
            write(out, update);
        }
        out.writeInt(observed.size());
        for (Observed each : observed) {
            out.writeInt(each.place());
            write(out, each.row());
        }
        return bytes.toByteArray();
    }

    private static int kindOf(MapStatus status) throws IOException {
        if (status.getClass() == CompressedMapStatus.class) {
            return COMPRESSED;
        } else if (status.getClass() == HighlyCompressedMapStatus.class) {
            return HIGHLY_COMPRESSED;
        }
        throw new IOException(
                "a map's status of an unknown kind, " + status.getClass().getName());
    }

    private static void write(DataOutputStream out, byte[] bytes) throws IOException {
        out.writeInt(bytes.length);
        out.write(bytes);
    }

    public static MapBlob decode(byte[] blob) throws IOException {
        DataInputStream in = new DataInputStream(new ByteArrayInputStream(blob));
        int version = in.readUnsignedByte();
        if (version != VERSION) {
            throw new IOException("a saved map of version " + version + ", not " + VERSION);
        }
        MapStatus status =
                switch (in.readUnsignedByte()) {
                    case COMPRESSED -> new CompressedMapStatus();
                    case HIGHLY_COMPRESSED -> new HighlyCompressedMapStatus();
                    default -> throw new IOException("a saved map's status of an unknown kind");
                };
        // Only what readExternal asks for by name is read: numbers, text, a bitmap. No object is made from the bytes.
        try (ObjectInputStream objects = new ObjectInputStream(new ByteArrayInputStream(read(in)))) {
            ((Externalizable) status).readExternal(objects);
        } catch (ClassNotFoundException e) {
            throw new IOException(e);
        }
        long dataSize = in.readLong();
        long recordsWritten = in.readLong();
        List<byte[]> accumulated = new ArrayList<>();
        for (int left = in.readInt(); left > 0; left--) {
            accumulated.add(read(in));
        }
        List<Observed> observed = new ArrayList<>();
        for (int left = in.readInt(); left > 0; left--) {
            observed.add(new Observed(in.readInt(), read(in)));
        }
        return new MapBlob(status, dataSize, recordsWritten, accumulated, observed);
    }

    private static byte[] read(DataInputStream in) throws IOException {
        int length = in.readInt();
        byte[] bytes = length < 0 ? new byte[0] : in.readNBytes(length);
        if (bytes.length != length) {
            throw new EOFException("a saved map ends too early");
        }
        return bytes;
    }
}
