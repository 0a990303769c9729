package org.yarnspec.executor;

import java.io.File;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.LinkedBlockingQueue;
import org.apache.spark.shuffle.sort.SortShuffleManager;
import org.apache.spark.storage.DiskBlockManager;
import org.apache.spark.util.collection.OpenHashSet;
import scala.reflect.ClassTag$;

/** This executor's own directories, as the place where outputs of others go to live on. */
final class NewHome {
    /** Holds files whose place by name is on another disk; a symbolic link leads there. */
    static final String OTHER_DISK = "yarnspec-adopted";

    private final DiskBlockManager disks;
    private final BlockingQueue<OutputName> unregistered = new LinkedBlockingQueue<>();

    NewHome(DiskBlockManager disks) {
        this.disks = disks;
    }

    List<Path> directories() {
        return List.of(disks.localDirs()).stream().map(File::toPath).toList();
    }

    /** Moves an output's files to where Spark looks for them; at each moment its old place has all of them, or the new. */
    void take(MapOutput output) throws IOException {
        for (Path file : output.files()) {
            link(file, disks.getFile(file.getFileName().toString()).toPath());
        }
        output.delete();
        unregistered.add(output.name());
    }

    private void link(Path file, Path place) throws IOException {
        try {
            Files.createLink(place, file);
        } catch (FileAlreadyExistsException leftByAnEarlierTry) {
            Files.delete(place);
            link(file, place);
        } catch (FileSystemException otherDisk) {
            Path parked = onItsDisk(file, otherDisk);
            Files.createSymbolicLink(place, parked);
        }
    }

    private Path onItsDisk(Path file, FileSystemException otherDisk) throws IOException {
        for (Path directory : directories()) {
            Path parked = Files.createDirectories(directory.resolve(OTHER_DISK)).resolve(file.getFileName());
            try {
                Files.deleteIfExists(parked);
                return Files.createLink(parked, file);
            } catch (FileSystemException e) {
                otherDisk.addSuppressed(e);
            }
        }
        throw otherDisk;
    }

    /** Deletes the files on other disks whose links Spark has deleted. */
    void deleteUnlinked() throws IOException {
        for (Path directory : directories()) {
            try (DirectoryStream<Path> parked = Files.newDirectoryStream(directory.resolve(OTHER_DISK))) {
                for (Path file : parked) {
                    Path place = disks.getFile(file.getFileName().toString()).toPath();
                    if (!Files.exists(place, LinkOption.NOFOLLOW_LINKS)) {
                        Files.delete(file);
                    }
                }
            } catch (NoSuchFileException e) {
                // Nothing was ever taken from another disk.
            }
        }
    }

    /**
     * Tells Spark's shuffle manager which outputs were taken over, so that it deletes them with the rest of their
     * shuffle. The manager exists only after the plugins have started.
     */
    void register(SortShuffleManager manager) {
        ConcurrentMap<Object, OpenHashSet<Object>> maps =
                manager.shuffleBlockResolver().taskIdMapsForShuffle();
        for (OutputName name = unregistered.poll(); name != null; name = unregistered.poll()) {
            OpenHashSet<Object> tasks =
                    maps.computeIfAbsent(name.shuffle(), shuffle -> new OpenHashSet<>(16, ClassTag$.MODULE$.Long()));
            synchronized (tasks) {
                tasks.add(name.mapId());
            }
        }
    }

    /** Deletes everything of this executor's that is no map output: no later executor can use it. */
    void deleteAllButOutputs() throws IOException {
        GoneExecutor.outputsOnly(directories());
    }
}
