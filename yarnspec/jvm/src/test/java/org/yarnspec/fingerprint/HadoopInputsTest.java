package org.yarnspec.fingerprint;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapred.FileSplit;
import org.apache.hadoop.mapred.InputSplit;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapreduce.lib.input.TextInputFormat;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.rdd.RDD;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.yarnspec.testing.CountedFiles;

/** Which files an RDD reads with what settings, and what it costs to know that. */
class HadoopInputsTest {
    @TempDir
    private Path directory;

    private JavaSparkContext context;
    private HadoopInputs inputs;
    private Path file;

    @BeforeEach
    void start() throws IOException {
        file = Files.writeString(directory.resolve("input"), "a\nb\n");
        nextLife(Map.of());
    }

    private void nextLife(Map<String, String> settings) {
        if (context != null) {
            context.stop();
        }
        SparkConf conf = new SparkConf()
                .setMaster("local[1]")
                .setAppName("inputs")
                .set("spark.driver.host", "127.0.0.1")
                .set("spark.driver.bindAddress", "127.0.0.1")
                .set("spark.ui.enabled", "false")
                .set("spark.hadoop.fs.counted.impl", CountedFiles.class.getName());
        settings.forEach(conf::set);
        context = new JavaSparkContext(conf);
        inputs = new HadoopInputs();
    }

    @AfterEach
    void stop() {
        context.stop();
    }

    private String identity(RDD<?>... rdds) {
        Fingerprint into = new Fingerprint();
        RddGraph graph = new Values(into, shuffle -> "none", inputs).rdds();
        for (RDD<?> each : rdds) {
            graph.add(each, true);
        }
        return into.hex();
    }

    private RDD<?> lines() {
        return context.textFile(file.toString(), 2).rdd();
    }

    /** Lines by the newer interface, with a setting of the program's. */
    private RDD<?> records(String key, String value) {
        Configuration conf = new Configuration(context.hadoopConfiguration());
        conf.set(key, value);
        return context.newAPIHadoopFile(file.toString(), TextInputFormat.class, LongWritable.class, Text.class, conf)
                .rdd();
    }

    private List<String> all() {
        return List.of(
                identity(lines()),
                identity(context.wholeTextFiles(directory.toString()).rdd()),
                identity(records("records.start", "<a>")));
    }

    @Test
    void theSameInputsAreTheSameInTheNextLife() {
        String attempt = "spark.hadoop.mapreduce.job.application.attempt.id";
        String token = "spark.hadoop.fs.s3a.session.token";
        nextLife(Map.of(attempt, "1", token, "of today"));
        List<String> first = all();
        assertEquals(first, all());
        nextLife(Map.of(attempt, "6", token, "of tomorrow"));
        assertEquals(first, all());
    }

    @Test
    void whateverTheProgramTellsTheFormatCounts() {
        String a = identity(records("records.start", "<a>"));
        assertEquals(a, identity(records("records.start", "<a>")));
        assertNotEquals(a, identity(records("records.start", "<b>")));
        assertNotEquals(a, identity(records("records.end", "<a>")));
        nextLife(Map.of("spark.hadoop.records.start", "<a>"));
        assertEquals(a, identity(records("records.start", "<a>")));
    }

    @Test
    void whatIsSetWhenAnRddIsMadeCountsThoughItIsTakenBackBeforeItIsRun() {
        String plain = identity(lines());
        context.hadoopConfiguration().set("textinputformat.record.delimiter", ";");
        RDD<?> parts = lines();
        context.hadoopConfiguration().unset("textinputformat.record.delimiter");
        String byParts = identity(parts);
        assertNotEquals(plain, byParts);
        assertEquals(plain, identity(lines()));
        context.hadoopConfiguration().set("textinputformat.record.delimiter", ";");
        assertEquals(byParts, identity(lines()));
    }

    @Test
    void whatTheProgramTakesAwayFromTheClustersSettingsCounts() {
        String plain = identity(lines());
        context.hadoopConfiguration().unset("io.seqfile.local.dir");
        assertNotEquals(plain, identity(lines()));
    }

    @Test
    void toCompareTwoLivesOnlyWhatFormatsThemselvesLookAtCounts() {
        inputs = HadoopInputs.withSettingsOfFormats();
        assertEquals(identity(records("records.start", "<a>")), identity(records("records.start", "<b>")));
        String plain = identity(lines());
        // As it is where nothing has read the files of MapReduce's settings yet.
        context.hadoopConfiguration().unset("mapreduce.input.fileinputformat.split.minsize");
        assertEquals(plain, identity(lines()));
        context.hadoopConfiguration().set("mapreduce.input.fileinputformat.inputdir", "/another");
        assertEquals(plain, identity(lines()));
        context.hadoopConfiguration().set("textinputformat.record.delimiter", ";");
        assertNotEquals(plain, identity(lines()));
    }

