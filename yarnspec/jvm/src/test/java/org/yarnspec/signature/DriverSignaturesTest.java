package org.yarnspec.signature;

import static org.apache.spark.sql.functions.array;
import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.count;
import static org.apache.spark.sql.functions.element_at;
import static org.apache.spark.sql.functions.expr;
import static org.apache.spark.sql.functions.lit;
import static org.apache.spark.sql.functions.map;
import static org.apache.spark.sql.functions.rand;
import static org.apache.spark.sql.functions.sum;
import static org.apache.spark.sql.functions.transform;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TimeZone;
import java.util.concurrent.CompletableFuture;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeArrayData;
import org.apache.spark.sql.execution.exchange.BroadcastExchangeExec;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.ObjectType;
import org.apache.spark.util.collection.BitSet;
import org.apache.spark.yarnspec.KnownFunctions;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.yarnspec.fingerprint.Fingerprint;
import org.yarnspec.fingerprint.HadoopInputs;
import org.yarnspec.fingerprint.Relations;
import org.yarnspec.fingerprint.Unknown;
import org.yarnspec.fingerprint.Values;
import org.yarnspec.recovery.RddIdentity;
import org.yarnspec.spark.Fields;
import org.yarnspec.testing.DriverLife;
import org.yarnspec.testing.FakeCluster;
import scala.runtime.BoxedUnit;

/** When two shuffles are the same, and of which ones nobody can say. Nothing is run: a shuffle is declared before. */
class DriverSignaturesTest {
    @TempDir
    private Path directory;

    private DriverLife life;
    private SparkSession session;
    private final Set<Integer> seen = new HashSet<>();

    @BeforeEach
    void start() throws Exception {
        begin(1, null);
    }

    private void begin(int epoch, Path past) throws Exception {
        life = new DriverLife(
                epoch, past, Map.of("spark.sql.shuffle.partitions", "4", "spark.sql.warehouse.dir", "" + directory));
        session = SparkSession.builder().sparkContext(life.cluster.context.sc()).getOrCreate();
    }

    @AfterEach
    void stop() {
        life.close();
    }

    /** What is said of the first shuffle that a job declares next. */
    private JsonNode declared(FakeCluster.Job job) throws Exception {
        life.cluster.start(job);
        JsonNode[] found = new JsonNode[1];
        FakeCluster.await(() -> (found[0] = unseen()) != null, "no shuffle was declared");
        return found[0];
    }

