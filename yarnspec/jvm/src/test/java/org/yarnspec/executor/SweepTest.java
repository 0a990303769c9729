package org.yarnspec.executor;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.Serializable;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.stream.Stream;
import org.apache.spark.SparkConf;
import org.apache.spark.storage.BlockManagerId;
import org.apache.spark.storage.DiskBlockManager;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.yarnspec.executor.Messages.Verdict;
import scala.Option;

/** What a new executor does with what others left on its host, on files that Spark wrote. */
class SweepTest {
    private static final Owner DEAD = new Owner(WrittenOutputs.APPLICATION, 1, "3", 999_999);
    private static final int OUTPUTS = 3 * WrittenOutputs.MAPS;

    private static WrittenOutputs written;

    @TempDir
    Path root;

    private final Answers driver = new Answers();
    private DiskBlockManager disks;

    @BeforeAll
    static void write(@TempDir Path directory) throws IOException {
        written = new WrittenOutputs(directory);
        assertEquals(OUTPUTS, written.sizes().size());
    }

    @BeforeEach
    void start() {
        disks = executor(root);
    }

    private static DiskBlockManager executor(Path... roots) {
        String dirs = String.join(",", Stream.of(roots).map(Path::toString).toList());
        return new DiskBlockManager(new SparkConf(false).set("spark.local.dir", dirs), false, false);
    }

    /** A driver that wants everything, unless it is told otherwise, and knows the sizes. */
    private static final class Answers implements Sweep.Driver {
        final Map<OutputName, Verdict> verdicts = new HashMap<>();
        final Set<OutputName> adopted = new HashSet<>();
        final Map<OutputName, String> refused = new HashMap<>();
        final List<Messages.Kept> kept = new ArrayList<>();
        Verdict usual = Verdict.ADOPT;
        Function<OutputName, long[]> sizes;

        Answers() {
            sizes = name -> {
                try {
                    return written.sizes().get(name);
                } catch (IOException e) {
                    throw new AssertionError(e);
                }
            };
        }

        @Override
        public synchronized Object ask(Serializable message) {
            if (message instanceof Messages.Inventory inventory) {
                return inventory.outputs().stream()
                        .map(name -> adopted.contains(name) ? Verdict.GARBAGE : verdicts.getOrDefault(name, usual))
                        .toList();
            } else if (message instanceof Messages.Sizes found) {
                List<Boolean> same = new ArrayList<>();
                for (int i = 0; i < found.outputs().size(); i++) {
                    same.add(Arrays.equals(
                            sizes.apply(found.outputs().get(i)), found.sizes().get(i)));
                }
                return same;
            } else if (message instanceof Messages.Adopted outcome) {
                adopted.addAll(outcome.outputs());
                refused.putAll(outcome.refused());
            } else if (message instanceof Messages.Kept now) {
                kept.add(now);
            }
            return true;
        }
    }

    private static Settings settings(int epoch, long keepBytes) {
        return new Settings(WrittenOutputs.APPLICATION, epoch, 30_000, true, true, keepBytes, 30_000);
    }

    private Sweep sweep(DiskBlockManager of, Settings settings) {
        BlockManagerId where = BlockManagerId.apply("7", "host", 1, Option.empty());
        return new Sweep(settings, new NewHome(of), where, driver);
    }

    private boolean run(Sweep sweep) throws Exception {
        return sweep.run(System.nanoTime() + TimeUnit.MINUTES.toNanos(1));
    }

    private boolean run() throws Exception {
        return run(sweep(disks, settings(2, 0)));
    }

    private static void assertServes(DiskBlockManager disks, OutputName name) throws IOException {
        for (String file : List.of(name.index(), name.data(), name.index().replace("index", "checksum.ADLER32"))) {
            Path place = disks.getFile(file).toPath();
            boolean wrote = Files.exists(place);
            // A map without rows has an index only.
            assertTrue(wrote || !file.endsWith("index"), file);
            if (wrote) {
                assertArrayEquals(written.content(file), Files.readAllBytes(place), file);
            }
        }
    }

    private long filesBelow(Path directory) throws IOException {
        if (!Files.exists(directory)) {
            return 0;
        }
        try (Stream<Path> all = Files.walk(directory)) {
            return all.filter(Files::isRegularFile).count();
        }
    }

