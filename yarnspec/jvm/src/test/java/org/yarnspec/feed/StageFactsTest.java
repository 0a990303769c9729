package org.yarnspec.feed;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.DataInput;
import java.io.DataOutput;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.LongStream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.NullWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapred.FileSplit;
import org.apache.hadoop.mapred.InputFormat;
import org.apache.hadoop.mapred.InputSplit;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.RecordReader;
import org.apache.hadoop.mapred.Reporter;
import org.apache.hadoop.mapred.TextOutputFormat;
import org.apache.hadoop.mapred.lib.NullOutputFormat;
import org.apache.spark.Partition;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.python.PythonRDD;
import org.apache.spark.api.python.SimplePythonFunction;
import org.apache.spark.rdd.JdbcRDD;
import org.apache.spark.rdd.RDD;
import org.apache.spark.scheduler.ShuffleMapTask;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.execution.datasources.v2.DataSourceRDDPartition;
import org.apache.spark.storage.RDDBlockId;
import org.apache.spark.storage.StorageLevel;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.yarnspec.sink.SinkDriver;
import org.yarnspec.spark.Scala;
import org.yarnspec.stage.StageFlags;
import org.yarnspec.testing.FakeCluster;
import scala.Option;
import scala.Tuple2;
import scala.collection.Iterator;
import scala.reflect.ClassTag$;

/** What is found out about stages before their tasks start: how they write, and how much they will read. */
class StageFactsTest {
    // What a stage is that fills a cache.
    private static final int MAKES = StageFlags.CACHED | StageFlags.KEEPS;

    @TempDir
    private Path directory;

    private FakeCluster cluster;
    private SparkSession session;
    private int stage;
    private boolean setUp = true;

    @BeforeEach
    void start() throws Exception {
        cluster = new FakeCluster(
                        Map.of("spark.sql.shuffle.partitions", "4", "spark.sql.warehouse.dir", "" + directory))
                .slot("1", "a");
        session = SparkSession.builder().sparkContext(cluster.context.sc()).getOrCreate();
    }

    @AfterEach
    void stop() {
        cluster.close();
    }

    /** Begins a job in a thread of its own, and gives the flags of its first stage once that has its tasks. */
    private int flagsOf(FakeCluster.Job job) throws InterruptedException {
        int next = stage++;
        cluster.start(job);
        cluster.awaitStage(next, 0);
        return cluster.scheduler.stages().flags(next, 0);
    }

    private JavaRDD<String> lines() {
        return cluster.context.parallelize(List.of("x", "y"), 2);
    }

    private JavaPairRDD<NullWritable, Text> pairs() {
        return lines().mapToPair(line -> new Tuple2<>(NullWritable.get(), new Text(line)));
    }

    private JobConf hadoop(Class<?> format) {
        JobConf conf = new JobConf();
        conf.set("mapred.output.format.class", format.getName());
        conf.set(
                "mapreduce.output.fileoutputformat.outputdir",
                directory.resolve(format.getSimpleName()).toString());
        conf.setOutputKeyClass(NullWritable.class);
        conf.setOutputValueClass(Text.class);
        return conf;
    }

    @Test
    void filesThatSparkWritesAreCommitted() throws Exception {
        assertEquals(StageFlags.COMMITS, flagsOf(() -> session.range(0, 10, 1, 2)
                .write()
                .parquet(directory.resolve("parquet").toString())));
        assertEquals(StageFlags.COMMITS, flagsOf(() -> session.range(0, 10, 1, 2)
                .selectExpr("cast(id as string)")
                .write()
                .text(directory.resolve("text").toString())));
        assertEquals(StageFlags.COMMITS, flagsOf(() -> lines().saveAsTextFile(
                        directory.resolve("lines").toString())));
        assertEquals(StageFlags.COMMITS, flagsOf(() -> pairs().saveAsHadoopDataset(hadoop(TextOutputFormat.class))));
    }

    private int flagsOfText(String committer, String planned) throws InterruptedException {
        session.conf().set("spark.sql.sources.outputCommitterClass", committer);
        session.conf().set("spark.sql.optimizer.plannedWrite.enabled", planned);
        return flagsOf(() -> session.range(0, 10, 1, 2)
                .selectExpr("cast(id as string)")
                .write()
                .text(directory.resolve("text" + stage).toString()));
    }

