package org.yarnspec.fingerprint;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Where a pickled function names broadcast variables. */
class PickledCallsTest {
    /** The function by its module and its name; remembered: 0 module, 1 name, 2 function. */
    static final String FUNCTION = global("pyspark.core.broadcast", "_from_id");

    private static final String CALL = "85" + "94" + "52" + "94";

    private static String text(String value) {
        byte[] bytes = value.getBytes(StandardCharsets.US_ASCII);
        return "8c" + HexFormat.of().toHexDigits((byte) bytes.length)
                + HexFormat.of().formatHex(bytes) + "94";
    }

    private static String global(String module, String name) {
        return text(module) + text(name) + "93" + "94";
    }

    private static List<Long> found(String operations) {
        return PickledCalls.broadcasts(pickle(operations)).stream()
                .map(PickledCalls.Call::number)
                .toList();
    }

    private static byte[] pickle(String operations) {
        return HexFormat.of().parseHex("8005" + "95ff00000000000000" + operations + "2e");
    }

    /** {@code pickle.dumps((a, http.HTTPStatus(200), b, c, "_from_id"), 5)}, the variables 5, 300 and 200. */
    @Test
    void asPythonWritesIt() {
        String pickle =
                "8005955f00000000000000288c167079737061726b2e636f72652e62726f616463617374948c085f66726f6d5f69649493944b"
                        + "05859452948c0468747470948c0a485454505374617475739493944bc88594529468024d2c018594529468024bc8859452946801"
                        + "74942e";
        List<Long> numbers = PickledCalls.broadcasts(HexFormat.of().parseHex(pickle)).stream()
                .map(PickledCalls.Call::number)
                .toList();
        assertEquals(List.of(5L, 300L, 200L), numbers);
    }

    @Test
    void aNumberIsFoundAtEachOfItsLengths() {
        for (String number : List.of("4b05", "4d0102", "4a01020300")) {
            byte[] pickle = pickle("28" + FUNCTION + number + CALL);
            PickledCalls.Call call = PickledCalls.broadcasts(pickle).get(0);
            assertEquals(number.length() / 2 - 1, call.length());
            byte[] there = Arrays.copyOfRange(pickle, call.place(), call.place() + call.length());
            assertEquals(number.substring(2), HexFormat.of().formatHex(there));
        }
        assertEquals(List.of(5L), found(FUNCTION + "4b05" + CALL));
        assertEquals(List.of(0x201L), found(FUNCTION + "4d0102" + CALL));
        assertEquals(List.of(0x30201L), found(FUNCTION + "4a01020300" + CALL));
    }

    @Test
    void theFunctionOrItsNameMayHaveBeenMentionedBefore() {
        assertEquals(List.of(5L, 6L), found(FUNCTION + "4b05" + CALL + "6802" + "4b06" + CALL));
        assertEquals(List.of(5L, 6L), found(FUNCTION + "4b05" + CALL + "6a02000000" + "4b06" + CALL));
        assertEquals(
                List.of(6L), found(text("_from_id") + text("pyspark.broadcast") + "6800" + "9394" + "4b06" + CALL));
    }

    @Test
    void otherCallsWithTheSameNumberAreNotMeant() {
        String other = global("colours", "Colour") + "4b05" + CALL;
        assertEquals(List.of(), found(other));
        assertEquals(List.of(5L), found(other + FUNCTION + "4b05" + CALL + other));
        assertEquals(
                List.of(5L), found(FUNCTION + "4b05" + CALL + global("colours", "Colour") + "4b06" + CALL + "6801"));
        assertEquals(List.of(), found(FUNCTION + "30" + "4b05" + CALL));
        assertEquals(List.of(), found(FUNCTION + "4b054b06" + "86" + "52"));
    }

    @Test
    void whatIsInsideOfAnotherValueIsNoCall() {
        String call = FUNCTION + "4b05" + CALL;
        assertEquals(List.of(), found("43" + HexFormat.of().toHexDigits((byte) (call.length() / 2)) + call));
        assertEquals(List.of(7L), found("8e" + "0400000000000000" + "4b058594" + FUNCTION + "4b07" + CALL));
    }

    @Test
    void whatIsNotUnderstoodEndsTheSearch() {
        String call = FUNCTION + "4b05" + CALL;
        assertEquals(List.of(5L), found(call + "63" + "610a620a" + call));
        byte[] whole = pickle(call + call);
        for (int length = 0; length < whole.length; length++) {
            assertTrue(PickledCalls.broadcasts(Arrays.copyOf(whole, length)).size() <= 2);
        }
        assertEquals(List.of(), found("8d" + "ffffffffffffff7f" + call));
        assertEquals(List.of(), found("58" + "ffffffff" + call));
    }
}
