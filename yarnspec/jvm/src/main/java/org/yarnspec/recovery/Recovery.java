package org.yarnspec.recovery;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Properties;
import java.util.Set;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.scheduler.DirectTaskResult;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.scheduler.ShuffleMapStage;
import org.apache.spark.scheduler.Stage;
import org.apache.spark.scheduler.TaskSet;
import org.yarnspec.channel.FrameFeed;
import org.yarnspec.channel.NegotiatorWatch;
import org.yarnspec.channel.Outbox;
import org.yarnspec.mapoutputs.Adoption;
import org.yarnspec.mapoutputs.EpochNumbers;
import org.yarnspec.mapoutputs.LiveAdoption;
import org.yarnspec.mapoutputs.SavedOutputs;
import org.yarnspec.mapoutputs.WatchedShuffleStatus;
import org.yarnspec.signature.Circumstances;
import org.yarnspec.signature.DriverSignatures;
import org.yarnspec.signature.RangeBounds;
import org.yarnspec.signature.ShuffleMetrics;
import org.yarnspec.signature.Signature;
import org.yarnspec.spark.Failures;
import org.yarnspec.spark.Fields;
import org.yarnspec.spark.Lineage;
import org.yarnspec.spark.Streams;
import org.yarnspec.stage.StageFlags;
import org.yarnspec.stage.Unrecorded;
import org.yarnspec.write.StaleShuffles;
import org.yarnspec.write.Writes;

/**
 * Lets the next driver go on where this one ends, and this one where the last ended: tells the negotiator what each
 * shuffle is and which of its maps have finished, and begins a shuffle with what is left of an earlier driver's.
 *
 * <p>One per JVM, for its first SparkContext.
 */
public final class Recovery implements WatchedShuffleStatus.ShuffleWatcher {
    private static final int ANSWER_TIMEOUT_MS = 30_000;
    private static final int ALL_SHUFFLES = -1;
    private static final String LIVE_ADOPTION = "spark.yarnspec.recovery.live_adoption_ms";
    private static final ObjectMapper JSON = new ObjectMapper();

    private static volatile Recovery current;

    private final int epoch;
    private final Outbox outbox;
    private final FrameFeed frames;
    private final FinishedMaps finished;
    private final SavedOutputs saved;
    private final DriverSignatures signatures;
    private final Accumulated accumulated;
    private final Questions questions = new Questions(this::stopRecordingAll);
    private final Restoring restoring;
    private final Unrecorded unrecorded;
    private final ShuffleTable shuffles = new ShuffleTable();
    private SparkContext context;
    private volatile Writes writes;
    private final StaleShuffles stale;
    /** Whether nothing of shuffles is recorded, any more or at all. */
    private volatile boolean over;

    private volatile boolean served;
    private volatile LiveAdoption live;

    public Recovery(int epoch, Outbox outbox, FrameFeed frames, SavedOutputs saved, long windowMs, boolean repeatable) {
        this.epoch = epoch;
        this.signatures = new DriverSignatures(repeatable);
        this.outbox = outbox;
        this.frames = frames;
        this.finished = new FinishedMaps(epoch, outbox, frames);
        this.saved = saved;
        this.stale = new StaleShuffles(signatures);
        this.accumulated = new Accumulated(saved);
        this.restoring = new Restoring(saved, signatures::varies, this::hasChanged, accumulated, outbox, windowMs);
        this.unrecorded = new Unrecorded(outbox);
    }