    @Test
    void takesOverEverythingThatIsWantedAndLeavesNothingBehind() throws Exception {
        Path left = written.leave(List.of(root), DEAD).get(0);
        assertTrue(run());
        assertEquals(written.sizes().keySet(), driver.adopted);
        assertEquals(Map.of(), driver.refused);
        for (OutputName name : driver.adopted) {
            assertServes(disks, name);
        }
        assertFalse(Files.exists(left));
    }

    @Test
    void findsTheFilesOnOtherDisksThanItsOwnOrder() throws Exception {
        Path second = Files.createDirectory(root.resolve("second"));
        Path first = Files.createDirectory(root.resolve("first"));
        List<Path> left = written.leave(List.of(first, second), DEAD);
        DiskBlockManager swapped = executor(second, first);
        assertTrue(run(sweep(swapped, settings(2, 0))));
        assertEquals(OUTPUTS, driver.adopted.size());
        for (OutputName name : driver.adopted) {
            assertServes(swapped, name);
        }
        for (Path disk : left) {
            assertFalse(Files.exists(disk));
        }
    }

    @Test
    void linksAcrossFileSystems() throws Exception {
        Path memory = Path.of("/dev/shm");
        Assumptions.assumeTrue(
                Files.isWritable(memory) && !Files.getFileStore(memory).equals(Files.getFileStore(root)));
        Path other = Files.createTempDirectory(memory, "yarnspec-test");
        try {
            written.leave(List.of(root, other), DEAD);
            DiskBlockManager swapped = executor(other, root);
            Sweep sweep = sweep(swapped, settings(2, 0));
            assertTrue(run(sweep));
            assertEquals(OUTPUTS, driver.adopted.size());
            OutputName linked = null;
            for (OutputName name : driver.adopted) {
                assertServes(swapped, name);
                linked = Files.isSymbolicLink(swapped.getFile(name.data()).toPath()) ? name : linked;
            }
            assertTrue(linked != null, "nothing had to be linked");
            // Spark deletes the link when it drops the shuffle; the file behind it must follow.
            Path behind = swapped.getFile(linked.data()).toPath().toRealPath();
            assertTrue(swapped.getFile(linked.data()).delete());
            run(sweep);
            assertFalse(Files.exists(behind));
            swapped.stop();
        } finally {
            try (Stream<Path> all = Files.walk(other)) {
                for (Path each : all.sorted(Comparator.reverseOrder()).toList()) {
                    Files.delete(each);
                }
            }
        }
    }

    @ParameterizedTest
    @CsvSource({
        "truncate, data, length differs",
        "lengthen, data, length differs",
        "flip, data, checksum differs",
        "remove, data, missing data",
        "remove, index, missing index",
        "truncate, index, broken index",
        "flip, index, broken index",
        "remove, checksum.ADLER32, missing checksums",
        "truncate, checksum.ADLER32, broken checksums",
        "flip, checksum.ADLER32, checksum differs"
    })
    void refusesADamagedOutputAndTakesTheOthers(String damage, String kind, String why) throws Exception {
        Path left = written.leave(List.of(root), DEAD).get(0);
        for (int shuffle : new int[] {WrittenOutputs.BYPASS, WrittenOutputs.SERIALIZED, WrittenOutputs.SORTED}) {
            Path file = WrittenOutputs.list(left.resolve("0c")).stream()
                    .filter(each -> each.getFileName().toString().startsWith("shuffle_" + shuffle)
                            && each.getFileName().toString().endsWith("." + kind)
                            && hasRows(each))
                    .findFirst()
                    .orElseThrow();
            damage(file, damage);
        }
        assertTrue(run());
        assertEquals(3, driver.refused.size());
        assertEquals(Set.of(why), Set.copyOf(driver.refused.values()));
        assertEquals(OUTPUTS - 3, driver.adopted.size());
        for (OutputName name : driver.refused.keySet()) {
            assertFalse(disks.getFile(name.index()).exists());
        }
        assertFalse(Files.exists(left), "what is damaged is of no use to anybody");
    }

    private static boolean hasRows(Path file) {
        String name = file.getFileName().toString();
        return Files.exists(file.resolveSibling(name.substring(0, name.indexOf('.')) + ".data"));
    }

