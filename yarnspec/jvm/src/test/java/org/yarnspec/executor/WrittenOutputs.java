package org.yarnspec.executor;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.spark.HashPartitioner;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import scala.Tuple2;

/** Map outputs as Spark's three kinds of writers leave them on disk, and executors that left copies of them. */
public final class WrittenOutputs {
    static final String APPLICATION = "application_1_0001";
    static final int MAPS = 4;

    /** The shuffles by their writer. */
    static final int BYPASS = 0;

    static final int SERIALIZED = 1;
    static final int SORTED = 2;

    private final Path files;

    /** Runs jobs in a real, local Spark; its files stay below {@code directory}. */
    public WrittenOutputs(Path directory) throws IOException {
        files = directory.resolve("written");
        SparkConf conf = new SparkConf()
                .setMaster("local[2]")
                .setAppName("outputs")
                .set("spark.ui.enabled", "false")
                .set("spark.local.dir", directory.toString())
                .set("spark.serializer", "org.apache.spark.serializer.KryoSerializer")
                .set("spark.shuffle.sort.bypassMergeThreshold", "3")
                .set("spark.cleaner.referenceTracking", "false");
        try (JavaSparkContext spark = new JavaSparkContext(conf)) {
            // The last map has no rows, and one reducer gets none.
            List<Integer> numbers = IntStream.range(0, 3_000).boxed().toList();
            JavaPairRDD<Integer, Integer> pairs = spark.parallelize(numbers, MAPS)
                    .filter(number -> number < 2_200)
                    .mapToPair(number -> new Tuple2<>(number * 5 + number % 4, number));
            pairs.partitionBy(new HashPartitioner(3)).count();
            pairs.partitionBy(new HashPartitioner(5)).count();
            pairs.reduceByKey(Integer::sum, 5).count();
            Files.createDirectory(files);
            Path blocks =
                    spark.env().blockManager().diskBlockManager().localDirs()[0].toPath();
            try (Stream<Path> all = Files.walk(blocks)) {
                for (Path file : all.filter(Files::isRegularFile).toList()) {
                    Files.copy(file, files.resolve(file.getFileName()));
                }
            }
        }
    }

    /** What an executor left: nobody holds its locks. The files are spread over its disks by their names. */
    public List<Path> leave(List<Path> roots, Owner owner) throws IOException {
        return leave(roots, owner, "");
    }

    List<Path> leave(List<Path> roots, Owner owner, String onlyBeginningWith) throws IOException {
        List<Path> disks = roots.stream()
                .map(root -> root.resolve("blockmgr-" + owner.epoch() + "-" + owner.executorId()))
                .toList();
        for (Path disk : disks) {
            Files.createDirectories(disk.resolve("0c"));
            Files.createFile(disk.resolve(DirectoryLock.FILE));
            owner.write(disk);
        }
        for (Path file : list(files)) {
            String name = file.getFileName().toString();
            if (name.startsWith(onlyBeginningWith)) {
                Path disk = disks.get(Math.floorMod(name.hashCode(), disks.size()));
                Files.copy(file, disk.resolve("0c").resolve(name));
            }
        }
        return disks;
    }

    /** The sizes of each output's parts, as its index says. */
    public Map<OutputName, long[]> sizes() throws IOException {
        Map<OutputName, long[]> sizes =
                new TreeMap<>(Comparator.comparingInt(OutputName::shuffle).thenComparingLong(OutputName::mapId));
        for (Path file : list(files)) {
            String[] name = file.getFileName().toString().split("_");
            if (file.toString().endsWith(".index")) {
                ByteBuffer offsets = ByteBuffer.wrap(Files.readAllBytes(file));
                long[] parts = new long[offsets.remaining() / Long.BYTES - 1];
                for (int i = 0; i < parts.length; i++) {
                    parts[i] = offsets.getLong((i + 1) * Long.BYTES) - offsets.getLong(i * Long.BYTES);
                }
                sizes.put(new OutputName(Integer.parseInt(name[1]), Long.parseLong(name[2])), parts);
            }
        }
        return sizes;
    }

    static List<Path> list(Path directory) {
        try (Stream<Path> all = Files.list(directory)) {
            return all.sorted().toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    byte[] content(String name) throws IOException {
        return Files.readAllBytes(files.resolve(name));
    }
}
