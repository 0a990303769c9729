package org.yarnspec.write;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.scheduler.Stage;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SQLExecution;
import org.apache.spark.sql.execution.command.ExplainCommand;
import org.apache.spark.sql.execution.datasources.InsertIntoHadoopFsRelationCommand;
import org.yarnspec.channel.Outbox;
import org.yarnspec.files.WrittenFiles;
import org.yarnspec.mapoutputs.SavedOutputs;
import org.yarnspec.signature.DriverSignatures;
import org.yarnspec.signature.Signature;
import org.yarnspec.signature.WriteTurns;
import org.yarnspec.spark.Failures;
import org.yarnspec.spark.Fields;
import org.yarnspec.spark.Lineage;
import org.yarnspec.spark.Streams;
import org.yarnspec.stage.Unrecorded;
import scala.Option;

/**
 * Tells the negotiator of the program's writes to files, step by step, and leaves out those that were done before.
 *
 * <p>Every call waits for the answer ({@link WriteQuestions}).
 */
public final class Writes {
    private static final String EXECUTION = "spark.sql.execution.id";
    private static final String EXTENSIONS = "spark.sql.extensions";
    private static final String PROTOCOL = "spark.sql.sources.commitProtocolClass";
    private static final String COMMITTER = "mapred.output.committer.class";
    private static final String VALIDATES = "spark.hadoop.validateOutputSpecs";
    private static final String HIVE = "org.apache.spark.sql.hive.execution.InsertIntoHiveTable";

    private static volatile Writes current;

    private volatile SparkContext context;
    private final DriverSignatures signatures;
    private final StaleShuffles stale;
    private final WriteQuestions questions;
    private final Unrecorded unrecorded;
    private final QualifiedPaths names = new QualifiedPaths(this::conf);
    private final EarlierWrites earlier = new EarlierWrites(this::conf);
    private final InputQuestions inputs;
    private final AtomicInteger lastWrite = new AtomicInteger();
    private final Map<WriteKey, Write> planned = new ConcurrentHashMap<>();
    /** Why nothing may be added at these paths: the negotiator may hold a write there for not done again by now. */
    private final Map<String, String> undecided = new ConcurrentHashMap<>();

    private final Map<String, Object> asking = new ConcurrentHashMap<>();
    private final WriteTurns turns = new WriteTurns();
    /** Where this thread is about to write, while it is found out what. */
    private final ThreadLocal<WriteTurns.Target> saving = new ThreadLocal<>();

    /**
     * One write of this driver.
     *
     * @param target the name of the output, and which of the writes to it this is
     * @param anew nothing of what was there stays
     * @param defers what it overwrites stays until it is committed
     * @param below the shuffles of RDDs that it reads
     * @param made those that were made for it alone, how many of each kind
     */
    record Write(
            int number,
            WriteKey key,
            Path output,
            WriteTurns.Target target,
            boolean there,
            boolean anew,
            boolean defers,
            Set<Integer> below,
            Map<String, Integer> made) {}

    /** A write as Spark's own parts know it: the execution that it belongs to, and its path. */
    private record WriteKey(String execution, String path) {}

    public Writes(
            SparkContext context,
            Outbox outbox,
            DriverSignatures signatures,
            StaleShuffles stale,
            Unrecorded unrecorded) {
        this.context = context;
        this.signatures = signatures;
        this.stale = stale;
        this.unrecorded = unrecorded;
        questions = new WriteQuestions(outbox);
        inputs = new InputQuestions(questions, names);
        install(context);
    }

    /** The program goes on with another context: a JVM has one at a time. */
    public void follow(SparkContext next) {
        context = next;
        inputs.follow();
        install(next);
    }

    private Configuration conf() {
        return context.hadoopConfiguration();
    }

    /** This JVM's; null when nothing of writes is recorded. */
    public static Writes current() {
        return current;
    }

    /** Recovery begins, or there is none. */
    public static void set(Writes writes) {
        current = writes;
    }

