package org.yarnspec.fingerprint;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * Finds where a pickle makes broadcast variables: calls of {@code _from_id} (pyspark/core/broadcast.py) with a number.
 *
 * <p>Operation by operation (Python's pickletools.py lists them), as far as is needed to know what stands before a number:
 * the bytes of a number and of such a call may be a part of anything, and other calls may have the same number. What is not
 * understood ends the search; whoever knows that there are variables sees that they were not found.
 */
final class PickledCalls {
    private static final byte[] NAME = "_from_id".getBytes(StandardCharsets.US_ASCII);

    /** A call: the number that it has, and where that stands in how many bytes. */
    record Call(int place, int length, long number) {}

    /** The value that was pushed last, on the way to a call. */
    private enum Last {
        ANYTHING,
        NAME,
        FUNCTION,
        NUMBER,
        ARGUMENTS
    }

    private final ByteBuffer pickle;
    private final List<Call> found = new ArrayList<>();
    private final Set<Integer> names = new HashSet<>();
    private final Set<Integer> functions = new HashSet<>();
    private int remembered;
    private Last last = Last.ANYTHING;
    private Call call;

    private PickledCalls(byte[] pickle) {
        this.pickle = ByteBuffer.wrap(pickle).order(ByteOrder.LITTLE_ENDIAN);
    }

    /** The numbers of the broadcast variables that a pickle makes, in order. */
    static List<Call> broadcasts(byte[] pickle) {
        PickledCalls calls = new PickledCalls(pickle);
        while (calls.pickle.hasRemaining() && calls.next()) {
            // The next operation.
        }
        return calls.found;
    }

    /** Whether there may be another operation after this one. */
    private boolean next() {
        int operation = pickle.get() & 0xff;
        int length = length(operation);
        if (length < 0 || length > pickle.remaining()) {
            return false;
        }
        int place = pickle.position();
        pickle.position(place + length);
        switch (operation) {
            case 0x80, 0x95 -> {} // PROTO and FRAME push nothing
            case 0x94 -> remember();
            case 'h' -> last = recalled(pickle.get(place) & 0xff);
            case 'j' -> last = recalled(pickle.getInt(place));
            case 0x8c, 'X' -> last = isName(place, length) ? Last.NAME : Last.ANYTHING;
            case 0x93 -> last = last == Last.NAME ? Last.FUNCTION : Last.ANYTHING;
            case 'K', 'M', 'J' -> {
                call = new Call(place, length, number(place, length));
                last = last == Last.FUNCTION ? Last.NUMBER : Last.ANYTHING;
            }
            case 0x85 -> last = last == Last.NUMBER ? Last.ARGUMENTS : Last.ANYTHING;
            case 'R' -> {
                if (last == Last.ARGUMENTS) {
                    found.add(call);
                }
                last = Last.ANYTHING;
            }
            default -> last = Last.ANYTHING;
        }
        return operation != '.';
    }

    private void remember() {
        if (last == Last.NAME) {
            names.add(remembered);
        } else if (last == Last.FUNCTION) {
            functions.add(remembered);
        }
        remembered++;
    }

    private Last recalled(int index) {
        if (functions.contains(index)) {
            return Last.FUNCTION;
        }
        return names.contains(index) ? Last.NAME : Last.ANYTHING;
    }

    private boolean isName(int place, int length) {
        return Arrays.equals(pickle.array(), place, place + length, NAME, 0, NAME.length);
    }

    private long number(int place, int length) {
        return switch (length) {
            case 1 -> pickle.get(place) & 0xff;
            case 2 -> pickle.getShort(place) & 0xffff;
            default -> pickle.getInt(place);
        };
    }

    /** How many bytes follow an operation, after the count of them if it has one; negative when that is not known. */
    private int length(int operation) {
        return switch (operation) {
            case 'K', 'h', 0x80, 0x82 -> 1;
            case 'M', 0x83 -> 2;
            case 'J', 'j', 0x84 -> 4;
            case 'G', 0x95 -> 8;
            case 'C', 'U', 0x8a, 0x8c -> counted(1);
            case 'B', 'T', 'X', 0x8b -> counted(4);
            case 0x8d, 0x8e, 0x96 -> counted(8);
            // With lines of text, or with places in the memory of their own: of protocols that nobody uses here.
            case 'F', 'I', 'L', 'P', 'S', 'V', 'c', 'g', 'i', 'p', 'q', 'r' -> -1;
            default -> 0;
        };
    }

    private int counted(int bytes) {
        if (pickle.remaining() < bytes) {
            return -1;
        }
        long count =
                switch (bytes) {
                    case 1 -> pickle.get() & 0xff;
                    case 4 -> pickle.getInt();
                    default -> pickle.getLong();
                };
        return count < 0 || count > pickle.remaining() ? -1 : (int) count;
    }
}
