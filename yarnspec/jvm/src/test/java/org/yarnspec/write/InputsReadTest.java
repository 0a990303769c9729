package org.yarnspec.write;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.fs.Path;
import org.junit.jupiter.api.Test;
import org.yarnspec.files.WrittenFiles;

/** What a program has read is told once, and nothing of it is left out. */
class InputsReadTest {
    private static final int MOST = 3;

    private final InputsRead read = new InputsRead(InputsReadTest::name, MOST);

    private static String name(Path path) {
        if (path.toString().startsWith("/gone")) {
            throw new UncheckedIOException(new IOException("no such host"));
        }
        return "hdfs://n" + path;
    }

    private void add(String... places) {
        read.add(Arrays.stream(places)
                .map(Path::new)
                .map(each -> new InputPaths.Input(each, each, Map.of(), 0))
                .toList());
    }

    @Test
    void eachPlaceIsToldOnceByItsName() {
        add("/x", "/y/*");
        add("/x");
        assertEquals(Set.of("hdfs://n/x", "hdfs://n/y/*"), read.takeNew());
        add("/y/*", "/z");
        assertEquals(Set.of("hdfs://n/z"), read.takeNew());
        assertEquals(Set.of(), read.takeNew());
    }

    @Test
    void ofVeryManyPlacesWhatIsAboveIsTold() {
        for (String each : List.of("1", "2", "3", "4", "5")) {
            add("/x/day=" + each);
        }
        assertEquals(Set.of("hdfs://n/x/day=1", "hdfs://n/x/day=2", "hdfs://n/x/day=3", "hdfs://n/x"), read.takeNew());
        add("/x/day=6", "/y/*");
        assertEquals(Set.of("hdfs://n/y"), read.takeNew());
    }

    @Test
    void ofFilesThatAreReadBesideOthersEachIsToldAsFarAsTheyAreFew() {
        InputsRead all = new InputsRead(InputsReadTest::name, 1_000);
        for (int i = 0; i < 200; i++) {
            Path file = new Path("/x/" + i);
            all.add(List.of(new InputPaths.Input(file, WrittenFiles.filesIn(file.getParent()), Map.of(), 0)));
        }
        var told = all.takeNew();
        assertTrue(told.containsAll(Set.of("hdfs://n/x/*", "hdfs://n/x/0", "hdfs://n/x/99")));
        assertEquals(101, told.size());
    }

    @Test
    void aPlaceWithoutItsFileSystemHasANameAllTheSame() {
        add("/gone/x");
        assertEquals(Set.of("/gone/x"), read.takeNew());
    }
}