    /** Has the sessions of a context ask; what the user has chosen stays. To be called before there is a session. */
    private static void install(SparkContext context) {
        SparkConf conf = context.conf();
        String extensions = conf.get(EXTENSIONS, "");
        String ours = WriteExtensions.class.getName();
        if (!extensions.contains(ours)) { // a program may make its second context by the first one's configuration
            conf.set(EXTENSIONS, (extensions.isBlank() ? "" : extensions + ",") + ours);
        }
        conf.setIfMissing(PROTOCOL, RecordedCommitProtocol.class.getName());
        if (validates(conf)) {
            context.hadoopConfiguration().setIfUnset(COMMITTER, RecordedOutputCommitter.class.getName());
        }
    }

    /** A program that lets RDDs be saved over what is there mixes files, of which nobody can tell later whose they are. */
    private static boolean validates(SparkConf conf) {
        return conf.getBoolean(VALIDATES, true);
    }

    /** Streams have books of their own. */
    boolean isOurs(SparkContext other) {
        return context == other && !Streams.own(context.getLocalProperties());
    }

    public void answer(int question, String json) throws JsonProcessingException {
        questions.answer(question, json);
    }

    /** Finishes or undoes what earlier drivers left half done; to be called before the program does anything. */
    public void resume() {
        earlier.resume(questions);
    }

    /** Whether an earlier driver has done this write; asked once for each, before anything is computed for it. */
    public boolean isThere(SparkSession session, InsertIntoHadoopFsRelationCommand command) {
        if (!isRecorded(session)) {
            return false;
        }
        WriteKey key = key(command.outputPath());
        Write known = planned.get(key); // adaptive execution plans again
        if (known == null) {
            saving.set(turns.to(names.of(command.outputPath()))); // shuffles of RDDs that the query reads are made here
            try {
                Signature signature = signatures.of(session, command);
                known = declare(key, mode(command), signature, command.outputPath(), () -> readRdds(command.query()));
            } finally {
                saving.remove();
            }
            if (!known.there() && isPartitionKept(session, command)) {
                turns.done(known.target()); // an earlier driver epoch may have done it
            }
        }
        return known.there();
    }

    /** Whether Spark leaves a partition of a table as it is (as in its {@code InsertIntoHadoopFsRelationCommand}). */
    private static boolean isPartitionKept(SparkSession session, InsertIntoHadoopFsRelationCommand command) {
        if (!command.ifPartitionNotExists() || command.catalogTable().isEmpty()) {
            return false;
        }
        CatalogTable table = command.catalogTable().get();
        return table.tracksPartitionsInCatalog()
                && !session.sessionState()
                        .catalog()
                        .listPartitions(table.identifier(), Option.apply(command.staticPartitions()))
                        .isEmpty();
    }

    /** No stage will read what a write is computed from that is not done again. */
    private void readRdds(LogicalPlan query) {
        Lineage.rddsOf(query).forEach(inputs::reads);
    }

    /**
     * Whether an earlier driver has saved this RDD there; when it has not, the next {@link #save} to the path is known for
     * what it is, until {@link #leave}.
     *
     * @param call by which call of the program's, and how
     */
    public boolean isThere(RDD<?> rdd, Path output, String call) {
        if (context.isStopped() || rdd.context() != context || !isOurs(context) || !validates(context.conf())) {
            return false;
        }
        saving.set(turns.to(names.of(output))); // all shuffles below it are made here
        try {
            Signature signature = signatures.ofSave(rdd, call);
            return declare(key(output), EarlierWrites.SAVE, signature, output, () -> inputs.reads(rdd))
                    .there();
        } finally {
            saving.remove();
        }
    }

    /**
     * Where the job writes that this thread makes ready; null when it does not, or that is not known. Functions may give
     * other rows for the next write.
     */
    public WriteTurns.Target target() {
        WriteTurns.Target target = saving.get();
        return target == null ? ofThisQuery().map(Write::target).orElse(null) : target;
    }

    /** The write that the query belongs to for which this thread works. */
    private Optional<Write> ofThisQuery() {
        String execution = context.getLocalProperty(EXECUTION);
        return execution == null
                ? Optional.empty()
                : planned.values().stream()
                        .filter(each -> each.key().execution().equals(execution))
                        .findFirst();
    }

