package org.yarnspec.fingerprint;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;

/** A digest over typed values; each says its kind and length, so that no two lists of values run into the same bytes. */
public final class Fingerprint {
    private final MessageDigest digest = sha256();

    static MessageDigest sha256() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e); // every Java has it
        }
    }

    /** The digest of a file's bytes. */
    static byte[] ofFile(Path file) throws IOException {
        MessageDigest digest = sha256();
        try (InputStream in = Files.newInputStream(file)) {
            byte[] buffer = new byte[1 << 16];
            for (int read = in.read(buffer); read >= 0; read = in.read(buffer)) {
                digest.update(buffer, 0, read);
            }
        }
        return digest.digest();
    }

    public Fingerprint add(String text) {
        return add('s', text.getBytes(StandardCharsets.UTF_8));
    }

    public Fingerprint add(long number) {
        return add('n', ByteBuffer.allocate(8).putLong(number).array());
    }

    public Fingerprint add(byte[] bytes) {
        return add('b', bytes);
    }

    /** No value, which is none of any other kind. */
    Fingerprint addNone() {
        return add('0', new byte[0]);
    }

    private Fingerprint add(char kind, byte[] bytes) {
        digest.update(
                ByteBuffer.allocate(5).put((byte) kind).putInt(bytes.length).array());
        digest.update(bytes);
        return this;
    }

    /** Adds fingerprints that come in no order of their own. */
    Fingerprint addUnordered(List<byte[]> fingerprints) {
        byte[][] sorted = fingerprints.toArray(new byte[0][]);
        Arrays.sort(sorted, Arrays::compare);
        add(sorted.length);
        for (byte[] each : sorted) {
            add(each);
        }
        return this;
    }

    byte[] bytes() {
        return digest.digest();
    }

    public String hex() {
        return HexFormat.of().formatHex(bytes());
    }
}