    @Test
    void filesThatAnAttemptWritesWhereTheyStayAreNotCommitted() throws Exception {
        for (String planned : List.of("true", "false")) {
            assertEquals(StageFlags.COMMITS, flagsOfText(OtherCommits.Careful.class.getName(), planned));
            assertEquals(StageFlags.WRITES, flagsOfText(OtherCommits.Direct.class.getName(), planned));
            assertEquals(StageFlags.WRITES, flagsOfText(OtherCommits.InPlace.class.getName(), planned));
        }
        JobConf conf = hadoop(TextOutputFormat.class);
        conf.set("mapred.output.committer.class", OtherCommits.OldDirect.class.getName());
        assertEquals(StageFlags.WRITES, flagsOf(() -> pairs().saveAsHadoopDataset(conf)));
    }

    @Test
    void howAProtocolOfOthersCommitsIsNotKnown() throws Exception {
        session.conf().set("spark.sql.sources.commitProtocolClass", OtherCommits.Protocol.class.getName());
        assertEquals(StageFlags.WRITES, flagsOf(() -> session.range(0, 10, 1, 2)
                .write()
                .parquet(directory.resolve("parquet").toString())));
    }

    @Test
    void hadoopsNewerInterfaceCommitsFiles() throws Exception {
        assertEquals(StageFlags.COMMITS, flagsOf(() -> pairs().saveAsNewAPIHadoopFile(
                        directory.resolve("newer").toString(),
                        NullWritable.class,
                        Text.class,
                        org.apache.hadoop.mapreduce.lib.output.TextOutputFormat.class)));
    }

    @Test
    void whatTheProgramWritesItselfIsNot() throws Exception {
        assertEquals(StageFlags.WRITES, flagsOf(() -> lines().foreach(line -> {})));
        assertEquals(StageFlags.WRITES, flagsOf(() -> lines().foreachPartition(records -> {})));
        assertEquals(
                StageFlags.WRITES,
                flagsOf(() -> session.range(0, 10, 1, 2).toDF().toJavaRDD().foreachPartition(records -> {})));
        assertEquals(StageFlags.WRITES, flagsOf(() -> pairs().saveAsHadoopDataset(hadoop(NullOutputFormat.class))));
        assertEquals(StageFlags.WRITES, flagsOf(() -> {
            cluster.context.sc().setCallSite("foreachPartition at program.py:3");
            lines().count();
        }));
    }

    @Test
    void aJobThatTheProgramMarksWritesInItsLastStageOnly() throws Exception {
        int first = flagsOf(() -> {
            cluster.context.setLocalProperty("spark.yarnspec.writes", "foreachPartition");
            cluster.context.sc().setCallSite("collect at program.py:3");
            lines().mapToPair(line -> new Tuple2<>(line, 1)).groupByKey(2).count();
        });
        assertEquals(StageFlags.MAP, first);
        finishMaps(new long[] {10, 10});
        cluster.awaitStage(1, 0);
        assertEquals(StageFlags.WRITES, cluster.scheduler.stages().flags(1, 0));
    }

    private int flagsOfPython() throws InterruptedException {
        return flagsOf(() -> {
            cluster.context.setLocalProperty("spark.rdd.scope", "{\"id\":\"0\",\"name\":\"MapInPandas\"}");
            cluster.context.setLocalProperty("spark.rdd.scope.noOverride", "true");
            lines().count();
        });
    }

    @Test
    void whereMarksMayGoAstrayAnyResultOfPythonMayBeAWrite() throws Exception {
        assertEquals(StageFlags.PYTHON, flagsOfPython());
        SparkEnv.get().conf().set("spark.yarnspec.sharedThreads", "true");
        assertEquals(StageFlags.PYTHON | StageFlags.WRITES, flagsOfPython());
        assertEquals(0, flagsOf(() -> lines().count()));
    }

