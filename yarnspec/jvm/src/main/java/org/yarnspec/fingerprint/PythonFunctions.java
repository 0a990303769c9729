package org.yarnspec.fingerprint;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
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
public final class PythonFunctions {
    /** The name that a pickled function holds for each accumulator that it adds to (pyspark/accumulators.py). */
    private static final byte[] ACCUMULATOR = "_deserialize_accumulator".getBytes(StandardCharsets.US_ASCII);

    /** A command that is shorter holds no function: that is too long, and was made a broadcast variable. */
    private static final int SHORTEST = 200;

    private static final String UNREADABLE = "a broadcast variable of the program cannot be read in the driver";

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
        Map<Long, byte[]> contents = new HashMap<>();
        function.broadcastVars().forEach(each -> contents.put(each.id(), content(each)));
        List<PickledCalls.Call> calls = PickledCalls.broadcasts(command).stream()
                .filter(call -> contents.containsKey(call.number()))
                .toList();
        if (calls.stream().map(PickledCalls.Call::number).distinct().count() < contents.size()) {
            throw new Unknown("a function of the program names a broadcast variable in an unknown way");
        }
        into.add("python").add(function.pythonVer()).add(String.join("\n", function.pythonIncludes()));
        // Workers have them in os.environ; null when the program gives none.
        Map<String, String> environment = function.envVars();
        new TreeMap<>(environment == null ? Map.of() : environment)
                .forEach((name, value) -> into.add(name).add(value));
        for (PickledCalls.Call call : calls) {
            Arrays.fill(command, call.place(), call.place() + call.length(), (byte) 0);
            into.add("variable").add(call.place()).add(contents.get(call.number()));
        }
        into.add(command);
        return contain(function, ACCUMULATOR);
    }

    /** Whether bytes stand in a pickled function, which is a broadcast variable where it is long. */
    public static boolean contain(PythonFunction function, byte[] part) {
        byte[] command = command(function);
        return contains(command, command.length, part)
                || command.length < SHORTEST
                        && function.broadcastVars().stream().anyMatch(each -> contains(each, part));
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
        return CONTENTS.computeIfAbsent(
                variable, each -> digest(variable.value().path()));
    }

    private static byte[] digest(String path) {
        try {
            return Fingerprint.ofFile(Path.of(path));
        } catch (IOException | NullPointerException e) {
            throw new Unknown(UNREADABLE);
        }
    }

    private static boolean contains(Broadcast<PythonBroadcast> function, byte[] part) {
        try (InputStream in = Files.newInputStream(Path.of(function.value().path()))) {
            byte[] window = new byte[1 << 16];
            int kept = 0;
            for (int read; (read = in.readNBytes(window, kept, window.length - kept)) > 0; ) {
                int filled = kept + read;
                if (contains(window, filled, part)) {
                    return true;
                }
                kept = Math.min(filled, part.length - 1); // it may lie across the two
                System.arraycopy(window, filled - kept, window, 0, kept);
            }
            return false;
        } catch (IOException e) {
            throw new Unknown(UNREADABLE);
        }
    }

    private static boolean contains(byte[] bytes, int length, byte[] part) {
        for (int from = 0; from + part.length <= length; from++) {
            if (Arrays.equals(bytes, from, from + part.length, part, 0, part.length)) {
                return true;
            }
        }
        return false;
    }
}
