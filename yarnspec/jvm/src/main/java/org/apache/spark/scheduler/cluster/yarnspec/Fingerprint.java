package org.apache.spark.scheduler.cluster.yarnspec;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;

/** A digest over typed values; each says its kind and length, so that no two lists of values run into the same bytes. */
final class Fingerprint {
    private final MessageDigest digest = sha256();

    static MessageDigest sha256() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e); // every Java has it
        }
    }

    Fingerprint add(String text) {
        return add('s', text.getBytes(StandardCharsets.UTF_8));
    }

    Fingerprint add(long number) {
        return add('n', ByteBuffer.allocate(8).putLong(number).array());
    }

    Fingerprint add(byte[] bytes) {
        return add('b', bytes);
    }

    private Fingerprint add(char kind, byte[] bytes) {
        digest.update(ByteBuffer.allocate(5).put((byte) kind).putInt(bytes.length).array());
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

    String hex() {
        return HexFormat.of().formatHex(bytes());
    }
}