    @Test
    void ofTheNewerTablesOnlySparksFilesAreKnownToCommit() throws Exception {
        assertEquals(StageFlags.WRITES, flagsOf(() -> writeTo("own", true)));
        assertEquals(StageFlags.WRITES, flagsOf(() -> writeTo("files", false)));
        assertEquals(StageFlags.COMMITS, flagsOf(() -> writeTo("files", true)));
        setUp = false;
        assertEquals(StageFlags.WRITES, flagsOf(() -> writeTo("files", true))); // whose committer is not known
    }

    private void writeTo(String writer, boolean coordinated) {
        session.range(0, 10, 1, 2)
                .write()
                .format(NewerTable.class.getName())
                .option("writer", writer)
                .option("coordinated", coordinated)
                .option("set_up", setUp)
                .option("directory", directory.resolve("table").toString())
                .mode("append")
                .save();
    }

    @Test
    void dataSourcesOfTheOlderInterfaceWriteWhateverActionTheyUse() throws Exception {
        assertEquals(StageFlags.WRITES, flagsOf(() -> saveBy("rdd")));
        assertEquals(StageFlags.WRITES, flagsOf(() -> saveBy("query")));
        assertEquals(
                StageFlags.COMMITS, flagsOf(() -> saveBy(directory.resolve("by").toString())));
    }

    private void saveBy(String by) {
        session.range(0, 10, 1, 2)
                .write()
                .format(OlderSource.class.getName())
                .option("by", by)
                .save();
    }

    @Test
    @SuppressWarnings("deprecation") // programs use it all the same
    void whoReadsNoFilesIsTold() throws Exception {
        var database = JdbcRDD.create(
                cluster.context,
                () -> {
                    throw new IllegalStateException("no task reads this database");
                },
                "select * from t where id between ? and ?",
                1,
                10,
                2);
        assertEquals(StageFlags.READS, flagsOf(() -> database.count()));
        assertEquals(StageFlags.READS, flagsOf(() -> lines().pipe("cat").count()));
        assertEquals(StageFlags.READS, flagsOf(() -> readFrom("own")));
        assertEquals(
                StageFlags.READS,
                flagsOf(() -> new ForeignRdd(cluster.context.sc()).toJavaRDD().count()));
        assertEquals(StageFlags.READS, flagsOf(() -> session.sql(
                        "select transform(id) using 'cat' as (line string) from range(0, 2, 1, 2)")
                .collectAsList()));
        // One source of several is enough, and a write changes nothing.
        assertEquals(
                StageFlags.READS,
                flagsOf(() -> lines().union(lines().pipe("cat")).coalesce(1).count()));
        assertEquals(
                StageFlags.READS | StageFlags.COMMITS,
                flagsOf(() -> database.saveAsTextFile(directory.resolve("rows").toString())));
    }

    @Test
    void aSourceThatCannotBeLookedAtCountsAsReadingAndNotAsWriting() throws Exception {
        Partition broken = new DataSourceRDDPartition(0, Option.empty()) {
            private static final long serialVersionUID = 1;

            @Override
            public Option<InputPartition> inputPartition() {
                throw new IllegalStateException("nobody can look at this partition");
            }
        };
        assertEquals(StageFlags.READS, flagsOf(() -> new ForeignRdd(cluster.context.sc(), broken)
                .toJavaRDD()
                .count()));
    }

    /** Of a source that nobody knows. */
    private static final class ForeignRdd extends RDD<String> {
        private static final long serialVersionUID = 1;

        private record Part(int index) implements Partition {}

        private final transient Partition only;

        ForeignRdd(SparkContext context) {
            this(context, new Part(0));
        }

        ForeignRdd(SparkContext context, Partition only) {
            super(context, Scala.emptySeq(), ClassTag$.MODULE$.apply(String.class));
            this.only = only;
        }

        @Override
        public Partition[] getPartitions() {
            return new Partition[] {only};
        }

        @Override
        public Iterator<String> compute(Partition split, TaskContext context) {
            throw new IllegalStateException("no task of this RDD runs");
        }
    }

    private void readFrom(String reader) {
        session.read()
                .format(NewerTable.class.getName())
                .option("reader", reader)
                .load()
                .collectAsList();
    }

