package org.yarnspec.fingerprint;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.api.python.PythonBroadcast;
import org.apache.spark.api.python.SimplePythonFunction;
import org.apache.spark.broadcast.Broadcast;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What of a pickled function counts. */
class PythonFunctionsTest {
    @TempDir
    private Path directory;

    private static byte[] bytes(String hex) {
        return HexFormat.of().parseHex(hex);
    }

    @Test
    void theEnvironmentOfItsWorkersCounts() {
        String first = fingerprint(Map.of("CUTOFF", "1", "REGION", "north"));
        assertEquals(first, fingerprint(new TreeMap<>(Map.of("REGION", "north", "CUTOFF", "1"))));
        assertNotEquals(first, fingerprint(Map.of("CUTOFF", "2", "REGION", "north")));
        assertNotEquals(first, fingerprint(Map.of("CUTOFF", "1")));
    }

    private static String fingerprint(Map<String, String> environment) {
        Fingerprint into = new Fingerprint();
        PythonFunctions.add(into, function(bytes("934b05"), environment, List.of()));
        return into.hex();
    }

    private static SimplePythonFunction function(
            byte[] command, Map<String, String> environment, List<Broadcast<PythonBroadcast>> variables) {
        return new SimplePythonFunction(command, environment, List.of(), "python3", "3.11", variables, null);
    }

    @Test
    void broadcastVariablesCountByTheirContentAndLongFunctionsCountInAccumulators() throws IOException {
        SparkConf conf = new SparkConf()
                .setMaster("local[1]")
                .setAppName("functions")
                .set("spark.driver.host", "127.0.0.1")
                .set("spark.driver.bindAddress", "127.0.0.1")
                .set("spark.ui.enabled", "false");
        try (JavaSparkContext context = new JavaSparkContext(conf)) {
            Broadcast<PythonBroadcast> first = variable(context, "first", "x".repeat(100_000));
            Broadcast<PythonBroadcast> same = variable(context, "same", "x".repeat(100_000));
            // Where it is read in parts, this lies in two of them.
            Broadcast<PythonBroadcast> counts = variable(
                    context, "counts", "x".repeat((1 << 16) - 5) + "_deserialize_accumulator" + "x".repeat(99));
            Fingerprint ofFirst = new Fingerprint();
            Fingerprint ofSame = new Fingerprint();
            Fingerprint ofOther = new Fingerprint();
            assertFalse(PythonFunctions.add(ofFirst, call(first, first)));
            assertFalse(PythonFunctions.add(ofSame, call(same, same)));
            assertTrue(PythonFunctions.add(ofOther, call(counts, counts)));
            String known = ofFirst.hex();
            assertEquals(known, ofSame.hex());
            assertNotEquals(known, ofOther.hex());
            assertThrows(Unknown.class, () -> PythonFunctions.add(new Fingerprint(), call(first, same)));
        }
    }

    private Broadcast<PythonBroadcast> variable(JavaSparkContext context, String name, String content)
            throws IOException {
        return context.broadcast(new PythonBroadcast(
                Files.writeString(directory.resolve(name), content).toString()));
    }

    /** What is sent instead of a function that is too long: a call that makes the variable, and nothing else. */
    private static SimplePythonFunction call(Broadcast<PythonBroadcast> named, Broadcast<PythonBroadcast> variable) {
        String number = HexFormat.of().toHexDigits((byte) named.id());
        byte[] command = bytes("8005" + PickledCallsTest.FUNCTION + "4b" + number + "859452942e");
        return function(command, Map.of(), List.of(variable));
    }
}
