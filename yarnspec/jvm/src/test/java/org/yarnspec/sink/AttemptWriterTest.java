package org.yarnspec.sink;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.Iterator;
import java.util.List;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.CreateFlag;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.FilterFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.util.Progressable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Attempts that die at each of their operations, and such that come after the output was published. */
class AttemptWriterTest {
    private static final String NAME = "00007.e1.t42";
    private static final byte[] PIECE = "one piece, ".getBytes(StandardCharsets.UTF_8);

    @TempDir
    java.nio.file.Path place;

    private java.nio.file.Path attempts;
    private FileSystem local;

    @BeforeEach
    void begin() throws IOException {
        attempts = Files.createDirectory(place.resolve("an attempts' directory %20"));
        local = FileSystem.getLocal(new Configuration()).getRawFileSystem();
    }

    private long write(FileSystem files, Iterator<byte[]> pieces) throws IOException {
        return AttemptWriter.write(files, new Path(attempts.toString()), NAME, pieces);
    }

    private static Iterator<byte[]> pieces(int count) {
        return Stream.generate(() -> PIECE).limit(count).iterator();
    }

    private TreeMap<String, Long> there() throws IOException {
        TreeMap<String, Long> found = new TreeMap<>();
        try (Stream<java.nio.file.Path> all = Files.list(attempts)) {
            for (java.nio.file.Path each : all.toList()) {
                found.put(each.getFileName().toString(), Files.size(each));
            }
        }
        return found;
    }

    @Test
    void aWholeFileHasItsNameAndNothingIsBesideIt() throws IOException {
        assertEquals(3 * PIECE.length, write(local, pieces(3)));
        assertEquals("{" + NAME + "=" + 3 * PIECE.length + "}", there().toString());
        assertArrayEquals(
                "one piece, ".repeat(3).getBytes(StandardCharsets.UTF_8), Files.readAllBytes(attempts.resolve(NAME)));
    }

    @Test
    void anEmptyPartitionHasAnEmptyFile() throws IOException {
        assertEquals(0, write(local, pieces(0)));
        assertEquals("{" + NAME + "=0}", there().toString());
    }

    @Test
    void killedAtEachOperationItLeavesNoFileThatLooksWhole() throws IOException {
        // As a JVM that dies leaves it: not even its cleaning up happens.
        List<String> points = new ArrayList<>();
        for (int at = 0; ; at++) {
            MortalFiles mortal = new MortalFiles(local, at);
            try {
                write(mortal, pieces(3));
                break;
            } catch (Killed e) {
                points.add(mortal.seen.get(at));
            }
            assertTrue(
                    there().keySet().stream().allMatch(name -> name.endsWith(AttemptWriter.WRITING)), points::toString);
            // Another attempt of the name cannot come, as Spark gives no number twice.
            Files.deleteIfExists(attempts.resolve(NAME + AttemptWriter.WRITING));
        }
        assertEquals(List.of("create", "write", "write", "write", "close", "rename"), points);
    }

    @Test
    void anErrorOfTheWriterLeavesNothing() throws IOException {
        Iterator<byte[]> failing = Stream.iterate(0, i -> i + 1)
                .map(i -> {
                    if (i == 2) {
                        throw new UncheckedIOException(new IOException("of the user's"));
                    }
                    return PIECE;
                })
                .iterator();
        assertThrows(UncheckedIOException.class, () -> write(local, failing));
        assertEquals("{}", there().toString());
    }

    @Test
    void aLoserThatBeginsAfterPublicationFailsAndMakesNothing() throws IOException {
        Files.delete(attempts);
        assertThrows(FileNotFoundException.class, () -> write(local, pieces(1)));
        assertTrue(Files.notExists(attempts));
    }

    @Test
    void aLoserThatFinishesAfterPublicationFailsAndMakesNothing() throws IOException {
        java.nio.file.Path away = place.resolve("attempts.swept");
        Iterator<byte[]> some = pieces(3);
        Iterator<byte[]> slow = new Iterator<>() {
            private int given;

            @Override
            public boolean hasNext() {
                return some.hasNext();
            }

            @Override
            public byte[] next() {
                if (++given == 2) {
                    sweep(away);
                }
                return some.next();
            }
        };
        assertThrows(IOException.class, () -> write(local, slow));
        assertTrue(Files.notExists(attempts));
        assertTrue(Files.notExists(away));
    }

    /** What the driver does after it has taken the winners. */
    private void sweep(java.nio.file.Path away) {
        try {
            Files.move(attempts, away);
            local.delete(new Path(away.toString()), true);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static final class Killed extends Error {
        private static final long serialVersionUID = 1;
    }

    /** Dies when it comes to its n-th operation, and does nothing from then on. */
    private static final class MortalFiles extends FilterFileSystem {
        private final int diesAt;
        private final List<String> seen = new ArrayList<>();

        MortalFiles(FileSystem files, int diesAt) {
            super(files);
            this.diesAt = diesAt;
        }

        private void come(String operation) {
            seen.add(operation);
            if (seen.size() > diesAt) {
                throw new Killed();
            }
        }

        @Override
        public FSDataOutputStream createNonRecursive(
                Path path,
                FsPermission permission,
                EnumSet<CreateFlag> flags,
                int buffer,
                short replication,
                long block,
                Progressable progress)
                throws IOException {
            come("create");
            FSDataOutputStream out =
                    super.createNonRecursive(path, permission, flags, buffer, replication, block, progress);
            return new FSDataOutputStream(out, null) {
                @Override
                public void write(byte[] bytes) throws IOException {
                    come("write");
                    super.write(bytes);
                }

                @Override
                public void close() throws IOException {
                    come("close");
                    super.close();
                }
            };
        }

        @Override
        public boolean rename(Path source, Path target) throws IOException {
            come("rename");
            return super.rename(source, target);
        }

        @Override
        public boolean delete(Path path, boolean recursive) throws IOException {
            come("delete");
            return super.delete(path, recursive);
        }
    }
}
