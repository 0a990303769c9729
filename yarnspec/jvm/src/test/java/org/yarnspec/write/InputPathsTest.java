package org.yarnspec.write;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a query or an RDD reads, and whose files are there. */
class InputPathsTest {
    private static final String ONE = "00000000-0000-0000-0000-000000000001";
    private static final String OTHER = "00000000-0000-0000-0000-000000000002";

    @TempDir
    private Path directory;

    private SparkSession session;

    @BeforeEach
    void start() {
        session = SparkSession.builder()
                .master("local[1]")
                .config("spark.driver.host", "127.0.0.1")
                .config("spark.driver.bindAddress", "127.0.0.1")
                .config("spark.ui.enabled", "false")
                .getOrCreate();
    }

    @AfterEach
    void stop() {
        session.stop();
    }

    private Path file(String name) throws IOException {
        Path path = directory.resolve(name);
        Files.createDirectories(path.getParent());
        return Files.writeString(path, "1\n");
    }

    private org.apache.hadoop.fs.Path at(String name) {
        return new org.apache.hadoop.fs.Path("file:" + directory.resolve(name));
    }

    private Set<org.apache.hadoop.fs.Path> places(String paths) {
        RDD<?> lines = session.sparkContext().textFile(paths, 1);
        return Set.copyOf(InputPaths.placesOf(lines, new HashSet<>()));
    }

    @Test
    void whereNothingIsYetThatIsReadTheDirectoryIs() throws IOException {
        Path empty = Files.createDirectory(directory.resolve("empty"));
        assertEquals(Set.of(at("empty")), places(empty.toString()));
    }

    @Test
    void theFilesOfAPatternAreReadAndNotTheName() throws IOException {
        file("in/a.txt");
        assertEquals(Set.of(at("in/*")), places(directory + "/in/*.txt"));
        assertEquals(Set.of(at("in/*"), at("in/a.txt")), places(directory + "/in/a.txt"));
    }

    private static LogicalPlan plan(Dataset<?> data) {
        return ((org.apache.spark.sql.classic.Dataset<?>) data).logicalPlan();
    }

    @Test
    void theJobsOfATableAreThoseOfEachOfItsDirectories() throws IOException {
        file("table/day=1/part-" + ONE + ".csv");
        file("table/day=2/part-" + OTHER + ".csv");
        file("table/day=3/from-elsewhere.csv");
        Dataset<?> data = session.read().csv(directory + "/table");
        List<Object> looked = new ArrayList<>();
        Collection<InputPaths.Input> found = InputPaths.of(plan(data), true, Set.of(), looked);
        var jobs = Map.of(at("table/day=1/*"), Set.of(ONE), at("table/day=2/*"), Set.of(OTHER));
        assertEquals(
                List.of(new InputPaths.Input(at("table"), at("table"), jobs, Integer.MAX_VALUE)), List.copyOf(found));
        assertEquals(List.of(), List.copyOf(InputPaths.of(plan(data.limit(1)), true, Set.copyOf(looked), looked)));
    }

    @Test
    void eachFileOfAPatternIsAnInput() throws IOException {
        file("in/part-" + ONE + ".txt");
        file("in/part-" + OTHER + ".txt");
        Dataset<?> data = session.read().text(directory + "/in/*");
        var found = InputPaths.of(plan(data), true, Set.of(), new ArrayList<>());
        assertEquals(
                Set.of(at("in/part-" + ONE + ".txt"), at("in/part-" + OTHER + ".txt")),
                Set.copyOf(found.stream().map(InputPaths.Input::path).toList()));
        for (InputPaths.Input each : found) {
            assertEquals(at("in/*"), each.place());
            assertEquals(Set.of(at("in/*")), each.jobs().keySet());
        }
    }
}