    private static void damage(Path file, String how) throws IOException {
        byte[] bytes = Files.readAllBytes(file);
        switch (how) {
            case "truncate" -> Files.write(file, Arrays.copyOf(bytes, bytes.length - 1));
            case "lengthen" -> Files.write(file, new byte[1], StandardOpenOption.APPEND);
            case "flip" -> {
                // In an index: the first byte of its second offset, which is negative then.
                bytes[Math.min(8, bytes.length - 1)] ^= (byte) 0x80;
                Files.write(file, bytes);
            }
            default -> Files.delete(file);
        }
    }

    @Test
    void refusesAnOutputWhoseSizesAreNotTheSavedOnes() throws Exception {
        written.leave(List.of(root), DEAD);
        OutputName other = written.sizes().keySet().stream()
                .filter(name -> name.shuffle() == WrittenOutputs.SORTED)
                .findFirst()
                .orElseThrow();
        Function<OutputName, long[]> known = driver.sizes;
        driver.sizes = name -> name.equals(other) ? new long[] {1, 2, 3, 4, 5} : known.apply(name);
        assertTrue(run());
        assertEquals(Map.of(other, "sizes differ"), driver.refused);
        assertEquals(OUTPUTS - 1, driver.adopted.size());
    }

    @Test
    void neverTouchesWhatIsNotThisApplications() throws Exception {
        Path foreign = written.leave(List.of(root), new Owner("application_1_0002", 1, "3", 1))
                .get(0);
        Path unknown = Files.createDirectories(root.resolve("blockmgr-stock/0c"));
        Files.write(unknown.resolve("shuffle_0_0_0.index"), new byte[16]);
        long before = filesBelow(root);
        assertTrue(run());
        assertEquals(before, filesBelow(root));
        assertEquals(Set.of(), driver.adopted);
        assertTrue(Files.exists(foreign));
    }

    @Test
    void touchesNothingOnceALaterEpochHasBeenHere() throws Exception {
        written.leave(List.of(root), DEAD);
        written.leave(List.of(root), new Owner(WrittenOutputs.APPLICATION, 3, "9", 1));
        long before = filesBelow(root);
        assertTrue(run());
        assertFalse(sweep(disks, settings(2, 0)).deleteAll());
        assertEquals(before, filesBelow(root));
        assertEquals(Set.of(), driver.adopted);
    }

    @Test
    void atTheEndDeletesWhatGoneExecutorsLeftAndNothingElse() throws Exception {
        Path left = written.leave(List.of(root), DEAD).get(0);
        Path foreign = written.leave(List.of(root), new Owner("application_1_0002", 1, "4", 1))
                .get(0);
        Path alive = written.leave(List.of(root), new Owner(WrittenOutputs.APPLICATION, 2, "8", 1))
                .get(0);
        try (DirectoryLock lock = DirectoryLock.tryTake(alive)) {
            assertTrue(sweep(disks, settings(2, 0)).deleteAll());
            assertTrue(lock != null);
        }
        assertFalse(Files.exists(left));
        assertEquals(filesBelow(foreign), filesBelow(alive));
    }

    @ParameterizedTest
    @ValueSource(strings = {DirectoryLock.FILE, Owner.FILE})
    void takesOverTheOthersWhereOneCannotBeRead(String file) throws Exception {
        List<Path> roots =
                List.of(Files.createDirectory(root.resolve("first")), Files.createDirectory(root.resolve("second")));
        Owner unreadable = new Owner(WrittenOutputs.APPLICATION, 1, "2", 1);
        List<Path> left = written.leave(roots, unreadable, "shuffle_" + WrittenOutputs.BYPASS);
        written.leave(roots, DEAD, "shuffle_" + WrittenOutputs.SORTED);
        written.leave(roots, new Owner(WrittenOutputs.APPLICATION, 1, "4", 1), "shuffle_" + WrittenOutputs.SERIALIZED);
        Path broken = left.get(1).resolve(file);
        byte[] content = Files.readAllBytes(broken);
        Files.delete(broken);
        Files.createDirectory(broken); // no disk lets anybody read or write that
        Sweep sweep = sweep(executor(roots.get(0), roots.get(1)), settings(2, 0));
        for (int i = 0; i < 2; i++) {
            assertFalse(run(sweep), "it may be readable in a moment");
            assertEquals(OUTPUTS - WrittenOutputs.MAPS, driver.adopted.size());
        }
        Files.delete(broken);
        Files.write(broken, content);
        assertTrue(run(sweep));
        assertEquals(OUTPUTS, driver.adopted.size());
        assertEquals(Map.of(), driver.refused);
    }

