package org.apache.spark.scheduler.cluster.yarnspec;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.util.Collection;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.Stage;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SQLExecution;
import org.apache.spark.sql.execution.command.ExplainCommand;
import org.apache.spark.sql.execution.datasources.InsertIntoHadoopFsRelationCommand;

/**
 * What the program writes to files, told to the negotiator step by step, and what it must not do again.
 *
 * <p>Every call waits for the answer, however long that takes: a step that was not recorded could be done twice, and a
 * driver without a negotiator is ended by {@link NegotiatorWatch}.
 */
final class Writes {
    private static final String EXECUTION = "spark.sql.execution.id";
    private static final String EXTENSIONS = "spark.sql.extensions";
    private static final String PROTOCOL = "spark.sql.sources.commitProtocolClass";
    private static final String COMMITTER = "mapred.output.committer.class";
    private static final String VALIDATES = "spark.hadoop.validateOutputSpecs";
    private static final String SAVE = "save";
    private static final String HIVE = "org.apache.spark.sql.hive.execution.InsertIntoHiveTable";
    private static final String HDFS = "hdfs";
    private static final int HDFS_PORT = 8020;
    private static final long PATIENCE_S = 600;
    private static final int PLACES_READ = 10_000;
    private static final ObjectMapper JSON = new ObjectMapper();

    private volatile SparkContext context;
    private final Outbox outbox;
    private final Signatures signatures;
    private final Map<Integer, CompletableFuture<JsonNode>> open = new ConcurrentHashMap<>();
    private final AtomicInteger lastQuestion = new AtomicInteger();
    private final AtomicInteger lastWrite = new AtomicInteger();
    private final Map<Key, Write> planned = new ConcurrentHashMap<>();
    private final Set<String> inputs = ConcurrentHashMap.newKeySet();
    private final Map<String, Set<String>> heldBefore = new ConcurrentHashMap<>();
    private final InputsRead read = new InputsRead(this::qualified, PLACES_READ);
    private final Set<String> otherProtocols = ConcurrentHashMap.newKeySet();
    /** Outputs to which an earlier driver has added, with the number of the first RDD that is made after that. */
    private final Map<String, Integer> notAddedAgain = new ConcurrentHashMap<>();

    private volatile boolean pending;
    private int newest;

    /** One write of this driver. */
    record Write(int number, Key key, Path output, boolean there) {}

    /** A write as Spark's own parts know it: the execution that it belongs to, and its path. */
    private record Key(String execution, String path) {}

    Writes(SparkContext context, Outbox outbox, Signatures signatures) {
        this.context = context;
        this.outbox = outbox;
        this.signatures = signatures;
        install(context);
    }

    /** The program goes on with another context: a JVM has one at a time. */
    void follow(SparkContext next) {
        context = next;
        notAddedAgain.replaceAll((path, rdd) -> 0); // its RDDs are made after all that
        read.forgetNumbers();
        install(next);
    }

    /** This JVM's; null when nothing of writes is recorded. */
    static Writes current() {
        Recovery recovery = Recovery.current();
        return recovery == null ? null : recovery.writes();
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
        // A program that lets RDDs be saved over what is there mixes files, of which nobody can tell later whose they are.
        if (conf.getBoolean(VALIDATES, true)) {
            context.hadoopConfiguration().setIfUnset(COMMITTER, RecordedOutputCommitter.class.getName());
        }
    }

    /** Streams have books of their own. */
    boolean isOurs(SparkContext other) {
        return context == other && !HostBlockingScheduler.isStream(context.getLocalProperties());
    }

    void answer(int question, String json) throws JsonProcessingException {
        CompletableFuture<JsonNode> waiting = open.get(question);
        if (waiting != null) {
            waiting.complete(JSON.readTree(json));
        }
    }

    /** Finishes or undoes what earlier drivers left half done; to be called before the program does anything. */
    void resume() {
        for (JsonNode each : ask("writes_asked", event -> {}).path("unfinished")) {
            String outcome;
            String why = "";
            try {
                outcome = settle(each) ? "committed" : "undone";
            } catch (IOException | RuntimeException e) {
                outcome = "failed";
                why = Failures.shortened(e.toString());
            }
            String said = outcome;
            String reason = why;
            outbox.add("write_resolved", event -> event.put("ordinal", each.path("ordinal").asInt())
                    .put("outcome", said)
                    .put("why", reason));
        }
    }

    private boolean settle(JsonNode write) throws IOException {
        Path output = new Path(write.path("path").asText());
        FileSystem files = output.getFileSystem(context.hadoopConfiguration());
        String job = write.path("job").asText();
        int epoch = write.path("epoch").asInt();
        boolean committing = write.path("state").asText().equals("committing");
        // A shorter name could be a part of the name of somebody else's file.
        if (!WrittenFiles.JOB.matcher(job).matches() || committing && write.path("digest").asText().isEmpty()) {
            throw new IOException("it is not known which files are its own");
        }
        if (committing && isThere(write)) {
            WrittenFiles.finish(files, output, job, epoch, context.hadoopConfiguration());
            return true;
        }
        if (isSave(write)) {
            if (!WrittenFiles.undoSave(files, output, job, epoch) && committing) {
                throw new IOException("there are others than the files that it was about to show");
            }
            return false;
        }
        WrittenFiles.undo(files, output, job, epoch, write.path("existed").asBoolean());
        return false;
    }

