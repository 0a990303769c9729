package org.yarnspec.files;

import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.internal.io.FileCommitProtocol;
import scala.Tuple2;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The files of a DataFrame's write, as its tasks have told.
 *
 * @param elsewhere those of partitions with places of their own: where each is, and where it belongs
 * @param partitions the directories that they have written, of a write that overwrites these
 */
public record StagedFiles(Map<String, String> elsewhere, Set<String> partitions) {
    public static StagedFiles of(Seq<FileCommitProtocol.TaskCommitMessage> tasks) {
        StagedFiles all = new StagedFiles(new TreeMap<>(), new TreeSet<>());
        for (FileCommitProtocol.TaskCommitMessage task : CollectionConverters.asJava(tasks)) {
            if (task.obj() instanceof Tuple2<?, ?> told
                    && told._1() instanceof scala.collection.Map<?, ?> moved
                    && told._2() instanceof scala.collection.Set<?> written) {
                CollectionConverters.asJava(moved)
                        .forEach((from, to) -> all.elsewhere.put(from.toString(), to.toString()));
                CollectionConverters.asJava(written).forEach(each -> all.partitions.add(each.toString()));
            }
        }
        return all;
    }

    /** The places that are overwritten: below the output, but for partitions with places of their own. */
    public List<Path> places(Path output) {
        List<Path> all = new ArrayList<>(placesElsewhere());
        partitions.forEach(each -> all.add(new Path(output, each)));
        return all;
    }

    private Set<Path> placesElsewhere() {
        Set<Path> places = new LinkedHashSet<>();
        elsewhere.values().forEach(to -> places.add(new Path(to).getParent()));
        return places;
    }

    /** Puts all in the place of what is there, one partition after the other, as Spark does. */
    public void show(FileSystem files, Path staging, Path output, Overwritten overwritten) throws IOException {
        Set<Path> places = placesElsewhere();
        for (Path place : places) {
            overwritten.take(place);
        }
        for (Path place : places) {
            files.mkdirs(place);
        }
        for (Map.Entry<String, String> each : elsewhere.entrySet()) {
            rename(files, new Path(each.getKey()), new Path(each.getValue()));
        }
        for (String partition : partitions) {
            Path from = new Path(staging, partition);
            Path to = new Path(output, partition);
            if (!files.exists(from)) {
                throw new IOException(from + ", of which tasks have told, is not there");
            }
            if (!overwritten.take(to)) {
                files.mkdirs(to.getParent());
            }
            rename(files, from, to);
        }
    }

    private static void rename(FileSystem files, Path from, Path to) throws IOException {
        if (!files.rename(from, to)) {
            throw new IOException(from + " cannot be moved to " + to);
        }
    }
}