    @Test
    void leavesWhatItCannotMoveToOthers() throws Exception {
        written.leave(List.of(root), DEAD);
        for (int i = 0; i < disks.subDirsPerLocalDir(); i++) {
            Path name = disks.localDirs()[0].toPath().resolve(String.format("%02x", i));
            if (!Files.exists(name)) {
                Files.createFile(name); // there is no place for a directory of this name
            }
        }
        run();
        assertEquals(OUTPUTS, driver.refused.size() + driver.adopted.size());
        assertEquals(Set.of("unreadable"), Set.copyOf(driver.refused.values()));
        disks = executor(root);
        assertTrue(run());
        assertEquals(OUTPUTS, driver.adopted.size());
    }

    @Test
    void waitsForAnExecutorOfAnEarlierEpochToEnd() throws Exception {
        Path left = written.leave(List.of(root), DEAD).get(0);
        Sweep sweep = sweep(disks, settings(2, 0));
        try (DirectoryLock alive = DirectoryLock.tryTake(left)) {
            assertFalse(run(sweep), "more may come");
            assertEquals(Set.of(), driver.adopted);
            assertTrue(alive != null);
        }
        assertTrue(run(sweep));
        assertEquals(OUTPUTS, driver.adopted.size());
    }

    @Test
    void doesNotWaitForLivingExecutorsOfItsOwnEpoch() throws Exception {
        Path alive = written.leave(List.of(root), new Owner(WrittenOutputs.APPLICATION, 2, "8", 1))
                .get(0);
        try (DirectoryLock lock = DirectoryLock.tryTake(alive)) {
            assertTrue(run());
            assertTrue(lock != null);
        }
        assertEquals(Set.of(), driver.adopted);
    }

    @Test
    void twoExecutorsOnOneHostTakeEachOutputOnce() throws Exception {
        for (int dead = 0; dead < 3; dead++) {
            written.leave(
                    List.of(root), new Owner(WrittenOutputs.APPLICATION, 1, "" + dead, 1), "shuffle_" + dead + "_");
        }
        List<DiskBlockManager> homes = List.of(executor(root), executor(root));
        ExecutorService threads = Executors.newFixedThreadPool(2);
        try {
            List<Callable<Boolean>> tries = new ArrayList<>();
            for (DiskBlockManager home : homes) {
                Sweep sweep = sweep(home, settings(2, 0));
                tries.add(() -> {
                    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
                    while (!run(sweep)) {
                        assertTrue(System.nanoTime() < deadline);
                    }
                    return true;
                });
            }
            for (Future<Boolean> done : threads.invokeAll(tries)) {
                assertTrue(done.get());
            }
        } finally {
            threads.shutdown();
        }
        assertEquals(OUTPUTS, driver.adopted.size());
        for (OutputName name : driver.adopted) {
            long places = homes.stream()
                    .filter(home -> home.getFile(name.index()).exists())
                    .count();
            assertEquals(1, places, name.toString());
        }
    }

    @Test
    void ofTwoCopiesOnOneHostOneIsEnough() throws Exception {
        Path first = written.leave(List.of(root), DEAD).get(0);
        Path second = written.leave(List.of(root), new Owner(WrittenOutputs.APPLICATION, 1, "4", 1))
                .get(0);
        // The one that is looked at first is damaged.
        Path index = WrittenOutputs.list(first.resolve("0c")).stream()
                .filter(file -> file.toString().endsWith(".index"))
                .findFirst()
                .orElseThrow();
        Files.delete(index);
        assertTrue(run());
        assertEquals(OUTPUTS, driver.adopted.size());
        assertEquals(1, driver.refused.size());
        assertFalse(Files.exists(first) || Files.exists(second));
    }

    @Test
    void deletesGarbageAndAllThatIsNoMapOutput() throws Exception {
        Path left = written.leave(List.of(root), DEAD).get(0);
        driver.usual = Verdict.KEEP;
        OutputName garbage = written.sizes().keySet().iterator().next();
        driver.verdicts.put(garbage, Verdict.GARBAGE);
        for (String block : List.of("rdd_1_1", "temp_shuffle_1", "shuffle_0_1_0.index.tmp", "broadcast_0")) {
            Files.createFile(left.resolve("0c").resolve(block));
        }
        long files = filesBelow(left);
        assertTrue(run());
        long ofGarbage = Stream.of(garbage.index(), garbage.data(), garbage.data() + "x")
                .filter(file -> file.endsWith("x") || written(file))
                .count();
        assertEquals(files - 4 - ofGarbage, filesBelow(left));
        assertEquals(OUTPUTS - 1, driver.kept.get(0).outputs());
        driver.usual = Verdict.GARBAGE;
        assertTrue(run());
        assertFalse(Files.exists(left));
    }