    @Test
    void tasksThatHaveRunChangeNothing() {
        RDD<?> older = lines();
        RDD<?> newer = records("records.start", "<a>");
        String before = identity(older, newer);
        assertEquals(2, older.count());
        assertEquals(2, newer.count());
        assertEquals(before, identity(older, newer));
        assertEquals(before, identity(lines(), records("records.start", "<a>")));
    }

    @Test
    void aFileThatChangesBetweenTwoShufflesOfOneRddIsSeen() throws IOException {
        RDD<?> lines = lines();
        String before = identity(lines);
        Files.setLastModifiedTime(file, FileTime.fromMillis(1_000_000));
        String after = identity(lines);
        assertNotEquals(before, after);
        Files.writeString(file, "a\nb\nc\n");
        Files.setLastModifiedTime(file, FileTime.fromMillis(1_000_000));
        assertNotEquals(after, identity(lines));
    }

    private String counted(String files) {
        return "counted:" + directory + "/" + files;
    }

    @Test
    void aDirectoryIsListedOnceAndAFileOfItsOwnAskedFor() throws IOException {
        for (String name : List.of("x/1", "x/2", "x/3", "y/1")) {
            Files.createDirectories(directory.resolve(name).getParent());
            Files.writeString(directory.resolve(name), name);
        }
        RDD<?> lines = context.textFile(counted("[xy]/*"), 1).rdd();
        assertEquals(4, lines.getNumPartitions());
        CountedFiles.ASKED.set(0);
        CountedFiles.LISTED.set(0);
        String before = identity(lines);
        assertEquals(List.of(1, 1), List.of(CountedFiles.LISTED.get(), CountedFiles.ASKED.get()));
        Files.setLastModifiedTime(directory.resolve("x/2"), FileTime.fromMillis(1_000_000));
        assertNotEquals(before, identity(lines));
    }

    @Test
    void aFewFilesOfALargeDirectoryAreAskedForOneByOne() throws IOException {
        Path large = Files.createDirectory(directory.resolve("large"));
        for (int i = 0; i < 300; i++) {
            Files.createFile(large.resolve("other-" + i));
        }
        Files.writeString(large.resolve("read-1"), "1");
        Files.writeString(large.resolve("read-2"), "2");
        RDD<?> lines = context.textFile(counted("large/read-*"), 1).rdd();
        assertEquals(2, lines.getNumPartitions());
        String before = identity(lines);
        for (String each : List.of("read-1", "read-2")) {
            Files.setLastModifiedTime(large.resolve(each), FileTime.fromMillis(1_000_000));
            String after = identity(lines);
            assertNotEquals(before, after);
            before = after;
        }
    }

    @Test
    void tooManyFilesAreGivenUpOnceAndForAll() throws IOException {
        inputs = new HadoopInputs(2, 60_000);
        RDD<?> one = lines();
        Path second = Files.writeString(directory.resolve("second"), "c\n");
        Path third = Files.writeString(directory.resolve("third"), "d\n");
        RDD<?> others = context.textFile(second + "," + third, 1).rdd();
        identity(one);
        identity(others);
        assertTrue(whyNot(one, others).contains("more than 2 files"));
        // Now each by itself as well: who is above both of them is asked again and again.
        assertTrue(whyNot(one).contains("more than 2 files"));
        assertTrue(whyNot(others).contains("more than 2 files"));
        identity(lines());
    }

    @Test
    void whatTakesTooLongIsGivenUp() {
        inputs = new HadoopInputs(100, -1);
        assertTrue(whyNot(lines()).contains("could not be looked at within"));
    }

    @Test
    void aSplitThatOnlyPretendsToBeAPartOfAFileIsNotKnown() {
        JobConf conf = new JobConf();
        conf.set("input", file.toString());
        RDD<?> table = context.hadoopRDD(conf, TableFormat.class, LongWritable.class, Text.class, 1)
                .rdd();
        assertTrue(whyNot(table).contains("TableSplit"), whyNot(table));
    }

    /** As Hive's tables over HBase have it. */
    public static final class TableFormat extends org.apache.hadoop.mapred.TextInputFormat {
        /** Its path is only that of the table. */
        public static final class TableSplit extends FileSplit {
            TableSplit(String path) {
                super(new org.apache.hadoop.fs.Path(path), 0, 1, new String[0]);
            }
        }

        @Override
        public InputSplit[] getSplits(JobConf conf, int wanted) {
            return new InputSplit[] {new TableSplit(conf.get("input"))};
        }
    }

    private String whyNot(RDD<?>... rdds) {
        return assertThrows(Unknown.class, () -> identity(rdds)).getMessage();
    }
}
