package org.yarnspec.files;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.viewfs.ViewFileSystem;

/**
 * Moves the files that a write overwrites into a directory of the write's own, before they are deleted.
 *
 * <p>A newer driver gives that directory another name before its program begins, and nobody makes it again. So a rename
 * of this driver fails then, however long the driver was frozen before it: the files stay where they are. HDFS does each
 * rename in one step. If the write was not finished, the newer driver puts the files back.
 */
public final class Overwritten {
    /** Elsewhere, in an object store for example, a rename may copy all there is. */
    private static final Set<String> RENAMING = Set.of("hdfs", "file");

    private static final ObjectMapper JSON = new ObjectMapper();
    // All in the directory is hidden as well: who reads by a pattern may find the directory.
    /** Where what is taken belongs; its name is its number there. */
    private static final String PLACES = ".places";
    /** A mark that files were deleted because they could not be moved. */
    private static final String DELETED = ".deleted";

    private static final Pattern TAKEN = Pattern.compile("\\.\\d+");
    /** Made to know the time. */
    private static final String CLOCK = ".clock";

    private final FileSystem files;
    private final Path directory;
    private final String job;
    private final Runnable ask;
    private final boolean renames;
    private final Map<Path, Integer> numbers = new LinkedHashMap<>();
    private boolean taken;
    private boolean stranded;

    /**
     * Makes the directory. Nothing may be taken before it was asked once more whether this driver may go on.
     * An IOException says that what is overwritten could not be kept.
     *
     * @param beside a directory, on the way to which everything is that will be taken
     * @param ask returns when this driver may go on
     */
    public Overwritten(FileSystem files, Path beside, String job, Runnable ask) throws IOException {
        this.files = files;
        this.job = job;
        this.ask = ask;
        directory = directory(beside, job);
        renames = takes(files, beside);
        if (renames && !files.mkdirs(directory)) { // local files say it so, on a full disk for example
            throw new IOException(directory + " cannot be made");
        }
    }

    /** Whether something was taken or deleted, or perhaps. */
    public boolean hasTaken() {
        return taken;
    }

    /** Whether something that was to come back could not be moved back. */
    public boolean hasStranded() {
        return stranded;
    }

    /** Where all belongs that was to be taken. */
    public List<Path> places() {
        return List.copyOf(numbers.keySet());
    }

    /** By the clock of the file system. */
    public long nowMs() throws IOException {
        create(CLOCK).close();
        return files.getFileStatus(new Path(directory, CLOCK)).getModificationTime();
    }

    /** The files that were taken, by the places where they belong. */
    Map<Path, FileStatus> statuses() throws IOException {
        Map<String, FileStatus> there = new HashMap<>();
        for (FileStatus each : WrittenFiles.list(files, directory)) {
            there.put(each.getPath().getName(), each);
        }
        Map<Path, FileStatus> found = new HashMap<>();
        numbers.forEach((place, number) -> {
            FileStatus status = there.get(name(number));
            if (status != null) {
                found.put(place, status);
            }
        });
        return found;
    }

    /** Whether it is worth it there: a rename is a rename. */
    public static boolean takes(FileSystem files, Path place) throws IOException {
        if (files instanceof ViewFileSystem) { // which may be made of others
            return files.exists(place)
                    && RENAMING.contains(files.resolvePath(place).toUri().getScheme());
        }
        return RENAMING.contains(files.getUri().getScheme());
    }

    /** Only these will be taken, as far as they are there, and are to be put back unless the write is finished. */
    public void willTake(List<Path> places) throws IOException {
        places.forEach(this::numberOf);
        if (renames) {
            try (OutputStream out = create(PLACES)) {
                out.write(JSON.writeValueAsBytes(
                        numbers.keySet().stream().map(Path::toString).toList()));
            }
        }
    }

    /** A file in the directory, which is not made again for that. */
    private OutputStream create(String name) throws IOException {
        return files.createFile(new Path(directory, name)).overwrite(true).build();
    }

    private static Path directory(Path beside, String job) {
        return new Path(beside, ".yarnspec-overwritten-" + job);
    }

    /** The name of the directory once the write is over. */
    private static Path closed(Path beside, String job) {
        return new Path(beside, ".yarnspec-undoing-" + job);
    }

    /** The name of the directory once all is shown. */
    private static Path done(Path beside, String job) {
        return new Path(beside, ".yarnspec-done-" + job);
    }

    private static List<Path> besides(Path output) {
        Path above = output.getParent();
        return above == null ? List.of(output) : List.of(output, above);
    }

    private int numberOf(Path path) {
        return numbers.computeIfAbsent(path, any -> numbers.size());
    }

    /** As {@link #TAKEN} has it. */
    private static String name(int number) {
        return "." + number;
    }

    private Path target(Path path) {
        return new Path(directory, name(numberOf(path)));
    }

