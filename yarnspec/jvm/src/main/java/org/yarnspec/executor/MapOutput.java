package org.yarnspec.executor;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.LongBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.Adler32;
import java.util.zip.CRC32;
import java.util.zip.CRC32C;
import java.util.zip.Checksum;

/**
 * The files of one map output, as Spark's sort shuffle writes them: the data of all reducers in a row, where each
 * reducer's part begins, and a checksum of each part.
 */
final class MapOutput {
    private static final int BUFFER_BYTES = 1 << 18;

    private final OutputName name;
    private Path index;
    private Path data;
    private Path sums;
    private String algorithm;
    private long dataBytes;
    private long bytes;
    private long writtenMs;

    MapOutput(OutputName name) {
        this.name = name;
    }

    void index(Path file, BasicFileAttributes attributes) {
        index = file;
        count(attributes);
    }

    void data(Path file, BasicFileAttributes attributes) {
        data = file;
        dataBytes = attributes.size();
        count(attributes);
    }

    void checksums(Path file, String algorithm, BasicFileAttributes attributes) {
        sums = file;
        this.algorithm = algorithm;
        count(attributes);
    }

    private void count(BasicFileAttributes attributes) {
        bytes += attributes.size();
        writtenMs = Math.max(writtenMs, attributes.lastModifiedTime().toMillis());
    }

    OutputName name() {
        return name;
    }

    /** The disk space of all its files. */
    long bytes() {
        return bytes;
    }

    long writtenMs() {
        return writtenMs;
    }

    /** Its files in the order in which they must appear: Spark takes an output for present when its index is there. */
    List<Path> files() {
        List<Path> files = new ArrayList<>();
        for (Path file : new Path[] {data, sums, index}) {
            if (file != null) {
                files.add(file);
            }
        }
        return files;
    }

    /** Removes its files, the index first, so that what is left of it is never taken for an output. */
    void delete() throws IOException {
        List<Path> files = files();
        for (int i = files.size() - 1; i >= 0; i--) {
            Files.deleteIfExists(files.get(i));
        }
    }

    /** How many bytes each reducer's part has, after a look at whether the files fit together. */
    long[] sizes() throws IOException, Damage {
        if (index == null) {
            throw new Damage("missing index");
        }
        LongBuffer offsets = longs(index, "broken index");
        if (offsets.remaining() < 2 || offsets.get(0) != 0) {
            throw new Damage("broken index");
        }
        long[] sizes = new long[offsets.remaining() - 1];
        for (int i = 0; i < sizes.length; i++) {
            sizes[i] = offsets.get(i + 1) - offsets.get(i);
            if (sizes[i] < 0) {
                throw new Damage("broken index");
            }
        }
        long end = offsets.get(sizes.length);
        // Spark leaves out the data of a map that wrote nothing.
        if (data == null && end > 0) {
            throw new Damage("missing data");
        }
        if (end != dataBytes) {
            throw new Damage("length differs");
        }
        return sizes;
    }

    /**
     * Reads all the data and compares each part with its checksum.
     *
     * @param expected whether Spark writes checksums: then an output without them is incomplete
     */
    void verify(long[] sizes, boolean expected) throws IOException, Damage {
        if (dataBytes == 0) {
            return; // nothing that could have changed, and Spark writes no checksums for it
        }
        if (sums == null) {
            if (expected) {
                throw new Damage("missing checksums");
            }
            return;
        }
        LongBuffer saved = longs(sums, "broken checksums");
        if (saved.remaining() != sizes.length) {
            throw new Damage("broken checksums");
        }
        Checksum checksum = checksum();
        byte[] buffer = new byte[(int) Math.min(BUFFER_BYTES, dataBytes)];
        try (InputStream in = Files.newInputStream(data)) {
            for (int part = 0; part < sizes.length; part++) {
                if (sizes[part] == 0) {
                    continue; // its checksum is whatever the algorithm begins with, or 0
                }
                checksum.reset();
                for (long left = sizes[part]; left > 0; ) {
                    int count = in.read(buffer, 0, (int) Math.min(buffer.length, left));
                    if (count < 0) {
                        throw new Damage("length differs");
                    }
                    checksum.update(buffer, 0, count);
                    left -= count;
                }
                if (checksum.getValue() != saved.get(part)) {
                    throw new Damage("checksum differs");
                }
            }
        }
    }

    /** By the file's own name: {@code spark.shuffle.checksum.algorithm} may be another one by now. */
    private Checksum checksum() throws Damage {
        return switch (algorithm) {
            case "ADLER32" -> new Adler32();
            case "CRC32" -> new CRC32();
            case "CRC32C" -> new CRC32C();
            default -> throw new Damage("unknown checksums");
        };
    }

    private static LongBuffer longs(Path file, String damage) throws IOException, Damage {
        byte[] bytes = Files.readAllBytes(file);
        if (bytes.length % Long.BYTES != 0) {
            throw new Damage(damage);
        }
        return ByteBuffer.wrap(bytes).asLongBuffer();
    }
}
