package org.yarnspec.executor;

import java.io.Closeable;
import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The directories that one executor of this application has, or had, on this host: one on each disk. */
final class GoneExecutor {
    private static final Logger LOG = LoggerFactory.getLogger(GoneExecutor.class);
    private static final String DIRECTORIES = "blockmgr-*";
    private static final Pattern OUTPUT =
            Pattern.compile("shuffle_(\\d{1,9})_(\\d{1,18})_0\\.(?:(index)|(data)|checksum\\.(\\w+))");

    private final Owner owner;
    private final List<Path> directories = new ArrayList<>();
    private IOException unseen;

    /**
     * @param listed whether nobody who has anything here was overlooked, unless by an unreadable record
     * @param all whether there is no such record either
     */
    record Found(Collection<GoneExecutor> executors, boolean listed, boolean all) {}

    private GoneExecutor(Owner owner) {
        this.owner = owner;
    }

    Owner owner() {
        return owner;
    }

    /**
     * All executors of an application that have directories here, living ones as well. With only half of what it has nobody
     * could tell what is missing from what is not seen: who may have more than what can be read cannot be taken.
     *
     * @param roots those of YARN's {@code LOCAL_DIRS} in which Spark could make a directory for this executor
     * @param own directories to leave out
     */
    static Found find(Collection<Path> roots, Set<Path> own, String application) {
        Map<String, GoneExecutor> found = new TreeMap<>();
        Map<Path, IOException> unreadable = new HashMap<>();
        boolean listed = true;
        for (Path root : roots) {
            try (DirectoryStream<Path> directories = Files.newDirectoryStream(root, DIRECTORIES)) {
                for (Path directory : directories) {
                    try {
                        Owner owner = own.contains(directory) ? null : Owner.read(directory);
                        if (owner != null && owner.application().equals(application)) {
                            String name = owner.epoch() + " " + owner.executorId() + " " + owner.processId();
                            found.computeIfAbsent(name, any -> new GoneExecutor(owner))
                                    .directories
                                    .add(directory);
                        }
                    } catch (IOException e) {
                        unreadable.put(root, e);
                    }
                }
            } catch (NoSuchFileException e) {
                // A disk that is not there holds nothing.
            } catch (IOException | DirectoryIteratorException e) {
                listed = false;
                LOG.warn("{} cannot be read: {}", root, e.toString());
            }
        }
        found.values().forEach(each -> unreadable.forEach(each::mayHaveMore));
        return new Found(found.values(), listed, listed && unreadable.isEmpty());
    }

    private void mayHaveMore(Path root, IOException unreadable) {
        if (directories.stream().noneMatch(each -> each.getParent().equals(root))) {
            unseen = unreadable;
        }
    }

    /** Takes the directories for the caller; null when the executor lives, or somebody else has them. */
    Hold tryTake() throws IOException {
        if (unseen != null) {
            throw new IOException("a local directory in which it may have files cannot be read", unseen);
        }
        Hold hold = new Hold();
        boolean all = false;
        try {
            for (Path directory : directories) {
                DirectoryLock lock = DirectoryLock.tryTake(directory);
                if (lock == null) {
                    return null;
                }
                hold.locks.add(lock);
            }
            all = true;
            return hold;
        } finally {
            if (!all) {
                hold.close();
            }
        }
    }

    /** Lists the map outputs in a block manager's directories, and deletes all other blocks. */
    static List<MapOutput> outputsOnly(Collection<Path> directories) throws IOException {
        Map<OutputName, MapOutput> outputs = new LinkedHashMap<>();
        for (Path directory : directories) {
            Files.walkFileTree(directory, new SimpleFileVisitor<>() {
                @Override
                public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
                    if (!file.getParent().equals(directory) && !add(outputs, file, attributes)) {
                        Files.deleteIfExists(file);
                    }
                    return FileVisitResult.CONTINUE;
                }

                @Override
                public FileVisitResult visitFileFailed(Path file, IOException error) throws IOException {
                    if (error instanceof NoSuchFileException) {
                        return FileVisitResult.CONTINUE; // deleted just now: the executor's last tasks still run
                    }
                    throw error;
                }
            });
        }
        return new ArrayList<>(outputs.values());
    }

    private static boolean add(Map<OutputName, MapOutput> outputs, Path file, BasicFileAttributes attributes) {
        Matcher parts = OUTPUT.matcher(file.getFileName().toString());
        // Links lead to files that are found under their own names.
        if (!attributes.isRegularFile() || !parts.matches()) {
            return false;
        }
        OutputName name = new OutputName(Integer.parseInt(parts.group(1)), Long.parseLong(parts.group(2)));
        MapOutput output = outputs.computeIfAbsent(name, MapOutput::new);
        if (parts.group(3) != null) {
            output.index(file, attributes);
        } else if (parts.group(4) != null) {
            output.data(file, attributes);
        } else {
            output.checksums(file, parts.group(5), attributes);
        }
        return true;
    }

    /** The right to read, move and delete what an executor left; over when it is closed. */
    final class Hold implements Closeable {
        private final List<DirectoryLock> locks = new ArrayList<>();

        /** The map outputs that lie here; everything else that the executor left is deleted: nobody can use it. */
        List<MapOutput> outputs() throws IOException {
            return outputsOnly(directories);
        }

        /** Deletes the directories with all in them: the records last, or nobody could go on with half the work. */
        void delete() throws IOException {
            for (Path directory : directories) {
                Files.walkFileTree(directory, new SimpleFileVisitor<>() {
                    @Override
                    public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
                        if (!file.getParent().equals(directory)) {
                            Files.delete(file);
                        }
                        return FileVisitResult.CONTINUE;
                    }

                    @Override
                    public FileVisitResult postVisitDirectory(Path each, IOException error) throws IOException {
                        if (!each.equals(directory)) {
                            Files.delete(each);
                        }
                        return FileVisitResult.CONTINUE;
                    }
                });
                Files.deleteIfExists(directory.resolve(Owner.FILE));
                Files.deleteIfExists(directory.resolve(DirectoryLock.FILE));
                Files.delete(directory);
            }
        }

        @Override
        public void close() throws IOException {
            IOException failure = null;
            for (DirectoryLock lock : locks) {
                try {
                    lock.close();
                } catch (IOException e) {
                    failure = e;
                }
            }
            if (failure != null) {
                throw failure;
            }
        }
    }
}