    /** A shuffle was made, perhaps for the write that this thread works for. A driver that leaves that out makes none. */
    public void made(Signature shuffle) {
        if (saving.get() == null) { // else it is made again to find out whether the write is there
            ofThisQuery()
                    .ifPresent(write -> write.made().merge(DriverSignatures.withoutNumber(shuffle), 1, Integer::sum));
        }
    }

    /** The call is over, whatever came of it. */
    public void leave(Path output) {
        planned.remove(key(output));
    }

    /** A table of Hive's gets files that are written elsewhere; which of them are in it nobody can tell later. */
    void intoHive(SparkSession session, LogicalPlan insert) {
        CatalogTable table = (CatalogTable) Fields.get(insert, "table");
        WriteKey key = new WriteKey(execution(), HIVE + names.of(new Path(table.location())));
        if (!isRecorded(session) || planned.containsKey(key)) {
            return;
        }
        boolean all = table.partitionColumnNames().isEmpty();
        String mode = Boolean.TRUE.equals(Fields.get(insert, "overwrite")) ? all ? "replace" : "amend" : "add";
        Path output = new Path(table.location());
        Set<Integer> read = Lineage.shufflesOf(() -> Lineage.rddsOf(insert));
        declare(key, mode, Signature.ofUnknownWrite(output.toString(), List.copyOf(read)), output);
    }

    static boolean isIntoHive(LogicalPlan plan) {
        return plan.getClass().getName().equals(HIVE); // which is not there in every Spark
    }

    /** Whether a write that is planned will be told step by step. */
    private boolean isRecorded(SparkSession session) {
        String protocol = session.sessionState().conf().fileCommitProtocolClass();
        if (!protocol.equals(RecordedCommitProtocol.class.getName())) {
            unrecorded.write("files are committed by " + protocol);
            return false;
        }
        return !isOnlyExplained(); // else the real one would find its place taken
    }

    private boolean isOnlyExplained() {
        String execution = context.getLocalProperty(EXECUTION);
        if (execution == null) {
            return true; // what runs has a number
        }
        QueryExecution query = SQLExecution.getQueryExecution(Long.parseLong(execution));
        return query != null && query.logical() instanceof ExplainCommand;
    }

    private static String mode(InsertIntoHadoopFsRelationCommand command) {
        if (command.mode() == SaveMode.Append) {
            return "add";
        } else if (command.mode() == SaveMode.Ignore) {
            return "ignore";
        } else if (command.mode() != SaveMode.Overwrite) {
            return "create";
        }
        boolean part = command.dynamicPartitionOverwrite()
                || command.staticPartitions().nonEmpty()
                || command.catalogTable().isDefined()
                        && command.partitionColumns().nonEmpty();
        return part ? "amend" : "replace";
    }

    /** One of which nothing is known, so that it is never left out. */
    private Write declare(WriteKey key, String mode, Signature signature, Path output) {
        return declare(key, mode, signature, output, () -> {});
    }

    /**
     * Asks what is to become of a write.
     *
     * @param skipping what follows when it is not done again
     * @throws IllegalStateException the program must not go on, or an earlier question about this path came to no end
     */
    private Write declare(WriteKey key, String mode, Signature signature, Path output, Runnable skipping) {
        // One at a time for a path: whoever tries again must know what came of it.
        String path = names.of(output);
        synchronized (asking.computeIfAbsent(path, each -> new Object())) {
            return decide(key, mode, signature, output, path, skipping);
        }
    }

