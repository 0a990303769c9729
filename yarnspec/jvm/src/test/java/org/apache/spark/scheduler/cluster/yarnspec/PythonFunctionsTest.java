package org.apache.spark.scheduler.cluster.yarnspec;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.api.python.SimplePythonFunction;
import org.junit.jupiter.api.Test;

/** What of a pickled function counts. */
class PythonFunctionsTest {
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
        byte[] command = bytes("934b05");
        PythonFunctions.add(
                into,
                new SimplePythonFunction(command, environment, List.of(), "python3", "3.11", List.of(), null));
        return into.hex();
    }
}