    /**
     * Null when the negotiator does not want it. Where executors cannot keep their files ({@link Adoption} says why) only
     * what the program writes is recorded.
     */
    public static Recovery open(SparkConf conf, Outbox outbox, String token) throws IOException {
        int epoch = conf.getInt("spark.yarnspec.epoch", 0);
        if (!conf.getBoolean("spark.yarnspec.recovery.enabled", false) || epoch > EpochNumbers.EPOCH_MAX) {
            return null;
        }
        boolean keeps = Adoption.whyNot(conf).isEmpty();
        SavedOutputs saved = SavedOutputs.NONE;
        if (keeps && conf.contains("spark.yarnspec.saved")) {
            try {
                saved = SavedOutputs.load(Path.of(conf.get("spark.yarnspec.saved")));
            } catch (IOException | RuntimeException e) {
                // Nothing of it is taken: what stands before a damaged place may be wrong as well.
                System.err.println(
                        "yarnspec: what earlier drivers left cannot be read, so all is computed again: " + e);
                outbox.add("saved_unreadable", event -> event.put("why", Failures.shortened(e.toString())));
            }
        }
        SavedOutputs.set(saved);
        long windowMs = Long.parseLong(conf.get("spark.yarnspec.recovery.window_ms"));
        boolean repeatable = conf.getBoolean("spark.yarnspec.recovery.repeatable", false);
        Recovery recovery = new Recovery(epoch, outbox, FrameFeed.open(token), saved, windowMs, repeatable);
        recovery.over = !keeps;
        return recovery;
    }

    /** This JVM's; null when recovery is off. */
    public static Recovery current() {
        return current;
    }

    public static void set(Recovery recovery) {
        current = recovery;
        Writes.set(recovery == null ? null : recovery.writes);
        LiveAdoption.set(recovery == null ? null : recovery.live());
    }

    /** Gives the rooms below what they may use of it, if it is this JVM's. */
    private void share() {
        if (current == this) {
            set(this);
        }
    }

    public FrameFeed frames() {
        return frames;
    }

    /** Takes the first SparkContext; true when this is it. */
    public synchronized boolean attach(SparkContext newContext) {
        if (context == null) {
            context = newContext;
            Writes ours = new Writes(newContext, outbox, signatures, stale, unrecorded);
            writes = ours;
            share();
            served = Adoption.served(newContext.conf());
            if (!over && !served && newContext.conf().contains(LIVE_ADOPTION)) {
                live = new LiveAdoption(newContext, outbox, newContext.conf().getLong(LIVE_ADOPTION, 0));
                share();
            }
            if (epoch > 1) {
                ours.resume();
            }
            restoring.begin();
        } else {
            writes.follow(newContext);
        }
        return context == newContext;
    }

    /** Null before there is a SparkContext. */
    public Writes writes() {
        return writes;
    }

    public Unrecorded unrecorded() {
        return unrecorded;
    }

    /** Null when it is off, or this driver's recovery is over. */
    public LiveAdoption live() {
        return over ? null : live;
    }

    private synchronized boolean isOurs(SparkContext other) {
        return context == other;
    }

    /** The first number for tasks of this driver. */
    public long firstTask() {
        return epoch * EpochNumbers.TASKS_PER_EPOCH;
    }

    public void answer(int question, String json) throws JsonProcessingException {
        questions.answer(question, JSON.readTree(json));
    }

    /** Empty when it is not known. */
    String identityOf(RDD<?> rdd) {
        return !over && isOurs(rdd.context()) ? signatures.ofRecords(rdd) : "";
    }

    /** Gives a shuffle that is just being made its number, and what is left of an earlier driver's. */
    int register(int sparksId, ShuffleDependency<?, ?, ?> dependency) {
        if (over || !isOurs(dependency.rdd().context())) {
            return sparksId;
        } else if (sparksId >= EpochNumbers.SHUFFLES_PER_EPOCH) {
            return renumbered(
                    dependency,
                    (EpochNumbers.EPOCH_MAX + 1) * EpochNumbers.SHUFFLES_PER_EPOCH + sparksId); // where no epoch's are
        }
        int fresh = epoch * EpochNumbers.SHUFFLES_PER_EPOCH + sparksId;
        try {
            return begin(fresh, dependency);
        } catch (Exception | LinkageError | StackOverflowError e) { // Scala's methods do not declare what they throw
            Failures.keepInterrupt(e);
            return beginPlainly(fresh, dependency, e);
        }
    }

