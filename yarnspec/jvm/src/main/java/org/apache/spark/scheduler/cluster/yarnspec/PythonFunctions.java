package org.apache.spark.scheduler.cluster.yarnspec;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.WeakHashMap;
import org.apache.spark.api.python.PythonBroadcast;
import org.apache.spark.api.python.PythonFunction;
import org.apache.spark.broadcast.Broadcast;
import scala.collection.immutable.ArraySeq;
import scala.collection.immutable.Seq;

/** The program's own functions: their pickled code, and the content of the broadcast variables that they read. */
final class PythonFunctions {
    /** What a pickled function holds for each accumulator that it adds to (pyspark/accumulators.py). */
    private static final byte[] ACCUMULATOR = "_deserialize_accumulator".getBytes(StandardCharsets.US_ASCII);

    /** What follows on the argument of a call in a pickle: TUPLE1, MEMOIZE, REDUCE. */
    private static final byte[] CALL = {(byte) 0x85, (byte) 0x94, 'R'};

    private static final Map<Object, byte[]> CONTENTS = Collections.synchronizedMap(new WeakHashMap<>());

    private PythonFunctions() {}

    /**
     * Adds a function. Its command names broadcast variables by numbers that Spark gave them, and which a driver that has
     * less to do gives to others: there the contents stand in, in the order in which the command names them.
     *
     * @return whether it adds to one of the program's accumulators
     */
    static boolean add(Fingerprint into, PythonFunction function) {
        byte[] command = command(function).clone();
        List<Named> named = new ArrayList<>();
        for (Broadcast<PythonBroadcast> each : function.broadcastVars()) {
            byte[] content = content(each);
            List<Integer> places = places(command, each.id());
            if (places.isEmpty()) {
                throw new Unknown("a function of the program names a broadcast variable in an unknown way");
            }
            places.forEach(place -> named.add(new Named(place, content)));
        }
        named.sort(Comparator.comparingInt(Named::place));
        into.add("python").add(function.pythonVer()).add(String.join("\n", function.pythonIncludes()));
        // Workers have them in os.environ; null when the program gives none.
        Map<String, String> environment = function.envVars();
        new TreeMap<>(environment == null ? Map.of() : environment).forEach((name, value) -> into.add(name).add(value));
        for (Named each : named) {
            Arrays.fill(command, each.place(), each.place() + numberLength(command, each.place() - 1), (byte) 0);
            into.add("variable").add(each.place()).add(each.content());
        }
        into.add(command);
        return contains(command, ACCUMULATOR);
    }

    /** Where in a command the number of a broadcast variable stands, and what the variable holds. */
    private record Named(int place, byte[] content) {}

    /**
     * Where a pickle calls something with this number alone, as it does to make a broadcast variable: the number, a tuple
     * of one, remembered, the call.
     */
    static List<Integer> places(byte[] command, long id) {
        List<Integer> found = new ArrayList<>();
        for (int at = 0; at < command.length; at++) {
            int length = numberLength(command, at);
            int after = at + 1 + length;
            if (length > 0
                    && after + CALL.length <= command.length
                    && number(command, at + 1, length) == id
                    && Arrays.equals(command, after, after + CALL.length, CALL, 0, CALL.length)) {
                found.add(at + 1);
            }
        }
        return found;
    }

    /** How many bytes the number behind an operation of pickle's has; 0 when it is another operation. */
    private static int numberLength(byte[] command, int operation) {
        return switch (command[operation]) {
            case 'K' -> 1;
            case 'M' -> 2;
            case 'J' -> 4;
            default -> 0;
        };
    }

    private static long number(byte[] command, int from, int length) {
        long number = 0;
        for (int i = Math.min(length, command.length - from) - 1; i >= 0; i--) {
            number = number << 8 | command[from + i] & 0xff;
        }
        return number;
    }

    private static byte[] command(PythonFunction function) {
        Seq<Object> bytes = function.command();
        if (bytes instanceof ArraySeq.ofByte wrapped) {
            return wrapped.unsafeArray();
        }
        byte[] copy = new byte[bytes.length()];
        for (int i = 0; i < copy.length; i++) {
            copy[i] = (Byte) bytes.apply(i);
        }
        return copy;
    }

    private static byte[] content(Broadcast<PythonBroadcast> variable) {
        return CONTENTS.computeIfAbsent(variable, each -> digest(variable.value().path()));
    }

    private static byte[] digest(String path) {
        try {
            return Fingerprint.ofFile(Path.of(path));
        } catch (IOException | NullPointerException e) {
            throw new Unknown("a broadcast variable of the program cannot be read in the driver");
        }
    }

    private static boolean contains(byte[] bytes, byte[] part) {
        for (int from = 0; from + part.length <= bytes.length; from++) {
            if (Arrays.equals(bytes, from, from + part.length, part, 0, part.length)) {
                return true;
            }
        }
        return false;
    }
}
