package org.yarnspec.write;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.UUID;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.mapred.FileOutputFormat;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.JobContextImpl;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.JobID;
import org.apache.hadoop.mapreduce.lib.output.TextOutputFormat;
import org.apache.parquet.hadoop.ParquetOutputCommitter;
import org.apache.spark.internal.io.FileCommitProtocol.TaskCommitMessage;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.InsertIntoHadoopFsRelationCommand;
import org.apache.spark.sql.execution.datasources.text.TextFileFormat;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.yarnspec.channel.Outbox;
import org.yarnspec.files.Overwritten;
import org.yarnspec.files.WrittenFiles;
import org.yarnspec.testing.CountedFiles;
import org.yarnspec.testing.DriverLife;
import org.yarnspec.testing.FakeCluster;
import scala.Option;
import scala.Tuple2;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * A driver was told to go on, is frozen before it does, and wakes up when the next one has shown its files in the same
 * place. The commits are Spark's and Hadoop's, driven as these do it.
 */
class FrozenDriverTest {
    private static final int EPOCH = 3;
    private static final String REFUSED = "{\"action\": \"stop\", \"reason\": \"a later epoch has begun\"}";

    @TempDir
    private Path directory;

    private static DriverLife life;
    private static int executions;

    private String job = UUID.randomUUID().toString();
    private Configuration conf;
    private Path output;

    @BeforeAll
    static void begin() throws Exception {
        String files = "spark.hadoop.fs.hdfs.impl";
        life = new DriverLife(
                EPOCH,
                null,
                Map.of(
                        files,
                        FrozenFiles.class.getName(),
                        files + ".disable.cache",
                        "true",
                        "spark.hadoop.mapreduce.job.application.attempt.id",
                        "" + EPOCH,
                        "spark.hadoop.mapreduce.fileoutputcommitter.algorithm.version",
                        "1"));
    }

    @BeforeEach
    void setUp() {
        FrozenFiles.isLocal = false;
        FrozenFiles.stays = null;
        FrozenFiles.others = null;
        life.aboutWrites = "{}";
        life.aboutEnds = null;
        conf = new Configuration(life.cluster.context.hadoopConfiguration());
        output = directory.resolve("table");
    }

    @AfterAll
    static void end() {
        life.close();
    }

    private static org.apache.hadoop.fs.Path remote(Path path) {
        return new org.apache.hadoop.fs.Path(FrozenFiles.ROOT + path);
    }

    private FileSystem files() throws IOException {
        return remote(output).getFileSystem(conf);
    }