    private int begin(int fresh, ShuffleDependency<?, ?, ?> dependency) {
        Circumstances made = Circumstances.now(context); // first: what comes in between is not in the description
        Signature signature = described(dependency);
        Questions.Answer answer = ask(fresh, signature);
        Restoring.Restored restored = null;
        Set<Integer> tried = new HashSet<>();
        while (restored == null && answer.restore() && answer.shuffle() != null && tried.add(answer.shuffle())) {
            restored = restoring.restore(answer, signature, dependency, signatures.below(signature));
            if (restored == null) {
                // The shuffle goes on under the fresh number, and the negotiator has to know that one to record it.
                answer = ask(fresh, signature);
            }
        }
        if (epoch > 1 && signature.known() && restored == null && !answer.record() && signatures.varies(signature)) {
            // What is written of this run must not be taken later for what an earlier one gave, which may be there
            // still.
            signature = signature.unknown("its map outputs are not recorded");
        }
        int id = restored == null ? fresh : answer.shuffle();
        register(id, signature, made, dependency, answer.record() && signature.known(), restored);
        return id;
    }

    /** Lets the shuffle run as one of which nothing is known: no fault of ours is worth the program's job. */
    private int beginPlainly(int fresh, ShuffleDependency<?, ?, ?> dependency, Throwable fault) {
        int tried = dependency.shuffleId(); // the saved one's, when it had got it already
        int number = renumbered(dependency, fresh);
        System.err.println("yarnspec: nothing is recorded or used again of shuffle " + number + ": " + fault);
        Set<Integer> ours = new LinkedHashSet<>(List.of(fresh));
        if (saved.shuffle(tried) != null) {
            ours.add(tried);
        }
        for (int each : ours) {
            shuffles.remove(each);
            forget(each);
            restoring.takeOut(each);
            outbox.add("recording_stopped", event -> event.put("shuffle", each)
                    .put("why", Failures.shortened("it could not be begun: " + fault)));
        }
        // Which shuffles it reads is asked for those above it.
        List<Integer> below = List.copyOf(Lineage.shufflesOf(() -> List.of(dependency.rdd())));
        remember(number, Signature.ofUnknownShuffle(below, "it could not be begun"), null);
        return number;
    }

    /** @param bounds those of its ranges; null when it does not sort, or that is not known */
    private void remember(int shuffle, Signature signature, RangeBounds bounds) {
        signatures.registered(shuffle, signature, bounds);
        stale.registered(shuffle, signature);
    }

    private void forget(int shuffle) {
        stale.forget(shuffle); // first: what was shown of it must be known by one of the two
        signatures.forget(shuffle);
    }

    /** The number that it has then: Spark's own when it cannot be given another. */
    private static int renumbered(ShuffleDependency<?, ?, ?> dependency, int number) {
        try {
            Fields.set(dependency, "shuffleId", number);
        } catch (RuntimeException e) {
            System.err.println("yarnspec: a shuffle keeps Spark's number: " + e);
        }
        return dependency.shuffleId();
    }

    private Signature described(ShuffleDependency<?, ?, ?> dependency) {
        Properties properties = dependency.rdd().context().getLocalProperties();
        Signature signature = signatures.of(dependency, writes == null ? null : writes.target());
        if (writes != null && signature.known()) {
            writes.made(signature);
        }
        return Streams.own(properties) ? signature.unknown("it belongs to a stream") : signature;
    }

    private Questions.Answer ask(int fresh, Signature signature) {
        if (questions.givenUp()) {
            return Questions.Answer.NONE;
        }
        int question = questions.ask();
        outbox.add("shuffle_declared", event -> {
            event.put("question", question)
                    .put("shuffle", fresh)
                    .put("signature", signature.text())
                    .put("description", signature.description())
                    .put("maps", signature.maps())
                    .put("reduces", signature.reduces())
                    .put("determinism", signature.determinism().wire())
                    .put("reusable", signature.known())
                    .put("why_not", Failures.shortened(signature.whyNot()));
            var parents = event.putArray("parents");
            signature.parents().forEach(parents::add);
        });
        return questions.await(question, ANSWER_TIMEOUT_MS);
    }