    private JsonNode unseen() {
        try {
            for (JsonNode event : life.declared()) {
                if (seen.add(event.get("question").asInt())) {
                    return event;
                }
            }
            return null;
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    /** The signature without the number that tells it from others of the same kind. */
    private String signature(FakeCluster.Job job) throws Exception {
        JsonNode event = declared(job);
        assertEquals("", event.get("why_not").asText());
        return event.get("signature").asText().split("-")[0];
    }

    private String whyNot(FakeCluster.Job job) throws Exception {
        JsonNode event = declared(job);
        assertEquals("", event.get("signature").asText());
        return event.get("why_not").asText();
    }

    private Dataset<Row> numbers(int above) {
        return session.range(0, 100, 1, 3)
                .toDF()
                .where(col("id").gt(above))
                .groupBy(col("id").mod(7))
                .agg(count(lit(1)));
    }

    /** A shuffle above a column that is made of an array by a function of Spark's, which calls its function for each element. */
    private Dataset<Row> plus(int number) {
        Column each = transform(array(col("id"), lit(7)), element -> element.plus(number));
        return session.range(0, 100, 1, 3)
                .select(each.alias("all"))
                .groupBy(col("all"))
                .agg(count(lit(1)));
    }

    /** A shuffle above a column that is looked up in a table in the plan. */
    private Dataset<Row> lookedUp(int value) {
        Column table = map(lit(0L), lit(value), lit(1L), lit(9));
        return session.range(0, 100, 1, 3)
                .groupBy(element_at(table, col("id").mod(2)))
                .agg(count(lit(1)));
    }

    @Test
    void functionsOfElementsAndConstantMapsAreKnown() throws Exception {
        String one = signature(() -> plus(1).collect());
        assertEquals(one, signature(() -> plus(1).collect()));
        assertNotEquals(one, signature(() -> plus(2).collect()));
        String looked = signature(() -> lookedUp(1).collect());
        assertEquals(looked, signature(() -> lookedUp(1).collect()));
        assertNotEquals(looked, signature(() -> lookedUp(2).collect()));
    }

    /** Else those after it would not be known again by their numbers. */
    @Test
    void shufflesOfAWriteThatIsNotDoneAgainCountAsMade() throws Exception {
        String made = signature(() -> numbers(1).collect());
        leaveOutWhatMade(made, 2);
        assertEquals(
                made + "-4",
                declared(() -> numbers(1).collect()).get("signature").asText());
    }

    /** They are of more use to what comes next than to nobody. */
    @Test
    void butForThoseThatAreSavedStill() throws Exception {
        String made = signature(() -> numbers(1).collect());
        Path past = life.save(directory.resolve("past"));
        life.close();
        seen.clear();
        begin(2, past);
        leaveOutWhatMade(made, 1);
        assertEquals(
                made + "-1",
                declared(() -> numbers(1).collect()).get("signature").asText());
    }

    private void leaveOutWhatMade(String which, int count) {
        life.aboutWrites = "{\"action\":\"skip\",\"saved\":{\"epoch\":1,\"made\":{\"" + which + "\":" + count + "}}}";
        var saved = life.cluster.context.parallelize(List.of(1, 2), 2);
        var output = new org.apache.hadoop.fs.Path(directory.resolve("out").toString());
        assertTrue(life.recovery.writes().isThere(saved.rdd(), output, "saveAsTextFile"));
        life.recovery.writes().leave(output);
    }

    @Test
    void noValueIsNoText() {
        assertNotEquals(digest((Object) null), digest("null"));
        assertNotEquals(digest(new ObjectType(String.class)), digest(new ObjectType(Integer.class)));
    }

    private static String digest(Object value) {
        Fingerprint into = new Fingerprint();
        new Values(into, shuffle -> "none", new HadoopInputs()).add(value);
        return into.hex();
    }

    @Test
    void bucketsAndArraysAreKnownByWhatIsInThem() {
        BitSet first = new BitSet(8);
        first.set(3);
        BitSet second = new BitSet(8);
        second.set(4);
        assertNotEquals(digest(first), digest(second));
        assertNotEquals(
                digest(UnsafeArrayData.fromPrimitiveArray(new long[] {1, 2})),
                digest(UnsafeArrayData.fromPrimitiveArray(new long[] {1, 3})));
    }

    @Test
    void recordsAreKnownWhereEachRunGivesTheSameInTheSameOrder() throws Exception {
        var context = life.cluster.context;
        Path file = Files.writeString(directory.resolve("input"), "a\nb\n");
        String ofTwo = RddIdentity.of(context.parallelize(List.of("a", "b"), 2).rdd());
        assertNotEquals("", ofTwo);
        assertEquals(
                ofTwo, RddIdentity.of(context.parallelize(List.of("a", "b"), 2).rdd()));
        assertNotEquals(
                ofTwo, RddIdentity.of(context.parallelize(List.of("a", "c"), 2).rdd()));
        assertNotEquals(
                ofTwo, RddIdentity.of(context.parallelize(List.of("a", "b"), 1).rdd()));
        String ofFile = RddIdentity.of(context.textFile(file.toString(), 1).rdd());
        assertNotEquals("", ofFile);
        Files.setLastModifiedTime(file, FileTime.fromMillis(1_000));
        assertNotEquals(
                ofFile, RddIdentity.of(context.textFile(file.toString(), 1).rdd()));
        assertEquals(
                "",
                RddIdentity.of(context.parallelize(List.of("a", "b"), 2).cache().rdd()));
        assertEquals(
                "", RddIdentity.of(session.range(0, 10, 1, 2).toDF().toJavaRDD().rdd()));
    }

    @Test
    void theSameQueryIsTheSameWhateverItsNumbers() throws Exception {
        String first = signature(() -> numbers(5).collectAsList());
        assertEquals(first, signature(() -> numbers(5).collectAsList()));
        assertNotEquals(first, signature(() -> numbers(6).collectAsList()));
    }

    @Test
    void theSameShuffleTwiceHasTwoSignatures() throws Exception {
        String first =
                declared(() -> numbers(5).collectAsList()).get("signature").asText();
        String second =
                declared(() -> numbers(5).collectAsList()).get("signature").asText();
        assertNotEquals(first, second);
    }

    @Test
    void whatReadsTheSecondOfTwoThatAreTheSameIsWhatReadsTheFirst() throws Exception {
        session.conf().set("spark.sql.adaptive.enabled", "false");
        Set<String> all = new HashSet<>();
        Set<String> kinds = new HashSet<>();
        for (int run = 0; run < 2; run++) {
            Dataset<Row> above = numbers(5).groupBy(col("count(1)")).agg(count(lit(1)));
            for (JsonNode each : List.of(declared(above::collectAsList), declared(() -> {}))) {
                String text = each.get("signature").asText();
                all.add(text);
                kinds.add(text.substring(0, text.indexOf('-')));
            }
        }
        assertEquals(List.of(4, 2), List.of(all.size(), kinds.size()));
    }

    @Test
    void adaptiveExecutionOrNotIsAnotherPlan() throws Exception {
        String first = signature(() -> numbers(5).collectAsList());
        session.conf().set("spark.sql.adaptive.enabled", "false");
        assertNotEquals(first, signature(() -> numbers(5).collectAsList()));
    }

    @Test
    void whichColumnIsWhichCounts() throws Exception {
        Dataset<Row> two = session.range(0, 10, 1, 2)
                .select(col("id").as("a"), col("id").plus(1).as("b"));
        String a = signature(() -> two.select("a", "b").repartition(3, col("a")).collectAsList());
        assertEquals(
                a, signature(() -> two.select("a", "b").repartition(3, col("a")).collectAsList()));
        assertNotEquals(
                a, signature(() -> two.select("a", "b").repartition(3, col("b")).collectAsList()));
        assertNotEquals(
                a, signature(() -> two.select("b", "a").repartition(3, col("a")).collectAsList()));
    }

    @Test
    void aFileThatChangesMakesAnotherShuffle() throws Exception {
        Path file = Files.writeString(directory.resolve("input"), "x\ny\n");
        Files.setLastModifiedTime(file, FileTime.fromMillis(1_000_000));
        String table = signature(() -> text(file).collectAsList());
        String lines = signature(() -> lines(file).count());
        assertEquals(table, signature(() -> text(file).collectAsList()));
        assertEquals(lines, signature(() -> lines(file).count()));
        Files.setLastModifiedTime(file, FileTime.fromMillis(2_000_000));
        assertNotEquals(table, signature(() -> text(file).collectAsList()));
        assertNotEquals(lines, signature(() -> lines(file).count()));
    }

    private Dataset<Row> text(Path file) {
        return session.read().schema("value string").text(file.toString()).repartition(2, col("value"));
    }

    private JavaRDD<String> lines(Path file) {
        return life.cluster.context.textFile(file.toString(), 2).coalesce(3, true);
    }

    @Test
    void theValuesOfACollectionCount() throws Exception {
        String first = signature(() -> collection(List.of("a", "b")).count());
        assertEquals(first, signature(() -> collection(List.of("a", "b")).count()));
        assertNotEquals(first, signature(() -> collection(List.of("a", "c")).count()));
    }

    private JavaRDD<String> collection(List<String> values) {
        return life.cluster.context.parallelize(values, 2).coalesce(3, true);
    }

    @Test
    void rowsInTheProgramCount() throws Exception {
        String first = signature(() -> rows("1").collectAsList());
        assertEquals(first, signature(() -> rows("1").collectAsList()));
        assertNotEquals(first, signature(() -> rows("2").collectAsList()));
    }

    private Dataset<Row> rows(String value) {
        return session.sql("select * from values ('a', " + value + "), ('b', 5) as t(k, v)")
                .repartition(2, col("k"));
    }

    @Test
    void settingsThatChangeTheBytesCount() throws Exception {
        String first = signature(() -> numbers(5).collectAsList());
        session.conf().set("spark.sql.ansi.enabled", "false");
        assertNotEquals(first, signature(() -> numbers(5).collectAsList()));
    }

    @Test
    void whatFormatsAreToldThroughTheSessionOrHadoopsSettingsCounts() throws Exception {
        String first = signature(() -> numbers(5).collectAsList());
        session.conf().set("orc.force.positional.evolution", "true");
        String bySession = signature(() -> numbers(5).collectAsList());
        assertNotEquals(first, bySession);
        session.conf().unset("orc.force.positional.evolution");
        life.cluster.context.hadoopConfiguration().set("orc.force.positional.evolution", "true");
        String byHadoop = signature(() -> numbers(5).collectAsList());
        assertNotEquals(first, byHadoop);
        life.cluster.context.hadoopConfiguration().unset("orc.force.positional.evolution");
        // What each driver epoch has of its own: HDFS's client sets the first of these where it is first asked for.
        life.cluster
                .context
                .hadoopConfiguration()
                .set("rpc.engine.org.apache.hadoop.hdfs.protocolPB.ClientNamenodeProtocolPB", "an engine");
        session.conf().set("fs.s3a.session.token", "of today");
        assertEquals(first, signature(() -> numbers(5).collectAsList()));
    }

    @Test
    void theTimeZoneOfTheDriversHostCountsWhereNoneIsSet() throws Exception {
        TimeZone here = TimeZone.getDefault();
        try {
            TimeZone.setDefault(TimeZone.getTimeZone("UTC"));
            String utc = signature(() -> numbers(5).collectAsList());
            TimeZone.setDefault(TimeZone.getTimeZone("Asia/Tokyo"));
            assertNotEquals(utc, signature(() -> numbers(5).collectAsList()));
            session.conf().set("spark.sql.session.timeZone", "UTC");
            String set = signature(() -> numbers(5).collectAsList());
            TimeZone.setDefault(TimeZone.getTimeZone("UTC"));
            assertEquals(set, signature(() -> numbers(5).collectAsList()));
        } finally {
            TimeZone.setDefault(here);
        }
    }

    @Test
    void whatBeginsWithRandomBytesIsNotTheSameEachTime() throws Exception {
        for (String function : List.of("aes_encrypt", "concat")) {
            Dataset<Row> rows = session.range(0, 10, 1, 2)
                    .selectExpr(function
                            + "(cast(cast(id as string) as binary), cast('0123456789abcdef' as binary)) as bytes");
            JsonNode event = declared(() -> rows.repartition(3).collectAsList());
            assertEquals(
                    function.equals("concat") ? "determinate" : "unordered",
                    event.get("determinism").asText());
        }
    }

    @ParameterizedTest
    @CsvSource({"kll_sketch_agg_bigint, unordered", "count, determinate"})
    void sketchesThatDrawLotsAreNotTheSameEachTime(String function, String determinism) throws Exception {
        JsonNode event = declared(() -> session.range(0, 10, 1, 2)
                .groupBy(col("id").mod(3))
                .agg(expr(function + "(id)"))
                .collectAsList());
        assertEquals(determinism, event.get("determinism").asText());
    }

    @ParameterizedTest
    @CsvSource({
        "ignoreCorruptFiles, true, unordered",
        "ignoreMissingFiles, true, unordered",
        "ignoreCorruptFiles, false, determinate"
    })
    void whatIsReadInPartIsNotTheSameEachTime(String option, String value, String determinism) throws Exception {
        Path file = Files.writeString(directory.resolve("lines"), "one\ntwo\n");
        JsonNode event = declared(() -> session.read()
                .schema("value string")
                .option(option, value)
                .text(file.toString())
                .repartition(3, col("value"))
                .collectAsList());
        assertEquals(determinism, event.get("determinism").asText());
    }

    @Test
    void whatGoesByAFileThatAnOptionNamesIsNotKnown() throws Exception {
        Path schema =
                Files.writeString(directory.resolve("rows.xsd"), "<schema xmlns='http://www.w3.org/2001/XMLSchema'/>");
        Path file = Files.writeString(directory.resolve("rows"), "<row><value>one</value></row>\n");
        Dataset<Row> rows = session.read()
                .schema("value string")
                .option("rowTag", "row")
                .option("rowvalidationxsdpath", schema.toString())
                .xml(file.toString());
        assertTrue(
                whyNot(() -> rows.repartition(3, col("value")).collectAsList()).contains("rowvalidationxsdpath"));
    }

    @Test
    void whatAnRddReadsInPartIsNotTheSameEachTime() throws Exception {
        Path file = Files.writeString(directory.resolve("lines"), "one\ntwo\n");
        for (String lenient : List.of("true", "false")) {
            session.sparkContext().conf().set("spark.files.ignoreCorruptFiles", lenient);
            var context = life.cluster.context;
            List<FakeCluster.Job> jobs = List.of(
                    () -> context.textFile(file.toString(), 2).coalesce(3, true).collect(),
                    () -> context.wholeTextFiles(file.toString(), 2)
                            .rdd()
                            .toJavaRDD()
                            .coalesce(3, true)
                            .collect());
            for (FakeCluster.Job each : jobs) {
                String determinism = declared(each).get("determinism").asText();
                assertEquals(lenient.equals("true") ? "unordered" : "determinate", determinism);
            }
        }
    }

    @Test
    void randomNumbersMakeOtherRecordsEachTime() throws Exception {
        JsonNode event = declared(() -> session.range(0, 10, 1, 2)
                .select(rand(1).as("r"))
                .repartition(2, col("r"))
                .collectAsList());
        assertEquals("indeterminate", event.get("determinism").asText());
        event = declared(() -> numbers(5).collectAsList());
        assertEquals("determinate", event.get("determinism").asText());
    }

    @Test
    void rowsThatABroadcastTableGivesSeveralOfComeInAnyOrder() throws Exception {
        session.conf().set("spark.sql.adaptive.enabled", "false"); // else the table has to be there before the plan is
        for (String join : List.of("big.id = small.k", "big.id < small.k")) {
            assertEquals("determinate", determinismOfJoin(join, row(1, 10)));
            assertEquals("unordered", determinismOfJoin(join, row(1, 10), row(1, 20)));
        }
        assertEquals("determinate", determinismOfJoin("big.id = small.k", row(1, 10), row(2, 10)));
    }

    /** What is said of a join with a table that is broadcast with these rows. */
    private String determinismOfJoin(String condition, InternalRow... rows) throws Exception {
        Dataset<Row> joined = session.sql(
                        "select /*+ broadcast(small) */ big.id, small.v from range(0, 10, 1, 2) as big"
                                + " left join (values (1L, 10L), (1L, 20L) as t(k, v)) as small on " + condition)
                .repartition(3, col("id"));
        joined.queryExecution().executedPlan().foreach(plan -> {
            if (plan instanceof BroadcastExchangeExec exchange) {
                exchange.relationFuture(); // its job is never run
                var table = life.cluster.context.broadcast(exchange.mode().transform(rows));
                Fields.set(exchange, "relationFuture", CompletableFuture.completedFuture(table));
            }
            return BoxedUnit.UNIT;
        });
        JsonNode event = declared(joined::collectAsList);
        assertEquals("", event.get("why_not").asText());
        return event.get("determinism").asText();
    }

    @Test
    void whatReadsACachedTableIsNotReused() throws Exception {
        session.conf().set("spark.sql.adaptive.enabled", "false"); // else a job fills the table first
        Dataset<Row> cached = session.range(0, 10, 1, 2).toDF().cache();
        assertTrue(
                whyNot(() -> cached.repartition(2, col("id")).collectAsList()).contains("cached table"));
    }

    @Test
    void whatReadsACachedRddIsNotReused() throws Exception {
        JavaRDD<String> kept =
                life.cluster.context.parallelize(List.of("a", "b"), 2).cache();
        assertEquals(
                "it reads a cached RDD", whyNot(() -> kept.coalesce(3, true).count()));
        JavaRDD<String> above = KnownFunctions.firsts(kept.glom());
        assertEquals(
                "it reads a cached RDD", whyNot(() -> above.coalesce(3, true).count()));
    }

    @Test
    void theContentOfAFileThatTheProgramAddsCounts() throws Exception {
        String without = signature(() -> collection(List.of("a", "b")).count());
        String first = withFile("one", "cutoff 1");
        assertNotEquals(without, first);
        assertEquals(first, withFile("two", "cutoff 1"));
        assertNotEquals(first, withFile("three", "cutoff 2"));
    }

    /** The signature in another epoch, whose program adds a file of this content. */
    private String withFile(String folder, String content) throws Exception {
        stop();
        start();
        seen.clear();
        Path file = Files.createDirectory(directory.resolve(folder)).resolve("settings.txt");
        life.cluster.context.addFile(Files.writeString(file, content).toString());
        return signature(() -> collection(List.of("a", "b")).count());
    }

    @Test
    void anAddedArchiveCountsWithAllThatIsInIt() throws Exception {
        String first = withArchive("one", "x = 1", 1_000_000);
        assertEquals(first, withArchive("two", "x = 1", 2_000_000));
        assertNotEquals(first, withArchive("three", "x = 2", 2_000_000));
    }

    private String withArchive(String folder, String content, long packedMs) throws Exception {
        stop();
        start();
        seen.clear();
        Path archive = Files.createDirectory(directory.resolve(folder)).resolve(folder + ".zip");
        try (ZipOutputStream out = new ZipOutputStream(Files.newOutputStream(archive))) {
            ZipEntry entry = new ZipEntry("inner/a.py");
            entry.setTime(packedMs);
            out.putNextEntry(entry);
            out.write(content.getBytes(StandardCharsets.UTF_8));
        }
        life.cluster.context.sc().addArchive(archive + "#settings");
        return signature(() -> collection(List.of("a", "b")).count());
    }

    @Test
    void whatIsObservedCountsAndUnderWhichNameDoesNot() throws Exception {
        String first = observing("first", "id");
        assertEquals(first, observing("second", "id"));
        assertNotEquals(first, observing("first", "n"));
        assertNotEquals(first, signature(() -> pairs().repartition(2, col("id")).collectAsList()));
    }

    private Dataset<Row> pairs() {
        return session.range(0, 10, 1, 2).select(col("id"), col("id").plus(1).as("n"));
    }

    private String observing(String name, String column) throws Exception {
        return signature(() -> pairs().observe(name, sum(col(column)).as("s"))
                .repartition(2, col("id"))
                .collectAsList());
    }

    @Test
    void whatIsObservedInEachAttemptIsNotReused() throws Exception {
        session.conf()
                .set(SQLConf.LEGACY_OBSERVE_METRICS_AGGREGATE_ALL_ATTEMPTS().key(), "true");
        Dataset<Row> observed =
                session.range(0, 10, 1, 2).toDF().observe("seen", count(lit(1)).as("n"));
        assertTrue(
                whyNot(() -> observed.repartition(2, col("id")).collectAsList()).contains("observe()"));
    }

    @Test
    void whatComesOutOfACommandIsNotReused() throws Exception {
        assertTrue(whyNot(() -> life.cluster
                        .context
                        .parallelize(List.of("a"), 1)
                        .pipe("cat")
                        .coalesce(2, true)
                        .count())
                .contains("PipedRDD"));
    }

    @Test
    void aDataFramesRddIsNotReusedAndNothingAboveIt() throws Exception {
        JavaRDD<Row> rdd = session.range(0, 10, 1, 2).toDF().javaRDD();
        assertTrue(whyNot(() -> rdd.coalesce(3, true).coalesce(2, true).count()).contains("is not known"));
        FakeCluster.await(
                () -> {
                    JsonNode above = unseen();
                    return above != null && above.get("why_not").asText().startsWith("below it: ");
                },
                "the shuffle above was not declared as one that is not reused");
    }

    @Test
    void theRowsOfABroadcastTableCountAndTheirOrderDoesNot() {
        var a = row(1, 10);
        var b = row(2, 20);
        byte[] content = Relations.digest(new InternalRow[] {a, b});
        org.junit.jupiter.api.Assertions.assertArrayEquals(content, Relations.digest(new InternalRow[] {b, a}));
        for (var other : List.of(List.of(a), List.of(a, a, b), List.of(a, row(2, 21)))) {
            var rows = other.toArray(new InternalRow[0]);
            assertNotEquals(java.util.Arrays.toString(content), java.util.Arrays.toString(Relations.digest(rows)));
        }
    }

    @Test
    void aBroadcastTableThatIsTooLargeIsNotReadToItsEnd() {
        int ofTwoRows = 2 * (24 + 64);
        Relations.digest(new InternalRow[] {row(1, 10), row(2, 20)}, ofTwoRows);
        // The last one would fail.
        var large = new InternalRow[] {row(1, 10), row(2, 20), null};
        for (int again = 0; again < 2; again++) {
            Unknown why = assertThrows(Unknown.class, () -> Relations.digest(large, ofTwoRows - 1));
            assertTrue(why.getMessage().contains("too large"));
        }
    }

    private static org.apache.spark.sql.catalyst.expressions.UnsafeRow row(long key, long value) {
        var row = new org.apache.spark.sql.catalyst.expressions.UnsafeRow(2);
        row.pointTo(new byte[24], 24);
        row.setLong(0, key);
        row.setLong(1, value);
        return row;
    }
}