    private static void write(Path file, String text) {
        try {
            Files.createDirectories(file.getParent());
            Files.writeString(file, text);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** All files and empty directories below the test's. */
    private TreeSet<String> found() throws IOException {
        TreeSet<String> names = new TreeSet<>();
        try (Stream<Path> all = Files.walk(directory)) {
            for (Path each : all.toList()) {
                if (!Files.isDirectory(each) || each.toFile().list().length == 0) {
                    names.add(directory.relativize(each).toString());
                }
            }
        }
        return names;
    }

    private static TreeSet<String> names(String... names) {
        return new TreeSet<>(List.of(names));
    }

    // what happens while it is frozen

    /** The next driver begins, and clears away what is left of the write. */
    private String clearAway(String id, String state, String mode) {
        return clearAway(id, state, mode, new WrittenFiles(99, "other than what is there"));
    }

    private String clearAway(String id, String state, String mode, WrittenFiles written) {
        Outbox outbox = new Outbox();
        WriteQuestions questions = new WriteQuestions(outbox);
        var write = new ObjectMapper().createObjectNode();
        write.putArray("unfinished")
                .addObject()
                .put("ordinal", 1)
                .put("path", FrozenFiles.ROOT + output)
                .put("mode", mode)
                .put("job", id)
                .put("epoch", EPOCH)
                .put("state", state)
                .put("files", written.count())
                .put("digest", written.digest())
                .put("existed", true);
        Thread next = new Thread(() -> new EarlierWrites(() -> conf).resume(questions), "next");
        next.start();
        life.aboutWrites = REFUSED;
        int asked = 0;
        try {
            while (next.isAlive()) {
                questions.answer(1, write.toString());
                for (var settled : FakeCluster.events(outbox, "write_resolved")) {
                    boolean kept = Files.exists(output.resolve(".yarnspec-undoing-" + id + "/.places"));
                    assertTrue(asked++ > 0
                            || kept
                            || !settled.get("outcome").asText().equals("restored"));
                    questions.answer(2, "{}");
                }
                next.join(5);
            }
            return FakeCluster.events(outbox, "write_resolved")
                    .get(0)
                    .get("outcome")
                    .asText();
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    private void nextOverwrites(String state, String mode, String... shown) {
        assertEquals(mode.equals("amend") ? "restored" : "undone", clearAway(job, state, mode));
        for (String each : shown) {
            write(output.resolve(each), "of the next driver");
        }
    }

    // DataFrames

    private Job hadoopJob(org.apache.hadoop.fs.Path path) throws IOException {
        Job hadoops = Job.getInstance(conf);
        hadoops.setJobID(new JobID("job", 1));
        hadoops.setOutputFormatClass(TextOutputFormat.class);
        org.apache.hadoop.mapreduce.lib.output.FileOutputFormat.setOutputPath(hadoops, path);
        return hadoops;
    }

    private RecordedCommitProtocol protocol(boolean dynamic) {
        return new RecordedCommitProtocol(job, FrozenFiles.ROOT + output, dynamic);
    }

    private static Seq<TaskCommitMessage> told(Map<String, String> elsewhere, String... partitions) {
        Object told = new Tuple2<>(
                scala.collection.immutable.Map.from(CollectionConverters.asScala(elsewhere)),
                CollectionConverters.asScala(List.of(partitions)).toSet());
        return CollectionConverters.asScala(List.of(new TaskCommitMessage(told), new TaskCommitMessage(told)))
                .toSeq();
    }

    private String part() {
        return "part-00000-" + job;
    }

    /** The tasks of an overwrite of partitions have committed. */
    private Job staged(RecordedCommitProtocol protocol, String... partitions) throws IOException {
        Job hadoops = hadoopJob(protocol.stagingDir());
        protocol.setupJob(hadoops);
        for (String partition : partitions) {
            Path staging = Path.of(protocol.stagingDir().toUri().getPath());
            write(staging.resolve("_temporary/" + EPOCH + "/task_0/" + partition + "/" + part()), "of this one");
        }
        return hadoops;
    }

    /** Those of any other write have. */
    private Job written(RecordedCommitProtocol protocol) throws IOException {
        Job hadoops = hadoopJob(remote(output));
        protocol.setupJob(hadoops);
        write(output.resolve("_temporary/" + EPOCH + "/task_0/" + part()), "of this one");
        return hadoops;
    }

    /** One of its renames does, while it shows what it has written. */
    private static void failCommit(RecordedCommitProtocol protocol, Job hadoops, Path at, String... partitions) {
        FrozenFiles.freeze("take", remote(at), () -> {
            throw new IllegalStateException("this rename fails");
        });
        assertThrows(IllegalStateException.class, () -> protocol.commitJob(hadoops, told(Map.of(), partitions)));
        assertTrue(FrozenFiles.hasFrozen());
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void partitionsAreOverwritten(boolean local) throws IOException {
        FrozenFiles.isLocal = local;
        for (String day : List.of("day=1/old", "day=2/old", "day=3/old")) {
            write(output.resolve(day), "");
        }
        write(directory.resolve("own/old"), "");
        RecordedCommitProtocol protocol = protocol(true);
        Job hadoops = staged(protocol, "day=1", "day=2", "day=9/hour=1");
        Path moved = output.resolve(".spark-staging-" + job + "/of-another-place");
        write(moved, "of this one");
        Map<String, String> elsewhere = Map.of("" + remote(moved), "" + remote(directory.resolve("own/" + part())));
        protocol.commitJob(hadoops, told(elsewhere, "day=1", "day=2", "day=9/hour=1"));
        assertEquals(
                names(
                        "own/" + part(),
                        "table/day=1/" + part(),
                        "table/day=2/" + part(),
                        "table/day=3/old",
                        "table/day=9/hour=1/" + part()),
                found());
    }

    @Test
    void aPartitionThatTheNextDriverHasShownStays() throws IOException {
        write(output.resolve("day=1/old"), "");
        write(output.resolve("day=2/old"), "");
        RecordedCommitProtocol protocol = protocol(true);
        Job hadoops = staged(protocol, "day=1", "day=2");
        FrozenFiles.freeze("take", remote(output.resolve("day=2")), () -> {
            nextOverwrites("committing", "amend", "day=2/new");
        });
        assertThrows(Exception.class, () -> protocol.commitJob(hadoops, told(Map.of(), "day=1", "day=2")));
        assertTrue(FrozenFiles.hasFrozen());
        assertEquals(names("table/day=1/old", "table/day=2/new", "table/day=2/old"), found());
    }

    /** Its driver dies before it takes the second partition away, and after that: before it shows its own. */
    @ParameterizedTest
    @ValueSource(strings = {"day=2", ".spark-staging-%s/day=2"})
    void whatAnUnfinishedWriteHasOverwrittenIsThereAgain(String last) throws IOException {
        for (String day : List.of("day=1/hour=1/old", "day=2/old", "day=3/old")) {
            write(output.resolve(day), "");
        }
        RecordedCommitProtocol protocol = protocol(true);
        Job hadoops = staged(protocol, "day=1/hour=1", "day=2", "day=9/hour=1");
        TreeSet<String> before = names("table/day=1/hour=1/old", "table/day=2/old", "table/day=3/old");
        FrozenFiles.freeze("take", remote(output.resolve(last.formatted(job))), () -> {
            assertTrue(Files.exists(output.resolve("day=1/hour=1/" + part())));
            assertEquals("restored", clearAway(job, "committing", "amend"));
        });
        assertThrows(
                Exception.class,
                () -> protocol.commitJob(hadoops, told(Map.of(), "day=1/hour=1", "day=2", "day=9/hour=1")));
        assertTrue(FrozenFiles.hasFrozen());
        assertEquals(before, found());
        assertEquals("undone", clearAway(job, "committing", "amend")); // once more: nothing is known of it any more
        assertEquals(before, found());
    }

    /** One died when it had undone a part of it, or shown one: a directory was made or emptied, and is empty. */
    @Test
    void anEmptyDirectoryIsNotInTheWayOfWhatAnUnfinishedWriteHasOverwritten() throws IOException {
        write(output.resolve("day=1/old"), "");
        RecordedCommitProtocol protocol = protocol(true);
        Job hadoops = staged(protocol, "day=1", "day=2");
        FrozenFiles.freeze("take", remote(output.resolve(".spark-staging-" + job + "/day=2")), () -> {
            Files.delete(output.resolve("day=1/" + part()));
            assertEquals("restored", clearAway(job, "committing", "amend"));
        });
        assertThrows(Exception.class, () -> protocol.commitJob(hadoops, told(Map.of(), "day=1", "day=2")));
        assertTrue(FrozenFiles.hasFrozen());
        assertEquals(names("table/day=1/old"), found());
    }

    /** In a table in which others have partitions that nobody else may look at. */
    @ParameterizedTest
    @CsvSource({"user=x, rwx------, restored", "_temporary/3/task_9, rwx------, restored", "user=x, rwx--x--x, failed"})
    void whatAnUnfinishedWriteHasOverwrittenIsThereAgainBesideWhatIsClosed(String closed, String rights, String outcome)
            throws IOException {
        write(output.resolve("day=1/old"), "");
        write(output.resolve(closed + "/old"), "");
        RecordedCommitProtocol protocol = protocol(true);
        Job hadoops = staged(protocol, "day=1", "day=2");
        giveAway(closed, rights);
        FrozenFiles.freeze("take", remote(output.resolve(".spark-staging-" + job + "/day=2")), () -> {
            assertEquals(outcome, clearAway(job, "committing", "amend"));
        });
        assertThrows(Exception.class, () -> protocol.commitJob(hadoops, told(Map.of(), "day=1", "day=2")));
        assertTrue(FrozenFiles.hasFrozen());
        boolean isThere = found().contains("table/day=1/old");
        assertEquals(outcome.equals("restored"), isThere);
    }

    @Test
    void whereNothingCanBeKeptNothingIsOverwritten() throws IOException {
        TreeSet<String> before = table();
        RecordedCommitProtocol protocol = overwrite();
        Job hadoops = overwritten(protocol);
        FrozenFiles.stays = remote(output.resolve(".yarnspec-overwritten-" + job));
        var thrown = assertThrows(Exception.class, () -> protocol.commitJob(hadoops, told(Map.of())));
        assertTrue(thrown.getMessage().contains("cannot be made"), thrown::getMessage);
        protocol.abortJob(hadoops);
        assertEquals(before, found());
    }

    @Test
    void whatAWriteThatFailsHasOverwrittenIsThereAgain() throws IOException {
        for (String day : List.of("day=1/hour=1/old", "day=2/old", "day=3/old")) {
            write(output.resolve(day), "");
        }
        RecordedCommitProtocol protocol = protocol(true);
        Job hadoops = staged(protocol, "day=1/hour=1", "day=2");
        Path fails = output.resolve(".spark-staging-" + job + "/day=2");
        failCommit(protocol, hadoops, fails, "day=1/hour=1", "day=2");
        assertFalse(Files.exists(output.resolve("day=2")));
        protocol.abortJob(hadoops);
        assertEquals(names("table/day=1/hour=1/old", "table/day=2/old", "table/day=3/old"), found());
    }

    @Test
    void whoFailsAndIsFrozenThenTouchesNothingOfTheNextDrivers() throws IOException {
        write(output.resolve("day=1/old"), "");
        RecordedCommitProtocol protocol = protocol(true);
        Job hadoops = staged(protocol, "day=1", "day=2");
        assertThrows(Exception.class, () -> protocol.commitJob(hadoops, told(Map.of(), "day=1", "day=3")));
        FrozenFiles.freeze(
                "list", remote(output.resolve("day=1")), () -> nextOverwrites("begun", "amend", "day=1/new"));
        protocol.abortJob(hadoops);
        assertTrue(FrozenFiles.hasFrozen());
        assertEquals(names("table/day=1/new", "table/day=1/old"), found());
    }

    @Test
    void whatAnUnfinishedWriteHasOverwrittenIsKeptWhereSomethingElseIsInItsPlace() throws IOException {
        write(output.resolve("day=1/old"), "");
        RecordedCommitProtocol protocol = protocol(true);
        Job hadoops = staged(protocol, "day=1", "day=2");
        FrozenFiles.freeze("take", remote(output.resolve(".spark-staging-" + job + "/day=1")), () -> {
            write(output.resolve("day=1/others"), "");
            for (int life = 0; life < 2; life++) {
                assertEquals("failed", clearAway(job, "committing", "amend"));
            }
        });
        assertThrows(Exception.class, () -> protocol.commitJob(hadoops, told(Map.of(), "day=1", "day=2")));
        assertTrue(
                found().containsAll(names("table/day=1/others", "table/.yarnspec-undoing-" + job + "/.0/old")),
                found()::toString);
    }

    @Test
    void aWriteThatHasNotBegunToOverwriteHasOverwrittenNothing() throws IOException {
        write(output.resolve("day=1/old"), "");
        RecordedCommitProtocol protocol = protocol(true);
        staged(protocol, "day=1", "day=2");
        assertEquals("undone", clearAway(job, "begun", "amend"));
        assertEquals(names("table/day=1/old"), found());
    }

    @Test
    void aPartitionIsNotTakenAwayForOneThatIsGone() throws IOException {
        write(output.resolve("day=1/old"), "");
        RecordedCommitProtocol protocol = protocol(true);
        Job hadoops = staged(protocol, "day=2");
        assertThrows(Exception.class, () -> protocol.commitJob(hadoops, told(Map.of(), "day=1", "day=2")));
        assertTrue(Files.exists(output.resolve("day=1/old")));
        protocol.abortJob(hadoops);
        assertEquals(names("table/day=1/old"), found());
    }

    /** One that Spark plans: its driver has been told to overwrite all of the table. */
    private RecordedCommitProtocol overwrite() throws IOException {
        SparkSession session = session();
        var command = new InsertIntoHadoopFsRelationCommand(
                remote(output),
                scala.collection.immutable.Map$.MODULE$.empty(),
                false,
                seq(),
                Option.empty(),
                new TextFileFormat(),
                scala.collection.immutable.Map$.MODULE$.empty(),
                session.range(1).queryExecution().analyzed(),
                SaveMode.Overwrite,
                Option.empty(),
                Option.empty(),
                seq());
        life.cluster.context.setLocalProperty("spark.sql.execution.id", "" + ++executions);
        try {
            assertFalse(life.recovery.writes().isThere(session, command));
            return protocol(false);
        } finally {
            life.cluster.context.setLocalProperty("spark.sql.execution.id", null);
        }
    }

    private static SparkSession session() {
        return SparkSession.builder()
                .sparkContext(life.cluster.context.sc())
                .config("spark.sql.sources.commitProtocolClass", RecordedCommitProtocol.class.getName())
                .getOrCreate();
    }

    private static <T> Seq<T> seq() {
        return CollectionConverters.asScala(List.<T>of()).toSeq();
    }

    private TreeSet<String> table() throws IOException {
        for (String old : List.of("day=1/old", "day=2/old", "old", "_SUCCESS")) {
            write(output.resolve(old), "old");
        }
        return found();
    }

    private Job overwritten(RecordedCommitProtocol protocol) throws IOException {
        assertTrue(protocol.deleteWithJob(files(), remote(output), true));
        Job hadoops = written(protocol);
        write(output.resolve("_temporary/" + EPOCH + "/task_0/day=2/" + part()), "of this one");
        return hadoops;
    }

    @Test
    void allStaysUntilItIsOverwritten() throws IOException {
        TreeSet<String> before = table();
        RecordedCommitProtocol protocol = overwrite();
        Job hadoops = overwritten(protocol);
        assertTrue(found().containsAll(before), found()::toString);
        write(output.resolve("meanwhile"), "of somebody else");
        protocol.commitJob(hadoops, told(Map.of()));
        assertEquals(names("table/_SUCCESS", "table/" + part(), "table/day=2/" + part(), "table/meanwhile"), found());
        assertEquals("", Files.readString(output.resolve("_SUCCESS")));
    }

    /** What a former application of the same number has left below {@code _temporary} would be shown with its own. */
    @Test
    void whatOthersHaveNotShownIsNotShown() throws IOException {
        table();
        write(output.resolve("_temporary/" + EPOCH + "/task_9/part-other"), "of a former application");
        RecordedCommitProtocol protocol = overwrite();
        protocol.commitJob(overwritten(protocol), told(Map.of()));
        assertEquals(names("table/_SUCCESS", "table/" + part(), "table/day=2/" + part()), found());
    }

    private static void setTime(Path file, long ms) throws IOException {
        Files.setLastModifiedTime(file, FileTime.fromMillis(ms));
    }

    /** Deep below there is something new; another directory, or file, is in the place of one that was there. */
    @ParameterizedTest
    @ValueSource(strings = {"day=2/hour=1", "day=1", "old"})
    void whatSomebodyElseHasChangedMeanwhileIsNotOverwritten(String changed) throws IOException {
        write(output.resolve("day=2/hour=1/old"), "old");
        table();
        RecordedCommitProtocol protocol = overwrite();
        Job hadoops = overwritten(protocol);
        Path place = output.resolve(changed);
        if (changed.contains("/")) {
            long before = Files.getLastModifiedTime(place).toMillis();
            long deadline = System.nanoTime() + 10_000_000_000L;
            do { // the clock of the file system is coarse
                write(place.resolve("others"), "of somebody else");
            } while (Files.getLastModifiedTime(place.resolve("others")).toMillis() <= before
                    && System.nanoTime() < deadline);
        } else {
            setTime(place, 1_000); // moved with its time
        }
        TreeSet<String> before = found();
        before.removeIf(each -> each.contains("_temporary"));
        var refused = assertThrows(Exception.class, () -> protocol.commitJob(hadoops, told(Map.of())));
        assertTrue(refused.getMessage().contains("changed by somebody else"), refused::getMessage);
        protocol.abortJob(hadoops);
        assertEquals(before, found());
    }

    /** Files that were copied with their times, or by a clock that was ahead. */
    @Test
    void filesOfALaterTimeAreOverwrittenAsAllOthers() throws IOException {
        table();
        for (String each : List.of("old", "day=1/old", "day=1")) {
            setTime(output.resolve(each), System.currentTimeMillis() + 1_000_000_000);
        }
        RecordedCommitProtocol protocol = overwrite();
        protocol.commitJob(overwritten(protocol), told(Map.of()));
        assertEquals(names("table/_SUCCESS", "table/" + part(), "table/day=2/" + part()), found());
    }

    @Test
    void whereNothingWasNothingIsLost() throws IOException {
        Files.createDirectory(output);
        RecordedCommitProtocol protocol = overwrite();
        Job hadoops = overwritten(protocol);
        FrozenFiles.freeze("take", remote(output.resolve("_temporary/3/task_0/day=2")), () -> {
            assertEquals("restored", clearAway(job, "committing", "replace"));
        });
        assertThrows(Exception.class, () -> protocol.commitJob(hadoops, told(Map.of())));
        assertEquals(names("table"), found());
    }

    /** Others may be writing to other partitions, and show what this one has not shown yet. */
    @Test
    void onePartitionGoesAtOnceAndWithItAllThatWouldWait() throws Exception {
        table();
        write(directory.resolve("own/old"), "");
        int before = life.cluster.events("write_clearing").size();
        RecordedCommitProtocol protocol = overwrite();
        assertTrue(protocol.deleteWithJob(files(), remote(output.resolve("day=1")), true));
        assertEquals(names("own/old", "table/_SUCCESS", "table/day=2/old", "table/old"), found());
        assertEquals(before + 1, life.cluster.events("write_clearing").size());
        RecordedCommitProtocol all = overwrite();
        assertTrue(all.deleteWithJob(files(), remote(output), true));
        assertTrue(all.deleteWithJob(files(), remote(directory.resolve("own")), true));
        assertEquals(names("table"), found());
    }

    /** Nobody sees of one without files whether it has come to its end. */
    @ParameterizedTest
    @ValueSource(strings = {"_SUCCESS", "old", ".yarnspec-overwritten-%s"})
    void anOverwriteWithNothingIsDoneAgainUnlessItHadTakenAll(String last) throws IOException {
        TreeSet<String> before = table();
        RecordedCommitProtocol protocol = overwrite();
        assertTrue(protocol.deleteWithJob(files(), remote(output), true));
        Job hadoops = hadoopJob(remote(output));
        protocol.setupJob(hadoops);
        WrittenFiles none = WrittenFiles.shown(files(), remote(output), job);
        FrozenFiles.freeze("take", remote(output.resolve(last.formatted(job))), () -> {
            assertEquals("restored", clearAway(job, "committing", "replace", none));
        });
        assertThrows(Exception.class, () -> protocol.commitJob(hadoops, told(Map.of())));
        assertTrue(FrozenFiles.hasFrozen());
        assertEquals(before, found());
        assertEquals("old", Files.readString(output.resolve("_SUCCESS")));
    }

    @Test
    void anOverwriteWithNothingThatHadComeToItsEndIsCommitted() throws IOException {
        table();
        RecordedCommitProtocol protocol = overwrite();
        assertTrue(protocol.deleteWithJob(files(), remote(output), true));
        Job hadoops = hadoopJob(remote(output));
        protocol.setupJob(hadoops);
        protocol.commitJob(hadoops, told(Map.of()));
        WrittenFiles none = WrittenFiles.shown(files(), remote(output), job);
        assertEquals("committed", clearAway(job, "committing", "replace", none));
        assertEquals(names("table/_SUCCESS"), found());
    }

    @Test
    void whatFailsBeforeItsCommitHasOverwrittenNothing() throws IOException {
        TreeSet<String> before = table();
        RecordedCommitProtocol protocol = overwrite();
        protocol.abortJob(overwritten(protocol));
        assertEquals(before, found());
    }

    /** Its driver dies before anything is taken, in the midst of that, and of showing its own files. */
    @ParameterizedTest
    @ValueSource(strings = {"day=1", "old", "_temporary/3/task_0/part-00000-%s", "_temporary/3/task_0/day=2"})
    void whatAnUnfinishedOverwriteOfAllHasTakenIsThereAgain(String last) throws IOException {
        TreeSet<String> before = table();
        RecordedCommitProtocol protocol = overwrite();
        Job hadoops = overwritten(protocol);
        FrozenFiles.freeze("take", remote(output.resolve(last.formatted(job))), () -> {
            assertEquals("restored", clearAway(job, "committing", "replace"));
        });
        assertThrows(Exception.class, () -> protocol.commitJob(hadoops, told(Map.of())));
        assertTrue(FrozenFiles.hasFrozen());
        assertEquals(before, found());
    }

    @ParameterizedTest
    @ValueSource(strings = {"day=2", "_temporary/3/task_0/day=2"})
    void whatAnOverwriteOfAllHasTakenThatFailsIsThereAgain(String at) throws IOException {
        TreeSet<String> before = table();
        RecordedCommitProtocol protocol = overwrite();
        Job hadoops = overwritten(protocol);
        failCommit(protocol, hadoops, output.resolve(at));
        protocol.abortJob(hadoops);
        assertTrue(FrozenFiles.hasFrozen());
        assertEquals(before, found());
    }

    /** Its commit fails, and on the way back something of others is in the way, or is not. */
    private void failInPart(RecordedCommitProtocol protocol, boolean putBack) throws IOException {
        Job hadoops = overwritten(protocol);
        failCommit(protocol, hadoops, output.resolve("_temporary/3/task_0/day=2"));
        if (!putBack) {
            write(output.resolve("day=1/others"), "of somebody else");
        }
        protocol.abortJob(hadoops);
    }

    private void assertRefused(boolean refused) {
        String place = remote(output.resolve("day=1")).toString();
        Executable read = () -> life.recovery
                .writes()
                .reads(session().read().text(place).queryExecution().analyzed());
        if (refused) {
            var thrown = assertThrows(IllegalStateException.class, read);
            assertTrue(thrown.getMessage().contains("was overwritten in part"), thrown::getMessage);
        } else {
            assertDoesNotThrow(read);
        }
    }

    /** Until all is there again, or all was overwritten; else the program would go on with what is left. */
    @Test
    void whatIsLeftOfAnOverwriteThatFailedIsNotRead() throws IOException {
        table();
        failInPart(overwrite(), true);
        assertRefused(false);
        failInPart(overwrite(), false);
        assertRefused(true);
        job = UUID.randomUUID().toString();
        failInPart(overwrite(), true);
        assertRefused(true);
        job = UUID.randomUUID().toString();
        RecordedCommitProtocol last = overwrite();
        last.commitJob(overwritten(last), told(Map.of()));
        write(output.resolve("day=1/more"), "more");
        assertRefused(false);
    }

    /** Into a directory that was empty, or new partitions: nothing was there to be taken. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void whatAWriteHasShownThatTookNothingGoesWhenItFails(boolean partitions) throws IOException {
        Files.createDirectories(output);
        RecordedCommitProtocol protocol = partitions ? protocol(true) : overwrite();
        Job hadoops = partitions ? staged(protocol, "day=1", "day=2") : overwritten(protocol);
        String fails = partitions ? ".spark-staging-" + job + "/day=2" : "_temporary/3/task_0/" + part();
        failCommit(protocol, hadoops, output.resolve(fails), "day=1", "day=2");
        protocol.abortJob(hadoops);
        TreeSet<String> left = found();
        left.removeIf(each -> !each.contains(part()));
        assertEquals(names(), left);
    }

    /** The file system has done it, and cannot be asked whether it has. */
    @Test
    void whatIsPerhapsTakenIsPutBack() throws IOException {
        write(output.resolve("old"), "old");
        RecordedCommitProtocol protocol = overwrite();
        Job hadoops = overwritten(protocol);
        FrozenFiles.freeze("take", remote(output.resolve("old")), () -> {
            Files.move(output.resolve("old"), output.resolve(".yarnspec-overwritten-" + job + "/.0"));
            throw new IllegalStateException("no answer");
        });
        assertThrows(IllegalStateException.class, () -> protocol.commitJob(hadoops, told(Map.of())));
        protocol.abortJob(hadoops);
        assertEquals(names("table/old"), found());
    }

    @Test
    void whatCannotBeMovedAwayIsNotOverwritten() throws IOException {
        TreeSet<String> before = table();
        RecordedCommitProtocol protocol = overwrite();
        Job hadoops = overwritten(protocol);
        FrozenFiles.stays = remote(output.resolve("day=2"));
        var thrown = assertThrows(Exception.class, () -> protocol.commitJob(hadoops, told(Map.of())));
        assertTrue(thrown.getMessage().contains("day=2 cannot be moved"), thrown::getMessage);
        protocol.abortJob(hadoops);
        assertEquals(before, found());
    }

    @Test
    void whatCannotBePutBackKeepsNothingElseFromComingBack() throws IOException {
        TreeSet<String> before = table();
        RecordedCommitProtocol protocol = overwrite();
        Job hadoops = overwritten(protocol);
        failCommit(protocol, hadoops, output.resolve("_temporary/3/task_0/day=2"));
        FrozenFiles.freeze("list", remote(output.resolve("day=2")), () -> {
            throw new IOException("this directory cannot be listed");
        });
        protocol.abortJob(hadoops);
        assertTrue(FrozenFiles.hasFrozen());
        TreeSet<String> missing = new TreeSet<>(before);
        missing.removeAll(found());
        assertEquals(names("table/_SUCCESS", "table/day=2/old"), missing, "and the mark that all is there");
        assertTrue(found().contains("table/.yarnspec-overwritten-" + job + "/.2/old"));
        assertRefused(true);
    }

    /** As another user's partition in a table to which many may write. */
    private void giveAway(String directory, String rights) throws IOException {
        Path place = output.resolve(directory);
        Files.setPosixFilePermissions(place, PosixFilePermissions.fromString(rights));
        FrozenFiles.others = FrozenFiles.key(place);
    }

    private void overwriteAll() throws IOException {
        RecordedCommitProtocol protocol = overwrite();
        commitOrAbort(protocol, overwritten(protocol));
    }

    private void overwritePartitions(String... partitions) throws IOException {
        RecordedCommitProtocol protocol = protocol(true);
        commitOrAbort(protocol, staged(protocol, partitions), partitions);
    }

    private static void commitOrAbort(RecordedCommitProtocol protocol, Job hadoops, String... partitions) {
        try {
            protocol.commitJob(hadoops, told(Map.of(), partitions));
        } catch (UncheckedIOException e) {
            protocol.abortJob(hadoops);
            throw e;
        }
    }

    private static void assertDenied(Executable overwriting) {
        var denied = assertThrows(UncheckedIOException.class, overwriting);
        assertTrue(denied.getMessage().contains("Permission denied"), denied::getMessage);
    }

    /** HDFS renames what one may not delete; Spark would have failed. */
    @ParameterizedTest
    @ValueSource(strings = {"day=1", "day=2/hour=1"})
    void whatMayNotBeDeletedIsNotOverwritten(String place) throws IOException {
        write(output.resolve("day=2/hour=1/old"), "old");
        TreeSet<String> before = table();
        giveAway(place, "rwxr-xr-x");
        assertDenied(this::overwriteAll);
        assertEquals(before, found());
        assertDenied(() -> overwritePartitions("day=1", "day=2"));
        assertEquals(before, found());
        assertRefused(false);
    }

    @Test
    void whoIsDeniedHasNotTouchedWhatOthersAreWriting() throws IOException {
        write(output.resolve("_temporary/0/task_9/part-other"), "of another write");
        TreeSet<String> before = table();
        giveAway("day=1", "rwxr-xr-x");
        RecordedCommitProtocol protocol = overwrite();
        assertDenied(() -> protocol.deleteWithJob(files(), remote(output), true));
        assertEquals(before, found());
    }

    /** Of two writes that are both undone the later one's files may be in what the other has overwritten. */
    @Test
    void whatAnotherWriteHasTakenIsUndoneThere() throws IOException {
        String other = UUID.randomUUID().toString();
        write(output.resolve(".yarnspec-overwritten-" + other + "/.0/" + part()), "of this one");
        write(output.resolve(".yarnspec-overwritten-" + other + "/.0/old"), "old");
        assertEquals("undone", clearAway(job, "committing", "add"));
        assertEquals(names("table/.yarnspec-overwritten-" + other + "/.0/old"), found());
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void whatIsOthersAndMayBeDeletedIsOverwritten(boolean empty) throws IOException {
        table();
        if (empty) {
            Files.delete(output.resolve("day=1/old"));
        }
        giveAway("day=1", empty ? "rwxr-xr-x" : "rwxrwxrwx");
        overwriteAll();
        assertEquals(names("table/_SUCCESS", "table/" + part(), "table/day=2/" + part()), found());
    }

    /** One partition, and all where it does not wait for the commit: it is not even moved. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void whatMayNotBeDeletedAtOnceStays(boolean all) throws IOException {
        write(output.resolve("day=2/hour=1/old"), "old");
        TreeSet<String> before = table();
        giveAway("day=2/hour=1", "rwxr-xr-x");
        RecordedCommitProtocol protocol = overwrite();
        FrozenFiles.stays = remote(output.resolve("day=2"));
        if (all) {
            conf.set("mapreduce.fileoutputcommitter.algorithm.version", "2");
            assertTrue(protocol.deleteWithJob(files(), remote(output), true));
            assertDenied(() -> protocol.setupJob(hadoopJob(remote(output))));
        } else {
            assertDenied(() -> protocol.deleteWithJob(files(), remote(output.resolve("day=2")), true));
        }
        assertEquals(before, found());
        assertRefused(false);
    }

    /** Also when it is interrupted, and when another kind of fault comes in between. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void whatCannotBeDeletedAtOnceIsPutBack(boolean fault) throws IOException {
        TreeSet<String> before = table();
        RecordedCommitProtocol protocol = overwrite();
        FrozenFiles.freeze("take", remote(output.resolve(".yarnspec-overwritten-" + job)), () -> {
            assertFalse(Files.exists(output.resolve("day=1")));
            Thread.currentThread().interrupt();
            if (fault) {
                throw new IllegalStateException("no answer");
            }
            throw new IOException("it is not deleted");
        });
        assertThrows(
                RuntimeException.class, () -> protocol.deleteWithJob(files(), remote(output.resolve("day=1")), true));
        assertTrue(Thread.interrupted());
        assertEquals(before, found());
        assertRefused(false);
    }

    /** When it cannot be moved back either the program does not go on with what is left. */
    @Test
    void whatCouldNeitherBeDeletedNorPutBackIsNotRead() throws IOException {
        table();
        RecordedCommitProtocol protocol = overwrite();
        FrozenFiles.freeze("take", remote(output.resolve(".yarnspec-overwritten-" + job)), () -> {
            write(output.resolve("day=1/others"), "of somebody else");
            throw new IOException("it is not deleted");
        });
        assertThrows(
                UncheckedIOException.class,
                () -> protocol.deleteWithJob(files(), remote(output.resolve("day=1")), true));
        assertTrue(found().contains("table/.yarnspec-overwritten-" + job + "/.0/old"), () -> "lost");
        assertRefused(true);
        assertEquals("undone", clearAway(job, "begun", "amend"));
        assertTrue(found().contains("table/.yarnspec-undoing-" + job + "/.0/old"), () -> "lost by the next driver");
    }

    /** A view of several file systems, of which one copies what it renames. */
    @Test
    void onlyWhereARenameIsOneAnythingWaits() throws IOException {
        Files.createDirectories(output);
        conf.set("fs.counted.impl", CountedFiles.class.getName());
        conf.set("fs.viewfs.mounttable.here.link./local", output.toUri().toString());
        conf.set("fs.viewfs.mounttable.here.link./other", "counted://" + output);
        FileSystem view = FileSystem.newInstance(URI.create("viewfs://here/"), conf);
        assertTrue(Overwritten.takes(view, new org.apache.hadoop.fs.Path("viewfs://here/local")));
        assertFalse(Overwritten.takes(view, new org.apache.hadoop.fs.Path("viewfs://here/other")));
        view.close();
    }

    @Test
    void whatCannotBeListedKeepsNothingNewInView() throws IOException {
        table();
        RecordedCommitProtocol protocol = overwrite();
        Job hadoops = overwritten(protocol);
        write(output.resolve("_temporary/" + EPOCH + "/task_0/day=0/" + part()), "of this one");
        write(output.resolve("a/deep/other"), "of somebody else");
        TreeSet<String> before = found();
        before.removeIf(each -> each.contains("_temporary"));
        before.remove("table/_SUCCESS"); // nobody knows whether all is there again
        failCommit(protocol, hadoops, output.resolve("_temporary/3/task_0/day=2"));
        assertTrue(Files.exists(output.resolve("day=0/" + part())));
        FrozenFiles.freeze("list", remote(output.resolve("a/deep")), () -> {
            throw new IOException("this directory cannot be listed");
        });
        protocol.abortJob(hadoops);
        assertTrue(FrozenFiles.hasFrozen());
        TreeSet<String> after = found();
        after.removeIf(each -> each.contains(".yarnspec-"));
        assertEquals(before, after);
    }

    @Test
    void aWriteWhoseFilesAreShownIsCountedAlsoWhenItFailsThen() throws Exception {
        life.aboutEnds = REFUSED;
        RecordedCommitProtocol protocol = protocol(true);
        Job hadoops = staged(protocol, "day=1");
        assertThrows(IllegalStateException.class, () -> protocol.commitJob(hadoops, told(Map.of(), "day=1")));
        life.aboutEnds = null;
        job = UUID.randomUUID().toString();
        overwritePartitions("day=2");
        var committing = life.cluster.events("write_committing");
        assertEquals(1, committing.get(committing.size() - 1).get("done_before").asInt());
    }

    @Test
    void whoIsInterruptedPutsBackAllTheSame() throws IOException {
        TreeSet<String> before = table();
        RecordedCommitProtocol protocol = overwrite();
        Job hadoops = overwritten(protocol);
        failCommit(protocol, hadoops, output.resolve("_temporary/3/task_0/day=2"));
        Thread.currentThread().interrupt();
        protocol.abortJob(hadoops);
        assertTrue(Thread.interrupted());
        assertEquals(before, found());
    }

    /** Where it cannot be told which files are its own: not done, but what it has taken is there again. */
    @Test
    void whatAWriteOfUnknownFilesHasTakenIsThereAgain() throws IOException {
        TreeSet<String> before = table();
        RecordedCommitProtocol protocol = overwrite();
        Job hadoops = overwritten(protocol);
        FrozenFiles.freeze("take", remote(output.resolve("old")), () -> {
            assertEquals("failed", clearAway(job, "committing", "replace", new WrittenFiles(0, "")));
        });
        assertThrows(Exception.class, () -> protocol.commitJob(hadoops, told(Map.of())));
        TreeSet<String> after = found();
        after.removeIf(each -> each.contains(".yarnspec-undoing-"));
        assertEquals(before, after);
    }

    /** A file, where a directory is to be; and all where tasks show files when they commit. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void whatCannotStayUntilTheCommitGoesAtOnce(boolean file) throws Exception {
        if (file) {
            write(output, "old");
        } else {
            table();
            conf.set("mapreduce.fileoutputcommitter.algorithm.version", "2");
        }
        int before = life.cluster.events("write_clearing").size();
        RecordedCommitProtocol protocol = overwrite();
        assertTrue(protocol.deleteWithJob(files(), remote(output), true));
        protocol.setupJob(hadoopJob(remote(output)));
        assertEquals(names("table/_temporary/" + EPOCH), found());
        assertTrue(life.cluster.events("write_clearing").size() > before);
    }

    @ParameterizedTest
    @ValueSource(strings = {"take", "mkdirs"})
    void whatTheNextDriverHasPutInThePlaceOfAllStays(String operation) throws IOException {
        write(output.resolve("old"), "");
        RecordedCommitProtocol protocol = protocol(false);
        Path gate = directory.resolve(".yarnspec-overwritten-" + job);
        FrozenFiles.freeze(operation, remote(operation.equals("take") ? output : gate), () -> {
            nextOverwrites("begun", "replace", "new");
        });
        assertThrows(IllegalStateException.class, () -> protocol.deleteWithJob(files(), remote(output), true));
        assertTrue(FrozenFiles.hasFrozen());
        assertTrue(Files.exists(output.resolve("new")));
    }

    @Test
    void allIsOverwrittenOrOnePartition() throws IOException {
        write(output.resolve("day=1/old"), "");
        write(output.resolve("day=2/old"), "");
        RecordedCommitProtocol protocol = protocol(false);
        assertTrue(protocol.deleteWithJob(files(), remote(output.resolve("day=1")), true));
        assertEquals(names("table/day=2/old"), found());
        assertTrue(protocol.deleteWithJob(files(), remote(output), true));
        assertEquals(names(""), found());
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void whatTheNextDriverIsWritingStays(boolean parquet) throws IOException {
        if (parquet) {
            conf.set("spark.sql.sources.outputCommitterClass", ParquetOutputCommitter.class.getName());
        }
        write(output.resolve("old"), "");
        write(output.resolve("_temporary/0/task_0/left"), "by an application of before");
        RecordedCommitProtocol protocol = protocol(false);
        Job hadoops = written(protocol);
        // The next driver has found all its files, and adds some.
        String own = "table/_temporary/" + (EPOCH + 1) + "/task_0/new";
        FrozenFiles.freeze(
                "take", remote(output.resolve("_temporary/" + EPOCH)), () -> write(directory.resolve(own), ""));
        protocol.commitJob(hadoops, told(Map.of()));
        assertTrue(FrozenFiles.hasFrozen());
        assertEquals(names("table/_SUCCESS", "table/old", "table/" + part(), own), found());
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void whoCleansUpAsksBeforeItRemovesWhatMayBeTheNextDrivers(boolean aborts) throws IOException {
        RecordedCommitProtocol protocol = protocol(false);
        Job hadoops = written(protocol);
        String own = "table/_temporary/" + (EPOCH + 1) + "/task_0/new";
        FrozenFiles.freeze("list", remote(output.resolve("_temporary")), () -> {
            write(directory.resolve(own), "");
            life.aboutWrites = REFUSED;
        });
        assertThrows(IllegalStateException.class, () -> {
            if (aborts) {
                protocol.abortJob(hadoops);
            } else {
                protocol.commitJob(hadoops, told(Map.of()));
            }
        });
        assertTrue(found().contains(own));
    }

    @Test
    void whatADeadApplicationHasLeftIsCleanedUpAsByHadoop() throws IOException {
        write(output.resolve("_temporary/" + (EPOCH + 1) + "/task_0/left"), "");
        RecordedCommitProtocol protocol = protocol(false);
        protocol.commitJob(written(protocol), told(Map.of()));
        assertEquals(names("table/_SUCCESS", "table/" + part()), found());
    }

    @Test
    void whereARenameMayCopyAllItIsAskedBeforeEachDelete() throws IOException {
        write(output.resolve("day=1/old"), "");
        int[] asked = new int[1];
        FileSystem others = new CountedFiles();
        others.initialize(others.getUri(), conf);
        var place = new org.apache.hadoop.fs.Path("counted://" + output);
        Overwritten overwritten = new Overwritten(others, place, job, () -> asked[0]++);
        overwritten.willTake(List.of());
        assertFalse(overwritten.take(new org.apache.hadoop.fs.Path(place, "day=2")));
        assertTrue(overwritten.take(new org.apache.hadoop.fs.Path(place, "day=1")));
        assertEquals(1, asked[0]);
        assertEquals(names("table"), found());
    }

    // RDDs

    private RecordedOutputCommitter saving(JobContextImpl context, String... shown) throws IOException {
        RecordedOutputCommitter committer = new RecordedOutputCommitter();
        committer.setupJob(context);
        for (String each : shown) {
            write(output.resolve("_temporary/" + EPOCH + "/" + each), "of this one");
        }
        return committer;
    }

    private JobContextImpl saveContext() {
        JobConf all = new JobConf(conf);
        FileOutputFormat.setOutputPath(all, remote(output));
        return new JobContextImpl(all, new JobID("job", 1));
    }

    private String savedJob() {
        try {
            var begun = life.cluster.events("write_beginning");
            return begun.get(begun.size() - 1).get("job").asText();
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void anRddIsSavedAsByHadoop() throws IOException {
        JobContextImpl context = saveContext();
        RecordedOutputCommitter committer =
                saving(context, "task_0/part-00000", "task_0/a/b/one", "task_1/part-00001", "task_1/a/b/two");
        committer.commitJob(context);
        assertEquals(
                names("table/_SUCCESS", "table/part-00000", "table/part-00001", "table/a/b/one", "table/a/b/two"),
                found());
    }

    @Test
    void settingsOfHadoopsCommitHold() throws IOException {
        conf.set("mapreduce.fileoutputcommitter.marksuccessfuljobs", "false");
        conf.set("mapreduce.fileoutputcommitter.cleanup.skipped", "true");
        JobContextImpl context = saveContext();
        saving(context, "task_0/part-00000").commitJob(context);
        assertTrue(Files.exists(output.resolve("part-00000")));
        assertTrue(Files.exists(output.resolve("_temporary")));
        assertFalse(Files.exists(output.resolve("_SUCCESS")));
    }

    @Test
    void theSecondAlgorithmHasNothingToMove() throws IOException {
        conf.set("mapreduce.fileoutputcommitter.algorithm.version", "2");
        JobContextImpl context = saveContext();
        RecordedOutputCommitter committer = saving(context);
        write(output.resolve("part-00000"), "moved by its task");
        committer.commitJob(context);
        assertEquals(names("table/_SUCCESS", "table/part-00000"), found());
    }

    @ParameterizedTest
    @ValueSource(strings = {"take", "listed"})
    void aFileThatTheNextDriverHasSavedStays(String operation) throws IOException {
        JobContextImpl context = saveContext();
        RecordedOutputCommitter committer = saving(context, "task_0/part-00000", "task_1/part-00001");
        Path task = output.resolve("_temporary/" + EPOCH + "/task_1");
        Path at = operation.equals("take") ? task.resolve("part-00001") : task;
        FrozenFiles.Happening meanwhile = () -> {
            assertEquals("undone", clearAway(savedJob(), "committing", "save"));
            write(output.resolve("part-00000"), "of the next driver");
            write(output.resolve("part-00001"), "of the next driver");
        };
        // The files are listed once for the journal before the question, and again for the commit.
        FrozenFiles.Happening listedAgain = () -> FrozenFiles.freeze(operation, remote(at), meanwhile);
        FrozenFiles.freeze(operation, remote(at), operation.equals("listed") ? listedAgain : meanwhile);
        assertThrows(IOException.class, () -> committer.commitJob(context));
        assertTrue(FrozenFiles.hasFrozen());
        assertEquals(names("table/part-00000", "table/part-00001"), found());
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aFileThatIsThereStays(boolean stops) throws IOException {
        JobContextImpl context = saveContext();
        RecordedOutputCommitter committer = saving(context, "task_0/part-00000");
        write(output.resolve("part-00000"), "of somebody else");
        IOException thrown = assertThrows(IOException.class, () -> committer.commitJob(context));
        assertTrue(thrown.getMessage().contains("part-00000 is there already"), thrown.getMessage());
        assertEquals("of somebody else", Files.readString(output.resolve("part-00000")));
        abort(committer, context, stops);
        assertEquals(names("table/part-00000"), found());
        assertEquals("undone", clearAway(savedJob(), "begun", "save"));
        assertEquals(names("table/part-00000"), found());
    }

    /** Of a job that has failed, also because its SparkContext was stopped. */
    private void abort(RecordedOutputCommitter committer, JobContextImpl context, boolean stops) throws IOException {
        var stopped = life.cluster.context.sc().stopped();
        stopped.set(stops);
        try {
            committer.abortJob(context, 0);
        } finally {
            stopped.set(false);
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void whatATaskWritesThatOutlivesItsDriverGoesWithTheRest(boolean stops) throws IOException {
        JobContextImpl context = saveContext();
        RecordedOutputCommitter committer = saving(context, "task_0/part-00000");
        abort(committer, context, stops);
        String late = "_temporary/" + EPOCH + "/_temporary/attempt_1/part-00001";
        write(output.resolve(late), "of a task whose executor has not ended");
        assertEquals("undone", clearAway(savedJob(), "begun", "save"));
        // Without its mark it may be somebody else's.
        assertEquals(!stops, Files.exists(output.resolve(late)));
        assertEquals(!stops, Files.exists(output));
    }
}