    private void register(
            int id,
            Signature signature,
            Circumstances made,
            ShuffleDependency<?, ?, ?> dependency,
            boolean wanted,
            Restoring.Restored restored) {
        Fields.set(dependency, "shuffleId", id);
        remember(id, signature, RangeBounds.of(dependency));
        ShuffleMetrics metrics = wanted ? ShuffleMetrics.of(dependency) : null;
        ShuffleRecord record = new ShuffleRecord(id, signature, metrics, made, dependency.rdd(), wanted);
        if (restored != null) {
            record.restored(restored.indexes()); // first: who refuses it has to know
        }
        if (!shuffles.put(record)) {
            finished.poison(record, "a shuffle below it is not recorded");
        } else if (wanted) {
            finished.sendFacts(record, dependency);
        }
        restoring.putIn(id, dependency, signature, this, restored);
        if (restored != null && record.changed()) {
            takeBack(List.of(record)); // while it was put in
        }
    }

    /**
     * A stage is about to get its tasks. Its shuffle may have been made, and described, long before, and a next driver will
     * describe it like that: what has changed since is not in it.
     *
     * @param flags those of {@link StageFlags}
     */
    public void begins(Stage stage, int flags, TaskSet tasks) {
        ShuffleRecord record = stage instanceof ShuffleMapStage maps
                ? shuffles.get(maps.shuffleDep().shuffleId())
                : null;
        if (record == null || over || !record.signature.known()) {
            return;
        }
        try {
            String why = changedSince(record, flags, tasks);
            if (!why.isEmpty()) {
                finished.poison(record, why);
            }
        } catch (RuntimeException | LinkageError e) {
            finished.poison(record, "it could not be looked at again when its maps began: " + e);
        }
    }

    private static String changedSince(ShuffleRecord record, int flags, TaskSet tasks) {
        if ((flags & StageFlags.MAP) == 0) {
            return "it could not be looked at again when its maps began";
        } else if ((flags & StageFlags.CACHED) != 0) {
            return "what it reads was cached or checkpointed after it was made";
        }
        // What runs again later, for another job, is in Spark's own hands, and what came of it the next driver gets.
        boolean mayVary = record.signature.determinism() != Signature.Determinism.DETERMINATE;
        return record.begin() && mayVary && !record.made.equals(Circumstances.of(tasks))
                ? "its job has other files or local properties than there were when it was made"
                : "";
    }

    /**
     * Takes what a finished map counted, until Spark's tracker has its output. Under the scheduler's lock, before Spark
     * itself hears of it.
     */
    public void succeeded(int shuffle, long task, DirectTaskResult<?> result) {
        ShuffleRecord record = shuffles.get(shuffle);
        if (record == null) {
            return;
        }
        if (record.recording()) {
            finished.keep(record, task, result);
        }
        // After it was kept: what is saved of a map has its updates, also when they have been counted already.
        if (record.signature.accumulates()) {
            result.accumUpdates_$eq(accumulated.take(shuffle, task, result.accumUpdates()));
        }
    }

    @Override
    public void added(int shuffle, int index, MapStatus status) {
        if (live != null) {
            live.added(shuffle, status.location().executorId());
        }
        accumulated.accepted(shuffle, index, status.mapId());
        finished.added(shuffles.get(shuffle), shuffle, index, status);
    }

    /**
     * Of a shuffle whose records are the same each time an output that is lost is made again, and saved anew. Of another,
     * Spark makes all again, and what was saved of it and of those above must not be mixed with that.
     */
    @Override
    public void lost(int shuffle) {
        ShuffleRecord record = shuffles.get(shuffle);
        if (record != null && !over && record.signature.determinism() == Signature.Determinism.INDETERMINATE) {
            finished.poison(record, "an output was lost, and its records are others each time");
        }
    }

