package org.yarnspec.channel;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.zip.CRC32C;

/**
 * The one shape in which records travel between driver and negotiator, in files and on sockets: a checksum, a JSON
 * object that both read, and bytes that only the driver understands.
 *
 * <p>{@code u32 length of the rest | u32 CRC-32C of the body | body}, where the body is
 * {@code u32 length of the header | header | blob}; all big-endian.
 */
public final class Frames {
    /** Longer ones are refused on both sides: a damaged length must not cost memory. */
    public static final int LENGTH_MAX = 64 << 20;

    private static final int CHECKSUM_BYTES = 4;
    private static final int HEADER_LENGTH_BYTES = 4;
    private static final int LEAST = CHECKSUM_BYTES + HEADER_LENGTH_BYTES + 2; // the least header is {}
    private static final ObjectMapper JSON = new ObjectMapper();

    private Frames() {}

    /** One record: what both sides read, and what is opaque. */
    public record Frame(ObjectNode header, byte[] blob) {}

    /** A frame that is cut, altered, too long, or no frame at all. */
    public static final class Damaged extends IOException {
        private static final long serialVersionUID = 1;

        Damaged(String why) {
            super(why);
        }
    }

    public static ObjectNode header(String kind) {
        return JSON.createObjectNode().put("kind", kind);
    }

    /** The bytes of a frame; throws Damaged when it would be too long. */
    public static byte[] encode(ObjectNode header, byte[] blob) throws IOException {
        byte[] text = JSON.writeValueAsBytes(header);
        long rest = (long) CHECKSUM_BYTES + HEADER_LENGTH_BYTES + text.length + blob.length;
        if (rest > LENGTH_MAX) {
            throw new Damaged("a frame of " + rest + " bytes is longer than " + LENGTH_MAX);
        }
        ByteBuffer frame = ByteBuffer.allocate(4 + (int) rest);
        frame.putInt((int) rest).putInt(0).putInt(text.length).put(text).put(blob);
        frame.putInt(4, checksum(frame.array(), 8, (int) rest - CHECKSUM_BYTES));
        return frame.array();
    }

    /** The next frame; null at the end of the stream, Damaged when the stream ends within a frame. */
    public static Frame read(InputStream stream) throws IOException {
        DataInputStream in = new DataInputStream(stream);
        int first = in.read();
        if (first < 0) {
            return null;
        }
        try {
            int length = first << 24 | in.readUnsignedByte() << 16 | in.readUnsignedShort();
            if (length < LEAST || length > LENGTH_MAX) {
                throw new Damaged("a frame cannot be " + Integer.toUnsignedString(length) + " bytes long");
            }
            int expected = in.readInt();
            // Grows with what is really there: a length that lies costs nothing.
            byte[] body = in.readNBytes(length - CHECKSUM_BYTES);
            if (body.length < length - CHECKSUM_BYTES) {
                throw new EOFException();
            }
            if (checksum(body, 0, body.length) != expected) {
                throw new Damaged("the checksum of a frame is wrong");
            }
            return decode(ByteBuffer.wrap(body));
        } catch (EOFException e) {
            throw new Damaged("the stream ends within a frame");
        }
    }

    private static Frame decode(ByteBuffer body) throws IOException {
        int headerLength = body.getInt();
        if (headerLength < 0 || headerLength > body.remaining()) {
            throw new Damaged("the header of a frame is longer than the frame");
        }
        byte[] text = new byte[headerLength];
        body.get(text);
        byte[] blob = new byte[body.remaining()];
        body.get(blob);
        JsonNode header;
        try {
            header = JSON.readTree(new String(text, StandardCharsets.UTF_8));
        } catch (JsonProcessingException e) {
            throw new Damaged("the header of a frame is not JSON: " + e.getOriginalMessage());
        }
        if (header instanceof ObjectNode object) {
            return new Frame(object, blob);
        }
        throw new Damaged("the header of a frame is not an object");
    }

    private static int checksum(byte[] bytes, int from, int length) {
        CRC32C checksum = new CRC32C();
        checksum.update(bytes, from, length);
        return (int) checksum.getValue();
    }
}
