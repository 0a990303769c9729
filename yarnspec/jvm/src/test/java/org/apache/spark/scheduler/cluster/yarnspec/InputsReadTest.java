package org.apache.spark.scheduler.cluster.yarnspec;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.hadoop.fs.Path;
import org.junit.jupiter.api.Test;

/** What a program has read is kept short, and nothing of it is left out. */
class InputsReadTest {
    private final InputsRead read = new InputsRead(path -> "hdfs://n" + path);

    private static List<Path> days(int count) {
        return IntStream.range(0, count)
                .mapToObj(day -> new Path("/data/table" + day % 3 + "/day=" + day))
                .toList();
    }

    @Test
    void eachPlaceIsThereOnceByItsName() {
        read.add(List.of(new Path("/x"), new Path("/y")));
        read.add(List.of(new Path("/y")));
        assertEquals(Set.of("hdfs://n/x", "hdfs://n/y"), read.paths());
    }

    @Test
    void inPlaceOfVeryManyIsWhatIsAboveThem() {
        read.add(days(256));
        assertEquals(
                days(256).stream().map(day -> "hdfs://n" + day).collect(Collectors.toSet()), read.paths());
        read.add(days(257));
        assertEquals(
                Set.of("hdfs://n/data/table0", "hdfs://n/data/table1", "hdfs://n/data/table2"), read.paths());
    }

    @Test
    void inPlaceOfVeryManyAtTheTopIsAll() {
        read.add(IntStream.range(0, 300).mapToObj(each -> new Path("/" + each)).toList());
        assertEquals(true, read.paths().contains("hdfs://n/"));
    }
}