    /**
     * Notes that a shuffle differs each time, though Spark took it for the same: those above hold what was made of the
     * former records.
     */
    @Override
    public void differs(int shuffle) {
        ShuffleRecord record = shuffles.get(shuffle);
        if (record == null || over) {
            return;
        }
        if (record.signature.determinism() == Signature.Determinism.DETERMINATE) {
            finished.poison(record, "a map that ran again gave other records");
        }
        // Unless somebody has said of what may come out differently that it makes no difference.
        if (saved.hasPast()
                && (record.signature.determinism() == Signature.Determinism.DETERMINATE
                        || signatures.varies(shuffle))) {
            List<ShuffleRecord> above = ShuffleTable.markAbove(record);
            if (above.stream().anyMatch(ShuffleRecord::cameBack)) {
                System.err.println("yarnspec: a map of shuffle " + shuffle
                        + " ran again and gave other rows: all that stands " + "above it runs again");
                takeBack(above);
            }
        }
    }

    /** Spark runs again what stages above have run; that one which has not run yet has outputs it does not expect. */
    private void takeBack(List<ShuffleRecord> records) {
        restoring.takeBack(records.stream().map(each -> each.id).toList());
        records.forEach(ShuffleRecord::takeBack); // last: who hears that an output is lost has to know of it
    }

    private boolean hasChanged(int shuffle) {
        ShuffleRecord record = shuffles.get(shuffle);
        return record != null && record.changed();
    }

    @Override
    public boolean keeps(String executorId) {
        return live != null && live.keeps(executorId);
    }

    /** A job needs a shuffle: what maps of an earlier driver counted counts now. */
    @Override
    public void used(int shuffle) {
        ShuffleRecord record = shuffles.get(shuffle);
        if (record != null && record.cameBack() && accumulated.first(shuffle)) {
            count(record, saved.shuffle(shuffle), record.restored());
            if (record.whole()) {
                record.begin(); // what runs of it from now on runs again
                for (Signature below : signatures.below(record.signature)) {
                    countAll(below);
                }
            }
        }
    }

    private void countAll(Signature below) {
        SavedOutputs.SavedShuffle there = below.accumulates() ? saved.shuffle(below.text()) : null;
        if (there == null) {
            return;
        }
        for (ShuffleRecord record : shuffles.all()) {
            if (record.signature == below) {
                count(record, there, null);
            }
        }
    }

    private void count(ShuffleRecord record, SavedOutputs.SavedShuffle from, Set<Integer> indexes) {
        try {
            accumulated.count(record, from, indexes);
        } catch (IOException | RuntimeException e) {
            // Going on would give the program a wrong count, and an error here leaves it waiting for its job for ever.
            System.err.println("yarnspec: the driver ends because it cannot count again what maps of shuffle "
                    + record.id + " added to accumulators: " + e);
            NegotiatorWatch.halt();
        }
    }

    /** Stops recording, so that nothing is kept beyond what the application master says. */
    private void stopRecordingAll() {
        outbox.add("recording_stopped", event -> event.put("shuffle", ALL_SHUFFLES)
                .put("why", "the driver got no answer about a shuffle within " + ANSWER_TIMEOUT_MS / 1000 + " s"));
    }

    public void dropped(int shuffle) {
        ShuffleRecord record = shuffles.remove(shuffle);
        forget(shuffle);
        accumulated.forget(shuffle);
        if (record != null && !over) {
            finished.forget(shuffle);
            outbox.add("shuffle_dropped", event -> event.put("shuffle", shuffle));
        }
    }

    /** The context stops: what Spark forgets from now on is no loss. */
    public void contextEnds(SparkContext ending) {
        over |= isOurs(ending);
        share();
    }

    public void executorLost(String executorId) {
        if (!served) { // else what it had is still given out
            saved.executorLost(executorId);
        }
    }

    public void hostGone(String host) {
        saved.hostGone(host);
        if (live != null) {
            live.hostGone(host);
        }
    }
}
