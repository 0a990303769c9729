package org.apache.spark.scheduler.cluster.yarnspec;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.api.python.SimplePythonFunction;
import org.junit.jupiter.api.Test;

/** Where a pickled function names broadcast variables. */
class PythonFunctionsTest {
    private static byte[] bytes(String hex) {
        return HexFormat.of().parseHex(hex);
    }

    @Test
    void aNumberIsFoundAtEachOfItsLengthsAndOnlyInACall() {
        assertEquals(List.of(2), PythonFunctions.places(bytes("934b" + "05" + "859452" + "2e"), 5));
        assertEquals(List.of(2), PythonFunctions.places(bytes("934d" + "0102" + "859452" + "2e"), 0x201));
        assertEquals(List.of(2), PythonFunctions.places(bytes("934a" + "01020300" + "859452" + "2e"), 0x30201));
        assertEquals(List.of(2, 9), PythonFunctions.places(bytes("934b05859452" + "94684b05859452"), 5));
        assertEquals(List.of(), PythonFunctions.places(bytes("934b05859452"), 6));
        assertEquals(List.of(), PythonFunctions.places(bytes("934b058694522e"), 5));
        assertEquals(List.of(), PythonFunctions.places(bytes("934b05"), 5));
        assertEquals(List.of(), PythonFunctions.places(bytes("934d05"), 5));
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