    @Test
    void filesMayBeReadTwice() throws Exception {
        String file = Files.writeString(directory.resolve("input"), "x\ny\n").toString();
        assertEquals(0, flagsOf(() -> cluster.context.textFile(file, 2).count()));
        assertEquals(0, flagsOf(() -> cluster.context.wholeTextFiles(file, 1).count()));
        assertEquals(0, flagsOf(() -> cluster.context.binaryFiles(file, 1).count()));
        assertEquals(0, flagsOf(() -> cluster.context
                .newAPIHadoopFile(
                        file,
                        org.apache.hadoop.mapreduce.lib.input.TextInputFormat.class,
                        LongWritable.class,
                        Text.class,
                        new Configuration())
                .count()));
        assertEquals(
                0,
                flagsOf(() -> session.read().schema("value string").text(file).collectAsList()));
        assertEquals(0, flagsOf(() -> readFrom("files")));
        session.conf().set("spark.sql.sources.useV1SourceList", "");
        assertEquals(
                0,
                flagsOf(() -> session.read().schema("value string").text(file).collectAsList()));
    }

    @Test
    void hadoopsFormatsAreToldWhereTheyReadNoFiles() throws Exception {
        JobConf conf = new JobConf();
        assertEquals(StageFlags.READS, flagsOf(() -> cluster.context
                .hadoopRDD(conf, NoFiles.class, NullWritable.class, Text.class, 2)
                .count()));
        assertEquals(StageFlags.READS, flagsOf(() -> cluster.context
                .hadoopRDD(conf, TableOfHive.class, NullWritable.class, Text.class, 2)
                .count()));
    }

    /** As Hive's tables over HBase have them: their splits pretend to be parts of a file. */
    public static final class TableOfHive extends NoFiles {
        /** The path is only the table's directory. */
        public static final class TableSplit extends FileSplit {
            TableSplit() {
                super(new org.apache.hadoop.fs.Path("/warehouse/orders"), 0, 1, new String[0]);
            }
        }

        @Override
        public InputSplit[] getSplits(JobConf conf, int wanted) {
            return new InputSplit[] {new TableSplit(), new TableSplit()};
        }
    }

    /** A format of a database, say. */
    public static class NoFiles implements InputFormat<NullWritable, Text> {
        /** A part of it. */
        public static final class EmptySplit implements InputSplit {
            @Override
            public long getLength() {
                return 1;
            }

            @Override
            public String[] getLocations() {
                return new String[0];
            }

            @Override
            public void write(DataOutput out) {}

            @Override
            public void readFields(DataInput in) {}
        }

        @Override
        public InputSplit[] getSplits(JobConf conf, int wanted) {
            return new InputSplit[] {new EmptySplit(), new EmptySplit()};
        }

        @Override
        public RecordReader<NullWritable, Text> getRecordReader(InputSplit split, JobConf conf, Reporter reporter) {
            throw new IllegalStateException("no task of this format runs");
        }
    }

    private int flagsOfPythonFunction(String pickled) throws InterruptedException {
        byte[] command = (pickled + ".".repeat(200)).getBytes(StandardCharsets.UTF_8);
        var function = new SimplePythonFunction(command, Map.of(), List.of(), "python3", "3.11", List.of(), null);
        return flagsOf(() -> new PythonRDD(lines().rdd(), function, false, false)
                .asJavaRDD()
                .map(each -> each)
                .count());
    }

    @Test
    void pythonsPipeIsKnownByItsError() throws Exception {
        assertEquals(StageFlags.PYTHON, flagsOfPythonFunction("another function"));
        assertEquals(StageFlags.PYTHON | StageFlags.READS, flagsOfPythonFunction("its PIPE_FUNCTION_EXITED error"));
    }

    @Test
    void whatIsKeptOrShuffledIsNotReadAgain() throws Exception {
        JavaRDD<String> kept = lines().pipe("cat").cache();
        assertEquals(StageFlags.READS | MAKES, flagsOf(() -> kept.count()));
        keep(kept, 0);
        assertEquals(
                StageFlags.READS | MAKES, flagsOf(() -> kept.map(line -> line).count()));
        keep(kept, 1);
        assertEquals(StageFlags.CACHED, flagsOf(() -> kept.map(line -> line).count()));
    }