    private boolean isThere(JsonNode write) throws IOException {
        WrittenFiles recorded = new WrittenFiles(write.path("files").asInt(), write.path("digest").asText());
        return shown(write).equals(recorded);
    }

    private WrittenFiles shown(JsonNode write) throws IOException {
        Path output = new Path(write.path("path").asText());
        FileSystem files = output.getFileSystem(context.hadoopConfiguration());
        return WrittenFiles.shown(files, output, isSave(write) ? WrittenFiles.ALL : write.path("job").asText());
    }

    private static boolean isSave(JsonNode write) {
        return write.path("mode").asText().equals(SAVE);
    }

    /** Whether an earlier driver has done this write; asked once for each, before anything is computed for it. */
    boolean isThere(SparkSession session, InsertIntoHadoopFsRelationCommand command) {
        if (!isRecorded(session)) {
            return false;
        }
        Key key = key(command.outputPath());
        Write known = planned.get(key); // adaptive execution plans again
        if (known == null) {
            known = declare(key, mode(command), signatures.of(session, command), command.outputPath());
        }
        return known.there();
    }

    /** A table of Hive's gets files that are written elsewhere; which of them are in it nobody can tell later. */
    void intoHive(SparkSession session, LogicalPlan insert) {
        Key key = new Key(execution(), HIVE);
        if (!isRecorded(session) || planned.containsKey(key)) {
            return;
        }
        CatalogTable table = (CatalogTable) Fields.get(insert, "table");
        boolean all = table.partitionColumnNames().isEmpty();
        String mode = Boolean.TRUE.equals(Fields.get(insert, "overwrite")) ? all ? "replace" : "amend" : "add";
        Path output = new Path(table.location());
        declare(key, mode, Signature.ofUnknownWrite(output.toString()), output);
    }

    static boolean isIntoHive(LogicalPlan plan) {
        return plan.getClass().getName().equals(HIVE); // which is not there in every Spark
    }

    /** Whether a write that is planned will be told step by step. */
    private boolean isRecorded(SparkSession session) {
        String protocol = session.sessionState().conf().fileCommitProtocolClass();
        if (!protocol.equals(RecordedCommitProtocol.class.getName())) {
            if (otherProtocols.add(protocol)) {
                outbox.add("writes_unrecorded", event -> event.put("why", protocol + " commits it"));
            }
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
        } else if (command.mode() != SaveMode.Overwrite) {
            return "create";
        }
        boolean part = command.dynamicPartitionOverwrite()
                || command.staticPartitions().nonEmpty()
                || command.catalogTable().isDefined() && command.partitionColumns().nonEmpty();
        return part ? "amend" : "replace";
    }

    private Write declare(Key key, String mode, Signature signature, Path output) {
        int number = lastWrite.incrementAndGet();
        String path = qualified(output);
        boolean existed = exists(output);
        JsonNode answer = ask("write_declared", event -> event.put("write", number)
                .put("path", path)
                .put("mode", mode)
                .put("existed", existed)
                .put("signature", signature.text())
                .put("description", signature.description())
                .put("why_not", Failures.shortened(signature.whyNot())));
        if (isSkip(answer) && answer.path("check").asBoolean()) {
            answer = compare(number, answer);
        }
        Write write = new Write(number, key, output, isSkip(answer));
        planned.put(key, write);
        if (write.there()) {
            if (mode.equals("add") || mode.equals("amend")) {
                notAddedAgain.put(path, context.newRddId());
            }
            System.err.println("yarnspec: " + output + " is not written again: "
                    + answer.path("reason").asText());
        }
        return write;
    }

    private static boolean isSkip(JsonNode answer) {
        return answer.path("action").asText().equals("skip");
    }

