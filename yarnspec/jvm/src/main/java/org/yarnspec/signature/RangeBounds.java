package org.yarnspec.signature;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.lang.invoke.SerializedLambda;
import java.util.Arrays;
import org.apache.spark.RangePartitioner;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.rdd.MapPartitionsRDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.yarnspec.fingerprint.Unknown;
import org.yarnspec.spark.Fields;

/**
 * Where one range of rows ends and the next begins, when a query sorts: found out by sampling, which the next driver does
 * again and may do with another result. Rows that were written by other bounds would come out of order.
 *
 * <p>Layout 1 of the saved bounds: {@code u8 1 | u32 count, each u32 fields, u32 length, row}.
 */
public final class RangeBounds {
    private static final int VERSION = 1;
    private static final int DEPTH_MAX = 4;
    private static final String FIELD = "rangeBounds";

    private final RangePartitioner<?, ?> partitioner;

    private RangeBounds(RangePartitioner<?, ?> partitioner) {
        this.partitioner = partitioner;
    }

    /** The bounds by which a shuffle spreads its rows; null when it does not sort. */
    public static RangeBounds of(ShuffleDependency<?, ?, ?> dependency) {
        if (dependency.partitioner() instanceof RangePartitioner<?, ?> range) {
            return new RangeBounds(range);
        } else if (!ShuffleMetrics.ofQuery(dependency) || !(dependency.rdd() instanceof MapPartitionsRDD<?, ?>)) {
            return null;
        }
        // A query gives its shuffle rows that know their range; the partitioner is held by the function that told them.
        RangePartitioner<?, ?> range = heldBy(Fields.get(dependency.rdd(), "f"), 0);
        return range == null ? null : new RangeBounds(range);
    }

    private static RangePartitioner<?, ?> heldBy(Object function, int depth) {
        if (function instanceof RangePartitioner<?, ?> range) {
            return range;
        }
        SerializedLambda lambda = function == null || depth > DEPTH_MAX ? null : Fields.lambda(function);
        RangePartitioner<?, ?> found = null;
        for (int i = 0; lambda != null && found == null && i < lambda.getCapturedArgCount(); i++) {
            found = heldBy(lambda.getCapturedArg(i), depth + 1);
        }
        return found;
    }

    /** The bounds as bytes; throws Unknown when they are not rows. */
    public byte[] encode() {
        Object[] bounds = (Object[]) Fields.get(partitioner, FIELD);
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (DataOutputStream out = new DataOutputStream(bytes)) {
            out.writeByte(VERSION);
            out.writeInt(bounds.length);
            for (Object bound : bounds) {
                if (!(bound instanceof UnsafeRow row)) {
                    throw Unknown.kind("a range's bound", bound);
                }
                out.writeInt(row.numFields());
                out.writeInt(row.getSizeInBytes());
                out.write(row.getBytes());
            }
        } catch (IOException e) {
            throw new IllegalStateException(e); // nothing is written anywhere but to memory
        }
        return bytes.toByteArray();
    }

    /** Puts saved bounds in the place of those that were sampled; false when they do not fit. */
    public boolean putBack(byte[] saved) {
        InternalRow[] rows;
        try {
            rows = decode(saved);
        } catch (IOException e) {
            return false;
        }
        Object[] sampled = (Object[]) Fields.get(partitioner, FIELD);
        if (rows.length != sampled.length || !sampled.getClass().isAssignableFrom(rows.getClass())) {
            return false;
        }
        Fields.set(partitioner, FIELD, rows);
        return true;
    }

    private static InternalRow[] decode(byte[] saved) throws IOException {
        DataInputStream in = new DataInputStream(new ByteArrayInputStream(saved));
        int version = in.readUnsignedByte();
        int count = in.readInt();
        if (version != VERSION || count < 0 || count > saved.length) {
            throw new IOException("saved bounds of another kind");
        }
        InternalRow[] rows = new InternalRow[count];
        for (int i = 0; i < count; i++) {
            UnsafeRow row = new UnsafeRow(in.readInt());
            byte[] bytes = in.readNBytes(in.readInt());
            row.pointTo(bytes, bytes.length);
            rows[i] = row;
        }
        return rows;
    }

    @Override
    public String toString() {
        return Arrays.toString((Object[]) Fields.get(partitioner, FIELD));
    }
}