    private static void keep(JavaRDD<?> rdd, int partition) {
        SparkEnv.get()
                .blockManager()
                .putSingle(
                        new RDDBlockId(rdd.id(), partition),
                        "kept",
                        StorageLevel.MEMORY_ONLY(),
                        true,
                        ClassTag$.MODULE$.apply(String.class));
    }

    @Test
    void aStageAboveTheShuffleOfAReaderIsNone() throws Exception {
        int first = flagsOf(() -> lines().pipe("cat")
                .mapToPair(line -> new Tuple2<>(line, 1))
                .groupByKey(2)
                .count());
        assertEquals(StageFlags.READS | StageFlags.MAP, first);
        finishMaps(new long[] {10, 10});
        cluster.awaitStage(1, 0);
        assertEquals(0, cluster.scheduler.stages().flags(1, 0));
    }

    @Test
    void aJobForWhichTheProgramWantsNoCopiesIsMarkedInAllItsStages() throws Exception {
        int first = flagsOf(() -> {
            cluster.context.setLocalProperty("yarnspec.speculation", "False");
            lines().mapToPair(line -> new Tuple2<>(line, 1)).groupByKey(2).count();
        });
        assertEquals(StageFlags.MAP | StageFlags.NO_COPIES, first);
        finishMaps(new long[] {10, 10});
        cluster.awaitStage(1, 0);
        assertEquals(StageFlags.NO_COPIES, cluster.scheduler.stages().flags(1, 0));
    }

    @Test
    void noOtherValueOfThePropertyAsksForThat() throws Exception {
        assertEquals(0, flagsOf(() -> {
            cluster.context.setLocalProperty("yarnspec.speculation", "true");
            lines().count();
        }));
    }

    @Test
    void aStageThatIsNotKnownCountsAsWriting() {
        assertEquals(StageFlags.WRITES, cluster.scheduler.stages().flags(99, 0));
    }

    @Test
    void theAttemptsOfASinkMayBeCopied() throws Exception {
        var attempts = new SinkDriver().attempts(lines().map(String::getBytes), directory.toString(), 1);
        var partitions = new ArrayList<Object>(List.of(0, 1));
        assertEquals(0, flagsOf(() -> PythonRDD.runJob(cluster.context.sc(), attempts, partitions)));
    }

    @Test
    void resultsForTheDriverAreNoWrites() throws Exception {
        assertEquals(0, flagsOf(() -> lines().collect()));
        assertEquals(0, flagsOf(() -> lines().count()));
        assertEquals(0, flagsOf(() -> lines().reduce((a, b) -> a)));
        assertEquals(0, flagsOf(() -> session.range(0, 10, 1, 2).collectAsList()));
        assertEquals(0, flagsOf(() -> session.range(0, 10, 1, 2)
                .write()
                .format("noop")
                .mode("overwrite")
                .save()));
    }

    @Test
    void mapStagesAreMarkedAndThoseThatMayGiveOtherRecordsNextTime() throws Exception {
        int first = flagsOf(() -> lines().mapToPair(line -> new Tuple2<>(line, 1))
                .groupByKey(2)
                .repartition(3)
                .count());
        assertEquals(StageFlags.MAP, first);
        finishMaps(new long[] {10, 10});
        cluster.awaitStage(1, 0);
        assertEquals(
                StageFlags.MAP | StageFlags.INDETERMINATE,
                cluster.scheduler.stages().flags(1, 0));
    }

    @Test
    void stagesThatMakeOrReadKeptRecordsAreMarked() throws Exception {
        JavaRDD<String> kept = lines().map(line -> line + "!").cache();
        assertEquals(MAKES, flagsOf(() -> kept.count()));
        keep(kept, 0);
        assertEquals(MAKES, flagsOf(() -> kept.map(line -> line).count()));
        keep(kept, 1);
        assertEquals(StageFlags.CACHED, flagsOf(() -> kept.map(line -> line).count()));
        JavaRDD<String> above = kept.map(line -> line).cache();
        assertEquals(MAKES, flagsOf(() -> above.count()));
        assertEquals(MAKES, flagsOf(() -> session.range(0, 10, 1, 2).cache().collectAsList()));
        kept.unpersist(false);
        above.unpersist(false);
        assertEquals(0, flagsOf(() -> kept.count()));
    }