    private JsonNode compare(int number, JsonNode answer) {
        try {
            if (isThere(answer.path("saved"))) {
                return answer;
            }
            return ask("write_missing", event -> event.put("write", number));
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
        Key key = key(output);
        Write write = planned.getOrDefault(key, planned.get(new Key(execution(), HIVE)));
        if (write == null) {
            // Whoever made it did not plan it as Spark's writers of files do, so it may keep a part of what is there.
            write = declare(key, "amend", Signature.ofUnknownWrite(path), output);
        }
        int number = write.number();
        boolean existed = exists(write.output());
        ask("write_beginning", event -> event.put("write", number).put("job", job).put("existed", existed));
        return write;
    }

    /**
     * An RDD is about to be saved to a directory which is not there; null when nothing is recorded of it: it is none of ours,
     * or its format adds to a directory that is there.
     */
    Write save(Path output, String job) {
        if (context.isStopped() || !isOurs(context) || exists(output)) {
            return null;
        }
        Write write = declare(key(output), SAVE, Signature.ofUnknownWrite(output.toString()), output);
        ask("write_beginning", event -> event.put("write", write.number()).put("job", job).put("existed", false));
        return write;
    }

    /** The files of a write are about to be shown. */
    void committing(Write write, WrittenFiles files) {
        ask("write_committing", event -> {
            event.put("write", write.number()).put("files", files.count()).put("digest", files.digest());
            var array = event.putArray("read");
            read.takeNew().forEach(array::add);
        });
    }

    /** What a write has left is about to be removed: with it would go what a newer driver has at the same path. */
    void aborting(Write write) {
        ask("write_aborting", event -> event.put("write", write.number()));
    }

    void finished(Write write) {
        ask("write_finished", event -> event.put("write", write.number()));
        planned.remove(write.key());
    }

    /** A DataFrame gets these inputs. */
    void reads(LogicalPlan plan) {
        boolean asks = pending;
        Collection<InputPaths.Input> all = InputPaths.of(plan, asks);
        read.add(all);
        if (asks) {
            ask(all);
        }
    }

    /** Why a stage must not run; empty when it may. */
    String reads(Stage stage) {
        if (stage == null || !isOurs(stage.rdd().context())) {
            return "";
        }
        try {
            read.addAll(stage.rdd());
            boolean asks = pending;
            if (!asks && notAddedAgain.isEmpty()) {
                return "";
            }
            Collection<InputPaths.Input> all = InputPaths.of(stage.rdd());
            for (InputPaths.Input each : all) {
                String path = qualified(each.path());
                if (isOlderThanAddition(each.rdd(), path)) {
                    return "yarnspec: what an earlier driver has added to the inputs is not added again, and whether " + path
                            + " is to be read cannot be told: the RDD that reads it was made before the addition";
                }
            }
            if (asks) {
                ask(all);
            }
            return "";
        } catch (RuntimeException e) {
            return String.valueOf(e.getMessage()); // null would mean that it may run
        }
    }

    private boolean isOlderThanAddition(int rdd, String file) {
        return notAddedAgain.entrySet().stream()
                .anyMatch(each -> rdd < each.getValue() && file.startsWith(each.getKey() + "/"));
    }

    /** Has it decided whether inputs may be read that nobody has asked about yet. */
    private void ask(Collection<InputPaths.Input> all) {
        Set<String> paths = new TreeSet<>();
        Map<String, Set<String>> held = new TreeMap<>();
        for (InputPaths.Input each : all) {
            paths.add(qualified(each.path()));
            held.computeIfAbsent(qualified(each.place()), place -> new TreeSet<>())
                    .addAll(each.jobs());
        }
        paths.removeAll(inputs);
        held.forEach((place, jobs) -> jobs.removeAll(heldBefore.getOrDefault(place, Set.of())));
        held.values().removeIf(Set::isEmpty);
        if (paths.isEmpty() && held.isEmpty()) {
            return;
        }
        ask("input_read", event -> {
            var array = event.putArray("paths");
            paths.forEach(array::add);
            var places = event.putArray("held");
            held.forEach((place, jobs) -> {
                var one = places.addObject().put("place", place).putArray("jobs");
                jobs.forEach(one::add);
            });
        });
        inputs.addAll(paths);
        held.forEach((place, jobs) -> heldBefore
                .computeIfAbsent(place, none -> ConcurrentHashMap.newKeySet())
                .addAll(jobs));
    }

    private Key key(Path output) {
        return new Key(execution(), qualified(output));
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

    /** Always the same for the same place, with the port of its NameNode or without. */
    private String qualified(Path path) {
        try {
            Path whole = path.getFileSystem(context.hadoopConfiguration()).makeQualified(path);
            URI uri = whole.toUri();
            boolean bare = HDFS.equals(uri.getScheme())
                    && uri.getPort() < 0
                    && context.hadoopConfiguration().get("dfs.ha.namenodes." + uri.getHost()) == null;
            return bare ? new Path(HDFS, uri.getHost() + ":" + HDFS_PORT, uri.getPath()).toString() : whole.toString();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** What the newest question was answered holds, in whatever order those who asked go on. */
    private synchronized void heed(int question, boolean nowPending) {
        if (question > newest) {
            newest = question;
            pending = nowPending;
        }
    }

    private JsonNode ask(String type, Consumer<ObjectNode> fields) {
        int question = lastQuestion.incrementAndGet();
        CompletableFuture<JsonNode> waiting = new CompletableFuture<>();
        open.put(question, waiting);
        outbox.add(type, event -> fields.accept(event.put("question", question)));
        try {
            JsonNode answer = waiting.get(PATIENCE_S, TimeUnit.SECONDS);
            heed(question, answer.path("pending").asBoolean());
            if (answer.path("action").asText().equals("stop")) {
                if (answer.path("fenced").asBoolean()) {
                    // To clean up after the write would take what the newer driver writes.
                    System.err.println("yarnspec: the driver ends: " + answer.path("reason").asText());
                    NegotiatorWatch.halt();
                }
                throw new IllegalStateException("yarnspec: " + answer.path("reason").asText());
            }
            return answer;
        } catch (TimeoutException | ExecutionException e) {
            throw new IllegalStateException("yarnspec: the application master does not answer", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("yarnspec: a write was interrupted", e);
        } finally {
            open.remove(question);
        }
    }
}
