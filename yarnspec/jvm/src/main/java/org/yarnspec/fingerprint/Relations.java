package org.yarnspec.fingerprint;

import java.math.BigInteger;
import java.util.Collections;
import java.util.Map;
import java.util.WeakHashMap;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.execution.joins.EmptyHashedRelation$;
import org.apache.spark.sql.execution.joins.HashedRelation;
import org.apache.spark.sql.execution.joins.HashedRelationWithAllNullKeys$;
import scala.collection.Iterator;

/**
 * The content of tables that Spark broadcasts, whatever the order in which their rows arrived.
 *
 * <p>That the table comes from the same query is not enough: each task joins with all of it, and a sum of floating-point
 * numbers that comes out differently in the next driver must not meet rows that were joined with the last one's.
 */
public final class Relations {
    /** How much of a table is looked at: its rows in bytes, and so much more for each row as that costs time as well. */
    private static final long BYTES_MAX = 64 << 20;

    private static final int BYTES_PER_ROW = 64;
    private static final byte[] TOO_LARGE = {};

    private static final Map<Object, byte[]> KNOWN = Collections.synchronizedMap(new WeakHashMap<>());

    private Relations() {}

    public static byte[] digest(Object content) {
        return digest(content, BYTES_MAX);
    }

    public static byte[] digest(Object content, long bytesMax) {
        byte[] known = KNOWN.get(content);
        if (known == null) {
            known = compute(content, bytesMax);
            KNOWN.put(content, known);
        }
        if (known == TOO_LARGE) {
            throw new Unknown(
                    "a table that is broadcast below it is too large to be compared with that of the next driver");
        }
        return known;
    }

    /** Whether a join with it gives its rows in the same order whatever the order in which those of the table arrived. */
    static boolean ordered(Object content) {
        return content instanceof HashedRelation relation
                ? relation.keyIsUnique()
                : content instanceof InternalRow[] rows && rows.length <= 1;
    }

    private static byte[] compute(Object content, long bytesMax) {
        Fingerprint whole = new Fingerprint();
        if (content == EmptyHashedRelation$.MODULE$ || content == HashedRelationWithAllNullKeys$.MODULE$) {
            return whole.add(content.getClass().getName()).bytes();
        }
        Sum sum = new Sum(bytesMax);
        if (content instanceof HashedRelation relation) {
            // A copy has a cursor of its own; tasks in this JVM use the original's.
            HashedRelation copy = relation.asReadOnlyCopy();
            for (Iterator<InternalRow> keys = copy.keys(); keys.hasNext() && !sum.tooLarge(); ) {
                InternalRow key = keys.next().copy();
                for (Iterator<InternalRow> rows = copy.get(key); rows != null && rows.hasNext() && !sum.tooLarge(); ) {
                    sum.add(bytes(key), bytes(rows.next()));
                }
            }
        } else if (content instanceof InternalRow[] rows) {
            for (int i = 0; i < rows.length && !sum.tooLarge(); i++) {
                sum.add(bytes(rows[i]));
            }
        } else {
            throw Unknown.kind("a broadcast table", content);
        }
        return sum.tooLarge()
                ? TOO_LARGE
                : whole.add(sum.rows).add(sum.total.toByteArray()).bytes();
    }

    private static byte[] bytes(InternalRow row) {
        if (row instanceof UnsafeRow unsafe) {
            return unsafe.getBytes();
        } else if (row instanceof GenericInternalRow generic) {
            Fingerprint values = new Fingerprint();
            for (Object value : generic.values()) {
                if (value != null && !(value instanceof Number)) {
                    throw Unknown.kind("a key", value);
                }
                values.add(String.valueOf(value));
            }
            return values.bytes();
        }
        throw Unknown.kind("a row", row);
    }

    /** Adds up the fingerprints of rows, so that their order does not count but their number does. */
    private static final class Sum {
        private BigInteger total = BigInteger.ZERO;
        private long rows;
        private long left;

        Sum(long bytesMax) {
            left = bytesMax;
        }

        boolean tooLarge() {
            return left < 0;
        }

        void add(byte[]... row) {
            Fingerprint all = new Fingerprint();
            left -= BYTES_PER_ROW;
            for (byte[] part : row) {
                all.add(part);
                left -= part.length;
            }
            total = total.add(new BigInteger(1, all.bytes()));
            rows++;
        }
    }
}
