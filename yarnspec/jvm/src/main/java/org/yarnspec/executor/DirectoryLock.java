package org.yarnspec.executor;

import java.io.Closeable;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.HashSet;
import java.util.Set;

/**
 * The right to a block manager's directory: its executor holds it as long as its process exists, even one that is
 * stopped, and the kernel gives it back however the process ends.
 */
final class DirectoryLock implements Closeable {
    static final String FILE = "yarnspec-owner.lock";

    // Locks belong to the process, and the first channel on the file that it closes gives them up: a second one of this
    // process must not even be opened.
    private static final Set<Path> OPEN = new HashSet<>();

    private final Path file;
    private final FileChannel channel;

    private DirectoryLock(Path file, FileChannel channel) {
        this.file = file;
        this.channel = channel;
    }

    /** Takes the lock of a directory of this executor's own, which nobody else knows yet. */
    static DirectoryLock create(Path directory) throws IOException {
        Files.createFile(directory.resolve(FILE));
        DirectoryLock lock = tryTake(directory);
        if (lock == null) {
            throw new IOException("somebody else holds the lock of the new directory " + directory);
        }
        return lock;
    }

    /** The lock of a directory; null when its executor, or somebody who looks after what it left, has it. */
    static DirectoryLock tryTake(Path directory) throws IOException {
        Path file = directory.resolve(FILE);
        synchronized (OPEN) {
            if (OPEN.contains(file)) {
                return null;
            }
            FileChannel channel;
            try {
                channel = FileChannel.open(file, StandardOpenOption.WRITE);
            } catch (NoSuchFileException e) {
                return null; // the directory is being deleted
            }
            boolean taken = false;
            try {
                // Whoever deletes a directory deletes the lock's file with it, and we may have opened it just before.
                taken = channel.tryLock() != null && Files.exists(file);
            } finally {
                if (!taken) {
                    channel.close();
                }
            }
            if (taken) {
                OPEN.add(file);
            }
            return taken ? new DirectoryLock(file, channel) : null;
        }
    }

    @Override
    public void close() throws IOException {
        synchronized (OPEN) {
            OPEN.remove(file);
            channel.close();
        }
    }
}