    private static boolean written(String file) {
        try {
            return written.content(file).length >= 0;
        } catch (IOException e) {
            return false;
        }
    }

    @Test
    void overItsBudgetItDropsWhatExistsElsewhereFirstAndThenTheOldest() throws Exception {
        Path left = written.leave(List.of(root), DEAD).get(0);
        driver.usual = Verdict.KEEP;
        List<OutputName> names = List.copyOf(written.sizes().keySet());
        Map<OutputName, Long> bytes = new HashMap<>();
        for (int i = 0; i < names.size(); i++) {
            String beginning =
                    "shuffle_" + names.get(i).shuffle() + "_" + names.get(i).mapId() + "_";
            long sum = 0;
            for (Path file : WrittenOutputs.list(left.resolve("0c"))) {
                if (file.getFileName().toString().startsWith(beginning)) {
                    sum += Files.size(file);
                    Files.setLastModifiedTime(file, FileTime.fromMillis(1_000_000L + i));
                }
            }
            bytes.put(names.get(i), sum);
        }
        OutputName spare = names.get(7);
        driver.verdicts.put(spare, Verdict.SPARE);
        long all = bytes.values().stream().mapToLong(Long::longValue).sum();
        // Room for all but the spare one and a part of the oldest.
        Sweep sweep = sweep(disks, settings(2, all - bytes.get(spare) - 1));
        assertTrue(run(sweep));
        Set<OutputName> gone = new HashSet<>(Set.of(spare, names.get(0)));
        for (OutputName name : names) {
            assertEquals(!gone.contains(name), Files.exists(left.resolve("0c").resolve(name.index())), name.toString());
        }
        assertEquals(
                new Messages.Kept(
                        driver.kept.get(0).where(),
                        OUTPUTS - 2,
                        all - bytes.get(spare) - bytes.get(names.get(0)),
                        2,
                        bytes.get(spare) + bytes.get(names.get(0))),
                driver.kept.get(0));
    }

    @Test
    void whatThereWasNoTimeToVerifyComesNextTime() throws Exception {
        written.leave(List.of(root), DEAD);
        Sweep sweep = sweep(disks, settings(2, 0));
        assertFalse(sweep.run(System.nanoTime()));
        assertEquals(Set.of(), driver.adopted);
        assertTrue(run(sweep));
        assertEquals(OUTPUTS, driver.adopted.size());
        assertEquals(OUTPUTS, sweep.report(1).found());
    }

    @Test
    void deletesNothingWithoutTheDriver() throws Exception {
        written.leave(List.of(root), DEAD);
        long before = filesBelow(root);
        BlockManagerId where = BlockManagerId.apply("7", "host", 1, Option.empty());
        Sweep sweep = new Sweep(settings(2, 1), new NewHome(disks), where, message -> {
            throw new IOException("no driver");
        });
        assertThrows(IllegalStateException.class, () -> run(sweep));
        assertEquals(before, filesBelow(root));
    }

    @Test
    void anIndexOfZerosMayHaveNoData() throws Exception {
        written.leave(List.of(root), DEAD);
        OutputName empty = written.sizes().entrySet().stream()
                .filter(each -> Arrays.stream(each.getValue()).sum() == 0)
                .findFirst()
                .orElseThrow()
                .getKey();
        assertTrue(run());
        assertTrue(driver.adopted.contains(empty));
        assertEquals(
                0,
                ByteBuffer.wrap(Files.readAllBytes(disks.getFile(empty.index()).toPath()))
                        .getLong(8));
    }

    @Test
    void whatAServiceGivesOutIsCountedAndNeverDropped() throws Exception {
        written.leave(List.of(root), DEAD);
        driver.usual = Verdict.SERVED;
        assertTrue(run(sweep(disks, settings(2, 1))));
        assertEquals(OUTPUTS, driver.kept.get(0).outputs());
        assertEquals(0, driver.kept.get(0).dropped());
    }
}