    @Test
    void soAreThoseThatMakeCheckpoints() throws Exception {
        cluster.context.setCheckpointDir(directory.resolve("checkpoints").toString());
        JavaRDD<String> reliable = lines();
        reliable.checkpoint();
        assertEquals(StageFlags.CACHED, flagsOf(() -> reliable.map(line -> line).count()));
        assertEquals(MAKES, flagsOf(() -> {
            JavaRDD<String> local = lines();
            local.rdd().localCheckpoint();
            local.count();
        }));
        assertEquals(MAKES, flagsOf(() -> session.range(0, 10, 1, 2).localCheckpoint()));
    }

    @Test
    void aStageAboveTheShuffleOfCachedDataIsNone() throws Exception {
        int first = flagsOf(() -> lines().cache()
                .mapToPair(line -> new Tuple2<>(line, 1))
                .groupByKey(2)
                .count());
        assertEquals(MAKES | StageFlags.MAP, first);
        finishMaps(new long[] {10, 10});
        cluster.awaitStage(1, 0);
        assertEquals(0, cluster.scheduler.stages().flags(1, 0));
    }

    @Test
    void filesTellHowMuchIsRead() throws Exception {
        Path file = Files.writeString(directory.resolve("input"), "x".repeat(1000) + "\n" + "y".repeat(1000) + "\n");
        flagsOf(() -> cluster.context.textFile(file.toString(), 2).count());
        assertEquals(2002, inputs(0, 2).sum());
        assertTrue(
                inputs(0, 2).allMatch(bytes -> bytes > 900),
                inputs(0, 2).boxed().toList().toString());
        flagsOf(() ->
                session.read().schema("value string").text(file.toString()).collectAsList());
        assertEquals(2002, inputs(1, 1).sum());
        flagsOf(() -> {
            Dataset<Row> cached =
                    session.read().schema("value string").text(file.toString()).cache();
            cached.collectAsList();
        });
        assertEquals(-1, inputs(2, 1).sum());
        flagsOf(() -> lines().count());
        assertEquals(-2, inputs(3, 2).sum());
    }

    private LongStream inputs(int ofStage, int tasks) {
        return LongStream.range(0, tasks).map(i -> cluster.scheduler.stages().inputBytes(ofStage, 0, (int) i));
    }

    @Test
    void mapOutputsTellHowMuchIsRead() throws Exception {
        flagsOf(() ->
                lines().mapToPair(line -> new Tuple2<>(line, 1)).groupByKey(2).count());
        finishMaps(new long[] {1_000_000, 0});
        cluster.awaitStage(1, 0);
        assertEquals(2_000_000.0, cluster.scheduler.stages().inputBytes(1, 0, 0), 200_000); // Spark keeps sizes roughly
        assertEquals(0, cluster.scheduler.stages().inputBytes(1, 0, 1));
    }

    @Test
    void adaptivePartitionsTellHowMuchIsRead() throws Exception {
        flagsOf(() -> session.range(0, 10, 1, 2).repartition(new Column("id")).collectAsList());
        finishMaps(new long[] {1_000, 2_000, 3_000, 4_000});
        cluster.awaitStage(2, 0); // 1 is the same map stage again, skipped
        // Four small partitions become one.
        assertEquals(20_000.0, cluster.scheduler.stages().inputBytes(2, 0, 0), 2_000);
    }

    private void finishMaps(long[] sizes) throws Exception {
        for (int i = 0; i < 2; i++) {
            long task = cluster.offerUntilStarted().get(0);
            assertTrue(cluster.scheduler.taskSetManagerForAttempt(0, 0).get().tasks()[0] instanceof ShuffleMapTask);
            cluster.finish(task, cluster.mapOutput(task, sizes));
        }
    }
}
