package org.yarnspec.channel;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HexFormat;
import org.junit.jupiter.api.Test;

/** The records that driver and negotiator exchange; the Python side reads and writes the same bytes. */
class FramesTest {
    private static final byte[] BLOB = {1, 2, 3};

    private static byte[] frame() throws IOException {
        return Frames.encode(Frames.header("map").put("index", 7), BLOB);
    }

    private static Frames.Frame read(byte[] bytes) throws IOException {
        return Frames.read(new ByteArrayInputStream(bytes));
    }

    @Test
    void whatIsWrittenIsRead() throws IOException {
        byte[] one = frame();
        byte[] two = Arrays.copyOf(one, one.length * 2);
        System.arraycopy(one, 0, two, one.length, one.length);
        ByteArrayInputStream in = new ByteArrayInputStream(two);
        for (int i = 0; i < 2; i++) {
            Frames.Frame frame = Frames.read(in);
            assertEquals(7, frame.header().get("index").asInt());
            assertArrayEquals(BLOB, frame.blob());
        }
        assertNull(Frames.read(in));
    }

    @Test
    void theBytesAreThoseOfTheOtherSide() throws IOException {
        // encode_frame({"kind": "map"}, b"\x01") of yarnspec/journal/frames.py
        byte[] bytes = Frames.encode(Frames.header("map"), new byte[] {1});
        assertEquals(
                "00000017" + "385817d2" + "0000000e" + HexFormat.of().formatHex("{\"kind\":\"map\"}".getBytes()) + "01",
                HexFormat.of().formatHex(bytes));
    }

    @Test
    void aCutFrameIsDamaged() throws IOException {
        byte[] whole = frame();
        for (int length = 1; length < whole.length; length++) {
            byte[] cut = Arrays.copyOf(whole, length);
            assertThrows(Frames.Damaged.class, () -> read(cut));
        }
    }

    @Test
    void everyChangedBitIsNoticed() throws IOException {
        byte[] whole = frame();
        for (int bit = 0; bit < whole.length * 8; bit++) {
            byte[] changed = whole.clone();
            changed[bit / 8] ^= (byte) (1 << bit % 8);
            assertThrows(Frames.Damaged.class, () -> read(changed));
        }
    }

    @Test
    void aLengthThatLiesCostsNoMemory() {
        byte[] bomb = ByteBuffer.allocate(12).putInt(Frames.LENGTH_MAX).array();
        assertThrows(Frames.Damaged.class, () -> read(bomb));
        byte[] longer = ByteBuffer.allocate(12).putInt(Frames.LENGTH_MAX + 1).array();
        assertThrows(Frames.Damaged.class, () -> read(longer));
        assertThrows(Frames.Damaged.class, () -> Frames.encode(Frames.header("map"), new byte[Frames.LENGTH_MAX]));
    }
}