    private Write decide(WriteKey key, String mode, Signature signature, Path output, String path, Runnable skipping) {
        int number = lastWrite.incrementAndGet();
        WriteTurns.Target target = turns.to(path);
        boolean existed = exists(output);
        boolean anew = !existed || mode.equals("replace");
        if (!anew && undecided.containsKey(path)) {
            throw new IllegalStateException(undecided.get(path));
        }
        if (!anew && !mode.equals("amend")) {
            inputs.checkPath(path);
        }
        boolean mayBeThere = questions.pending() && !anew;
        boolean there;
        JsonNode answer;
        try {
            answer = questions.ask("write_declared", event -> event.put("write", number)
                    .put("path", path)
                    .put("mode", mode)
                    .put("existed", existed)
                    .put("signature", signature.text())
                    .put("description", signature.description())
                    .put("why_not", Failures.shortened(signature.whyNot())));
            if (isSkip(answer) && answer.path("check").asBoolean()) {
                answer = compare(number, answer);
            }
            there = isSkip(answer);
            if (there) {
                stale.skipped(
                        signature, path, answer.path("saved").path("epoch").asInt());
                Map<String, Integer> made = new HashMap<>();
                answer.path("saved")
                        .path("made")
                        .properties()
                        .forEach(each -> made.put(each.getKey(), each.getValue().asInt()));
                SavedOutputs outputs = SavedOutputs.get();
                signatures.leftOut(made, text -> outputs.shuffle(text) != null);
                if (mode.equals("add") || mode.equals("amend")) {
                    inputs.notAddedAgain(path, context.newRddId());
                }
                skipping.run();
                turns.done(path, answer.path("saved").path("done_before").asInt());
            } else if (existed && mode.equals("ignore")) {
                turns.done(target); // an earlier driver epoch may have done it
            }
        } catch (Throwable e) { // Scala's methods do not declare what they throw
            if (mayBeThere) {
                undecided.put(
                        path,
                        "yarnspec: " + path + " was written by an earlier driver epoch, and whether it is whole"
                                + " and may be left as it is was not found out: " + Failures.shortened(e.toString())
                                + ". Nothing is added to it by this life; see what is there before you submit it again");
            }
            throw e;
        }
        Set<Integer> below = Set.copyOf(signature.parents());
        // What is written for Hive it puts in its tables by itself.
        boolean defers =
                Set.of("replace", "amend").contains(mode) && !key.path().startsWith(HIVE);
        Write write = new Write(number, key, output, target, there, anew, defers, below, new ConcurrentHashMap<>());
        planned.put(key, write);
        if (write.there()) {
            System.err.println("yarnspec: " + output + " is not written again: "
                    + answer.path("reason").asText());
        } else if (existed && mode.equals(EarlierWrites.SAVE) && questions.pending()) {
            System.err.println("yarnspec: " + output + " is in the way: "
                    + answer.path("reason").asText());
        }
        return write;
    }

    private static boolean isSkip(JsonNode answer) {
        return answer.path("action").asText().equals("skip");
    }

