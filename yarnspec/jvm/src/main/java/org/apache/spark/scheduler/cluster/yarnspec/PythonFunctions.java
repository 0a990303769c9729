package org.apache.spark.scheduler.cluster.yarnspec;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
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

    private static final Map<Object, byte[]> CONTENTS = Collections.synchronizedMap(new WeakHashMap<>());

    private PythonFunctions() {}

    /**
     * Adds a function. The command names broadcast variables by numbers that Spark gave them; where those numbers come
     * out differently in the next driver, the function is another one.
     *
     * @return whether it adds to one of the program's accumulators
     */
    static boolean add(Fingerprint into, PythonFunction function) {
        byte[] command = command(function);
        into.add("python").add(command).add(function.pythonVer());
        into.add(String.join("\n", function.pythonIncludes()));
        List<byte[]> variables = new ArrayList<>();
        for (Broadcast<PythonBroadcast> each : function.broadcastVars()) {
            variables.add(new Fingerprint().add(each.id()).add(content(each)).bytes());
        }
        into.addUnordered(variables); // Python keeps them in a set
        return accumulates(command);
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
        MessageDigest digest = Fingerprint.sha256();
        try (InputStream in = Files.newInputStream(Path.of(path))) {
            byte[] buffer = new byte[1 << 16];
            for (int read = in.read(buffer); read >= 0; read = in.read(buffer)) {
                digest.update(buffer, 0, read);
            }
        } catch (IOException | NullPointerException e) {
            throw new Unknown("a broadcast variable of the program cannot be read in the driver");
        }
        return digest.digest();
    }

    /** Whether the function adds to one of the program's accumulators. */
    private static boolean accumulates(byte[] bytes) {
        for (int from = 0; from + ACCUMULATOR.length <= bytes.length; from++) {
            int same = 0;
            while (same < ACCUMULATOR.length && bytes[from + same] == ACCUMULATOR[same]) {
                same++;
            }
            if (same == ACCUMULATOR.length) {
                return true;
            }
        }
        return false;
    }
}