    /**
     * Takes a file, or a directory with all below it; false when there is nothing.
     *
     * @throws IOException it is still there, or is taken: nobody knows
     */
    public boolean take(Path path) throws IOException {
        boolean link = DeleteRights.isLink(files, path); // which would lead elsewhere, or nowhere
        boolean comesBack = renames && !link && numbers.containsKey(path) && isBelow(path, directory.getParent());
        if (!link && isRenamed(path, comesBack)) {
            return true;
        } else if (!files.exists(path)) {
            return false;
        } else if (comesBack) {
            throw new IOException(path + " cannot be moved to " + target(path));
        }
        ask.run();
        taken = true;
        if (renames) {
            create(DELETED).close();
        }
        return files.delete(path, true);
    }

    private boolean isRenamed(Path path, boolean comesBack) throws IOException {
        if (!renames || !isOpen()) {
            return false;
        }
        Path target = target(path);
        taken = true; // perhaps, whatever comes back
        try {
            return files.rename(path, target);
        } catch (IOException e) {
            // Of what is not there local files say so by an exception.
            if (comesBack && (files.exists(path) || files.exists(target))) {
                throw e; // the write fails, and nothing is lost
            }
            return false; // from one of HDFS's encryption zones into another, for example
        }
    }

    static boolean isLocal(FileSystem files) {
        return files.getUri().getScheme().equals("file");
    }

    /** Local files would make the directory again. */
    private boolean isOpen() throws IOException {
        return files.getUri().getScheme().equals("hdfs") || files.exists(directory);
    }

    /**
     * Puts back all that was taken, in the place of the write's own files in its output or elsewhere. Does nothing where a
     * newer driver has shut this one out.
     *
     * @return whether all of it is there again
     * @throws IOException not all could be put back; it is still where it was taken to
     */
    public boolean undo(Path output) throws IOException {
        if (!renames || !files.exists(directory)) {
            return false;
        }
        List<String> left = new ArrayList<>();
        removeShown(output, left);
        moveBack(left, true);
        if (!left.isEmpty()) {
            throw new IOException("" + left);
        }
        return holdsNothing(files, directory) && files.delete(directory, true);
    }

    /** @param left where to tell of what fails */
    private boolean removeShown(Path place, List<String> left) {
        try {
            WrittenFiles.removeShown(files, place, job);
            return true;
        } catch (IOException e) {
            left.add(e.getMessage());
            return false;
        }
    }

    /**
     * One after the other, the last first, whatever becomes of the others; the mark that all is there only after these.
     *
     * @param left where to tell of what cannot be moved
     * @param shown whether the write may have put files of its own in their places
     */
    private void moveBack(List<String> left, boolean shown) {
        List<Path> places = new ArrayList<>(numbers.keySet());
        Collections.reverse(places);
        for (Path place : places) {
            if (shown && !removeShown(place, left)) {
                continue;
            }
            try {
                Path from = target(place);
                if (files.exists(from) && !isMovedBack(files, from, place, left.isEmpty())) {
                    left.add(from + " is not put back to " + place);
                }
            } catch (IOException e) {
                left.add(e.getMessage());
            }
        }
        stranded = !left.isEmpty();
    }

    /** Directories that were emptied, and the mark of the write that is undone. */
    private static void makeWay(FileSystem files, Path place) throws IOException {
        WrittenFiles.removeIfEmpty(files, place);
        if (ToOverwrite.isMark(place)) {
            files.delete(place, false);
        }
    }

    /**
     * Takes all this and deletes it at once: when this driver dies nobody puts it back. Where it may not be deleted it is
     * where it was, as far as that is possible ({@link #hasStranded}).
     *
     * @return whether anything was there
     */
    public boolean clear(List<Path> paths) throws IOException {
        boolean found = false;
        try {
            if (renames) {
                DeleteRights.checkAll(files, paths);
            }
            for (Path each : paths) {
                found |= take(each);
            }
            if (renames) {
                deleteAll(files, directory);
            }
        } catch (IOException | RuntimeException e) {
            putBackCleared(e);
            throw e;
        }
        return found;
    }