    private JsonNode compare(int number, JsonNode answer) {
        try {
            if (earlier.isThere(answer.path("saved"))) {
                return answer;
            }
            return questions.ask("write_missing", event -> event.put("write", number));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** A write is about to change something; null when it is none of ours. */
    Write begin(String job, String path) {
        if (context.isStopped() || !isOurs(context)) {
            return null;
        }
        Path output = new Path(path);
        WriteKey key = key(output);
        Write write = planned.getOrDefault(key, intoHiveBy(key));
        if (write == null) {
            // Whoever made it did not plan it as Spark's writers of files do, so it may keep a part of what is there.
            write = declare(key, "unknown", Signature.ofUnknownWrite(path), output);
        }
        return beginning(write, job, exists(write.output()));
    }

    /** The write to a table of Hive's whose files are written there first: one statement may write to several tables. */
    private Write intoHiveBy(WriteKey staging) {
        List<Write> all = planned.values().stream()
                .filter(each -> each.key().execution().equals(staging.execution())
                        && each.key().path().startsWith(HIVE))
                .toList();
        return all.isEmpty()
                ? null
                : all.stream()
                        .filter(each -> staging.path().startsWith(names.of(each.output()) + "/"))
                        .findFirst()
                        .orElseGet(() -> Collections.min(all, Comparator.comparingInt(Write::number)));
    }

    /**
     * An RDD is about to be saved to a directory which is not there; null when nothing is recorded of it: it is none of ours,
     * or its format adds to a directory that is there.
     */
    Write save(Path output, String job) {
        if (context.isStopped() || !isOurs(context) || exists(output)) {
            return null;
        }
        WriteKey key = key(output);
        Write known = planned.get(key);
        if (known == null) {
            known = declare(key, EarlierWrites.SAVE, Signature.ofUnknownWrite(output.toString()), output);
        }
        return beginning(known, job, false);
    }

    private Write beginning(Write write, String job, boolean existed) {
        stale.refuse(write.below()); // before it removes what is there
        questions.ask("write_beginning", event -> event.put("write", write.number())
                .put("job", job)
                .put("existed", existed)
                .put("defers", write.defers()));
        if (write.anew() && !(write.defers() && existed)) {
            undecided.remove(write.target().path()); // what that was about is gone, as the negotiator knows by now
        }
        return write;
    }

    /** Asks before the write removes what it overwrites, before anything is computed. */
    void clearing(Write write) {
        questions.ask("write_clearing", event -> event.put("write", write.number()));
    }

    /** Asks before the write removes files that may be a newer driver's by now. */
    void deleting(Write write) {
        questions.ask("write_deleting", event -> event.put("write", write.number()));
    }

    /** The files of a write are about to be shown. */
    void committing(Write write, WrittenFiles files) {
        stale.showing(write.below());
        questions.ask("write_committing", event -> {
            event.put("write", write.number()).put("files", files.count()).put("digest", files.digest());
            var array = event.putArray("read");
            inputs.takeNew().forEach(array::add);
            write.made().forEach(event.putObject("made")::put);
            event.put("done_before", write.target().doneBefore());
        });
    }

    /** Whether the SparkContext is stopped: tasks of its executors may go on for a while. */
    boolean isStopping() {
        return context.isStopped();
    }

    /** Asks before a write's leftovers are removed: a newer driver's files at the same path would go with them. */
    void aborting(Write write) {
        inputs.askAgain(); // what it has overwritten may come back
        questions.ask("write_aborting", event -> event.put("write", write.number()));
    }

    /** A write has failed in the midst of its commit: until all is put back nobody reads there, or adds to it. */
    void overwrittenInPart(Write write, String job, boolean onlyPlaces, List<Path> places) {
        inputs.refuse(write.number(), write.target().path(), job, onlyPlaces, places, inPart(write));
    }

    /** Notes that the files that it had overwritten are back. */
    void putBack(Write write) {
        inputs.allow(write.number());
    }

    /** All that was there is gone. */
    void replaced(Write write) {
        inputs.allow(write.target().path());
    }

    /** All that was in these places is; returns the jobs of writes that had failed, of which nothing is left by that. */
    List<String> replacedIn(Write write, List<Path> places) {
        return inputs.allow(write.target().path(), places);
    }

    private static String inPart(Write write) {
        return "yarnspec: " + write.target().path()
                + " was overwritten in part by a write that failed, and not all could be put back: "
                + "see the driver's log. Overwrite all of it, or submit the program again when you have looked at what is there";
    }

    void finished(Write write) {
        turns.done(write.target()); // first: its files are there, also for whoever is interrupted before the answer
        planned.remove(write.key());
        questions.ask("write_finished", event -> event.put("write", write.number()));
        if (write.anew()) {
            undecided.remove(write.target().path()); // what that was about is gone
            replaced(write);
        }
    }

    /** A DataFrame gets these inputs. */
    void reads(LogicalPlan plan) {
        inputs.reads(plan);
    }

    /** Why a stage must not run; empty when it may. */
    public String refusalOf(Stage stage) {
        if (stage == null || stage.rdd().context() != context) {
            return "";
        }
        String mixed = stale.refusalOf(stage);
        return mixed.isEmpty() ? inputs.refusalOf(stage.rdd()) : mixed;
    }

    private WriteKey key(Path output) {
        return new WriteKey(execution(), names.of(output));
    }

    private String execution() {
        return String.valueOf(context.getLocalProperty(EXECUTION));
    }

    private boolean exists(Path output) {
        try {
            return output.getFileSystem(context.hadoopConfiguration()).exists(output);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