    private void putBackCleared(Exception why) {
        boolean interrupted = Thread.interrupted(); // else nothing could be asked, or moved
        try {
            List<String> left = new ArrayList<>();
            moveBack(left, false);
            if (left.isEmpty()) {
                removeIfNothing(left);
            }
            if (!left.isEmpty()) {
                why.addSuppressed(new IOException("what was there is in " + directory + ": " + left));
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private static void deleteAll(FileSystem files, Path directory) throws IOException {
        if (!files.delete(directory, true) && files.exists(directory)) { // local files say it so
            throw new IOException(directory + " cannot be deleted");
        }
    }

    private void removeIfNothing(List<String> left) {
        try {
            if (holdsNothing(files, directory)) {
                files.delete(directory, true);
            }
        } catch (IOException e) {
            left.add(e.getMessage());
        }
    }

    /** Deletes what was taken when all is shown; at first in one step, so that half of it is never put back. */
    public void delete() throws IOException {
        Path done = done(directory.getParent(), job);
        if (renames && isOpen() && files.rename(directory, done)) {
            deleteAll(files, done);
        }
    }

    /** Deletes what a write of this driver had taken that failed: all of it has been overwritten since. */
    public static void drop(FileSystem files, Path output, String job) throws IOException {
        Path done = done(output, job);
        if (files.exists(directory(output, job)) && files.rename(directory(output, job), done)) {
            deleteAll(files, done);
        }
    }

    /** Stops the driver of that write from overwriting anything more. */
    public static void shutOut(FileSystem files, Path output, String job) throws IOException {
        for (Path beside : besides(output)) {
            Path open = directory(beside, job);
            Path closed = closed(beside, job);
            if (!files.exists(open)) {
                continue; // who may not write there may not delete what is not there either
            } else if (!files.exists(closed)) {
                move(files, open, closed);
            } else if (holdsNothing(files, open)) { // made by a driver that was frozen before it asked
                files.delete(open, true);
            } else {
                throw new IOException("both " + open + " and " + closed + " are there");
            }
        }
    }

    private static boolean holdsNothing(FileSystem files, Path directory) throws IOException {
        for (var each : WrittenFiles.list(files, directory)) {
            if (!Set.of(PLACES, CLOCK).contains(each.getPath().getName())) {
                return false;
            }
        }
        return true;
    }

    private static boolean holdsTaken(FileSystem files, Path directory) throws IOException {
        for (var each : WrittenFiles.list(files, directory)) {
            if (TAKEN.matcher(each.getPath().getName()).matches()) {
                return true;
            }
        }
        return false;
    }

    /**
     * Puts back what a write took of its output that was shut out, as far as nothing else is in its place.
     *
     * @return whether all that it has overwritten is there again; false when that is not known
     * @throws IOException something else is in a place; what was there before stays where it is
     */
    public static boolean putBack(FileSystem files, Path output, String job) throws IOException {
        Path closed = closed(output, job);
        if (!files.exists(new Path(closed, PLACES))) {
            return false;
        } else if (!holdsNothing(files, closed)) {
            List<String> left = new ArrayList<>();
            JsonNode places = read(files, new Path(closed, PLACES));
            for (int number = places.size() - 1; number >= 0; number--) { // the mark that all is there comes last
                Path taken = new Path(closed, name(number));
                Path place = new Path(places.get(number).asText());
                try {
                    if (!files.exists(taken)) {
                        continue;
                    }
                    if (!isBelow(place, output) || !isMovedBack(files, taken, place, left.isEmpty())) {
                        left.add(taken + " is not put back to " + place);
                    }
                } catch (IOException e) {
                    left.add(taken + " is not put back to " + place + ": " + e.getMessage());
                }
            }
            if (!left.isEmpty()) {
                throw new IOException("there is something else by now, or it is not below the output: " + left);
            }
        }
        return !files.exists(new Path(closed, DELETED));
    }

    /** @param all whether all others are there again */
    private static boolean isMovedBack(FileSystem files, Path taken, Path place, boolean all) throws IOException {
        makeWay(files, place);
        if (files.exists(place) || ToOverwrite.isMark(place) && !all) {
            return false;
        }
        files.mkdirs(place.getParent());
        return files.rename(taken, place);
    }

    /** Whether a write that was shut out had not come to its end. */
    public static boolean isLeft(FileSystem files, Path output, String job) throws IOException {
        return files.exists(closed(output, job));
    }

    /** Whether all that it was to take was below its output. */
    public static boolean isAllBelow(FileSystem files, Path output, String job) throws IOException {
        for (JsonNode place : read(files, new Path(closed(output, job), PLACES))) {
            if (!isBelow(new Path(place.asText()), output)) {
                return false;
            }
        }
        return true;
    }

    private static JsonNode read(FileSystem files, Path list) throws IOException {
        try (InputStream in = files.open(list)) {
            return JSON.readTree(in);
        }
    }

    /** Whoever may write beside an output may write there, and nowhere else. */
    private static boolean isBelow(Path place, Path output) {
        String above = output.isRoot() ? "/" : output.toUri().getPath() + "/";
        String name = place.toUri().getPath();
        return name.startsWith(above) && !List.of(name.split("/")).contains("..");
    }

    /**
     * Deletes what is left of a write that was shut out. What it was about to delete at once stays: it may be what it could
     * not delete, and not put back.
     */
    public static void forget(FileSystem files, Path output, String job) throws IOException {
        for (Path beside : besides(output)) {
            Path closed = closed(beside, job);
            if (files.exists(closed)) {
                if (files.exists(new Path(closed, PLACES)) || !holdsTaken(files, closed)) {
                    files.delete(closed, true);
                } else {
                    System.err.println("yarnspec: what a driver was about to delete when it died is in " + closed);
                }
            }
            if (files.exists(done(beside, job))) {
                files.delete(done(beside, job), true);
            }
        }
    }

    private static void move(FileSystem files, Path from, Path to) throws IOException {
        if (files.exists(to) || !files.rename(from, to)) { // it would come into a directory that is there
            throw new IOException(from + " cannot be moved to " + to);
        }
    }
}
