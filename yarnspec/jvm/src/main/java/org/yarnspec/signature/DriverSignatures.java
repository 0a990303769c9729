package org.yarnspec.signature;

import java.util.ArrayDeque;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkContext;
import org.apache.spark.rdd.DeterministicLevel$;
import org.apache.spark.rdd.RDD;
import org.apache.spark.serializer.JavaSerializer;
import org.apache.spark.serializer.KryoSerializer;
import org.apache.spark.serializer.Serializer;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.physical.RangePartitioning;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.UnsafeRowSerializer;
import org.apache.spark.sql.execution.datasources.InsertIntoHadoopFsRelationCommand;
import org.apache.spark.sql.execution.datasources.WriteFiles;
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec;
import org.apache.spark.sql.internal.SQLConf;
import org.yarnspec.fingerprint.AddedFiles;
import org.yarnspec.fingerprint.Fingerprint;
import org.yarnspec.fingerprint.HadoopInputs;
import org.yarnspec.fingerprint.HadoopSettings;
import org.yarnspec.fingerprint.Partitioners;
import org.yarnspec.fingerprint.ShuffleIdentities;
import org.yarnspec.fingerprint.Unknown;
import org.yarnspec.fingerprint.Values;
import org.yarnspec.spark.Failures;
import org.yarnspec.spark.Fields;
import org.yarnspec.spark.Lineage;
import scala.Enumeration;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Works out what each shuffle of this driver is, from all that its records depend on: how they are spread and written,
 * the RDDs with their files, the query's plan, the program's functions, and the shuffles below.
 *
 * <p>A wrong match is a wrong result. So whatever is not known makes a shuffle one that is never reused, and with it those
 * above.
 */
public final class DriverSignatures implements ShuffleIdentities {
    /** Settings of Spark's that change the bytes of a shuffle or what is computed. */
    private static final List<String> SETTINGS = List.of(
            "spark.serializer",
            "spark.kryo",
            "spark.shuffle.compress",
            "spark.io.compression.",
            "spark.rdd.compress",
            "spark.python.",
            "spark.hadoop.mapred",
            "spark.hadoop.parquet",
            "spark.files.ignore",
            "spark.sql.");

    /** The last is the number of each driver's own tree of uncommitted output. */
    private static final List<String> NO_SETTINGS = List.of(
            "spark.sql.warehouse.dir", "spark.sql.artifact", "spark.hadoop.mapreduce.job.application.attempt.id");

    private static final Set<Class<?>> SERIALIZERS = Set.of(JavaSerializer.class, KryoSerializer.class);

    private static final char OCCURRENCE = '-';

    private final Map<String, Integer> occurrences = new ConcurrentHashMap<>();
    private final Map<Integer, String> identities = new ConcurrentHashMap<>();
    private final Map<Integer, Signature> known = new ConcurrentHashMap<>();
    /** The shuffles that each of them reads; if one is known no more, those that it read. */
    private final Map<Integer, Set<Integer>> reads = new HashMap<>();

    private final Set<Integer> varying = ConcurrentHashMap.newKeySet();
    private final AddedFiles added = new AddedFiles();
    private final HadoopInputs inputs = new HadoopInputs();
    private final boolean repeatable;

    /**
     * The signatures of a driver's shuffles.
     *
     * @param repeatable somebody says that functions of the program's give the same each time
     */
    public DriverSignatures(boolean repeatable) {
        this.repeatable = repeatable;
    }

    /**
     * The signature of a shuffle that is just being made.
     *
     * @param target what it is made for; null when its job does not write, or that is not known
     */
    public Signature of(ShuffleDependency<?, ?, ?> dependency, WriteTurns.Target target) {
        Fingerprint into = new Fingerprint();
        Values values = new Values(into, this, inputs);
        String whyNot = "";
        String description = dependency.rdd().creationSite().shortForm();
        try {
            SparkPlan exchange = add(dependency, values);
            description = exchange == null ? description : exchange.simpleString(10);
            addCircumstances(values, dependency.rdd().context(), target == null ? "" : target.path());
        } catch (Unknown e) {
            whyNot = e.getMessage();
        } catch (Exception | LinkageError | StackOverflowError e) {
            Failures.keepInterrupt(e);
            whyNot = "it cannot be described: " + e;
        }
        String text = "";
        String kind = "";
        Set<String> turns = new TreeSet<>();
        if (whyNot.isEmpty()) {
            values.rdds()
                    .parents()
                    .forEach(parent -> turns.addAll(known.get(parent).turns()));
            if (target != null && values.runsFunctions()) {
                turns.add(target.turn());
            }
            String hex = into.hex();
            kind = numbered(hex);
            text = turns.isEmpty()
                    ? kind
                    : numbered(new Fingerprint().add(hex).add(turns.toString()).hex());
        }
        return new Signature(
                text,
                kind,
                turns,
                Failures.shortened(description),
                dependency.rdd().getNumPartitions(),
                dependency.partitioner().numPartitions(),
                determinism(dependency, values),
                parents(values, whyNot, () -> List.of(dependency.rdd())),
                values.accumulates(),
                List.copyOf(values.observers()),
                whyNot);
    }

    private String numbered(String hex) {
        return hex + OCCURRENCE + occurrences.merge(hex, 1, Integer::sum);
    }

    /** The signature of a write that is just being planned; the same write twice has the same signature. */
    public Signature of(SparkSession session, InsertIntoHadoopFsRelationCommand command) {
        String description = command.fileFormat() + " in " + command.outputPath();
        return ofWrite(description, () -> Lineage.rddsOf(command.query()), values -> add(session, command, values));
    }

    /**
     * A write is not done again: the shuffles that were made for it count as made, how many of each. But those that are
     * saved still go to what is made alike next.
     */
    public void leftOut(Map<String, Integer> made, Predicate<String> isSaved) {
        made.forEach((which, count) -> {
            for (int i = 0; i < count && !isSaved.test(which + OCCURRENCE + next(which)); i++) {
                occurrences.merge(which, 1, Integer::sum);
            }
        });
    }

    private int next(String which) {
        return occurrences.getOrDefault(which, 0) + 1;
    }

    /** The signature of a known shuffle, the same for all that are made alike. */
    public static String withoutNumber(Signature signature) {
        return withoutNumber(signature.text());
    }

    private static String withoutNumber(String numbered) {
        return numbered.substring(0, numbered.lastIndexOf(OCCURRENCE));
    }

    /** The signature of a save of an RDD; {@code call}: by which call, and how. */
    public Signature ofSave(RDD<?> rdd, String call) {
        return ofWrite(call, () -> List.of(rdd), values -> {
            SparkContext context = rdd.context();
            values.into().add(call);
            added.add(values.into(), context);
            addSettings(values, context.conf().getAllAsJavaMap());
            values.add(inputs.settings(context.hadoopConfiguration()));
            values.rdds().add(rdd, true);
            addCircumstances(values, context, "");
            if (aboveIndeterminate(values)) {
                // Other jobs read the same records of it, and when it runs again there are others.
                throw new Unknown("it is computed from a shuffle that may give other records when it runs again");
            }
            for (RDD<?> each : Lineage.ofAll(rdd, Set.of())) {
                if (Lineage.isCheckpointed(each)) {
                    throw new Unknown("it is to be checkpointed, or is computed from what is");
                }
            }
        });
    }

    private Signature ofWrite(String description, Supplier<List<RDD<?>>> last, Consumer<Values> parts) {
        Fingerprint into = new Fingerprint();
        Values values = new Values(into, this, inputs);
        String whyNot = "";
        try {
            parts.accept(values);
            Set<Integer> below = shufflesBelow(values.rdds().parents());
            if (values.accumulates() || below.stream().anyMatch(this::mayAccumulate)) {
                whyNot = "its functions add to accumulators";
            }
            addWhichOfThem(into, below);
        } catch (Unknown e) {
            whyNot = e.getMessage();
        } catch (Exception | LinkageError | StackOverflowError e) {
            Failures.keepInterrupt(e);
            whyNot = "it cannot be described: " + e;
        }
        return new Signature(
                whyNot.isEmpty() ? into.hex() : "",
                "",
                Set.of(),
                Failures.shortened(description),
                0,
                0,
                Signature.Determinism.UNORDERED,
                parents(values, whyNot, last),
                values.accumulates(),
                List.copyOf(values.observers()),
                whyNot);
    }

    /** The shuffles that are read; where the description came to no end, by a walk of its own. */
    private static List<Integer> parents(Values values, String whyNot, Supplier<List<RDD<?>>> last) {
        Set<Integer> found = new LinkedHashSet<>(values.rdds().parents());
        if (!whyNot.isEmpty()) {
            found.addAll(Lineage.shufflesOf(last));
        }
        return List.copyOf(found);
    }

    private void add(SparkSession session, InsertIntoHadoopFsRelationCommand command, Values values) {
        if (command.catalogTable().isDefined()) {
            throw new Unknown("it writes a table of the catalog");
        }
        Fingerprint into = values.into();
        added.add(into, session.sparkContext());
        addSettings(values, session.sparkContext().conf().getAllAsJavaMap());
        addSettings(values, session);
        into.add(command.fileFormat().getClass().getName()).add(command.mode().name());
        into.add(command.dynamicPartitionOverwrite() ? 1 : 0);
        values.add(command.options());
        values.add(command.staticPartitions());
        values.add(command.bucketSpec());
        values.add(command.outputColumnNames());
        LogicalPlan query = command.query();
        values.addQuery(query instanceof WriteFiles files ? files.child() : query);
        values.add(command.partitionColumns());
        addCircumstances(values, session.sparkContext(), ""); // where it goes is known by its path
    }

    /** Whether functions do in a shuffle that will not be asked for when the write is skipped, as far as is known. */
    private boolean mayAccumulate(int shuffle) {
        Signature signature = known.get(shuffle);
        return signature == null || signature.accumulates();
    }

    /** Of two shuffles that are made alike each has its own rows where functions may give others each time. */
    private void addWhichOfThem(Fingerprint into, Set<Integer> below) {
        below.stream().filter(this::varies).map(this::kindOf).sorted().forEach(into::add);
    }

    /**
     * The identity of an RDD's records; empty when that is not known, when they or their order may be others in another run,
     * and when computing them counts in accumulators.
     */
    public String ofRecords(RDD<?> rdd) {
        Fingerprint into = new Fingerprint();
        Values values = new Values(into, this, inputs);
        try {
            added.add(into, rdd.context());
            addSettings(values, rdd.context().conf().getAllAsJavaMap());
            values.rdds().add(rdd, true);
            addCircumstances(values, rdd.context(), "");
        } catch (Exception | LinkageError | StackOverflowError e) {
            Failures.keepInterrupt(e);
            return "";
        }
        boolean same = values.deterministic()
                && values.repeats()
                && !values.accumulates()
                && values.rdds().parents().isEmpty()
                && rdd.outputDeterministicLevel().equals(DeterministicLevel$.MODULE$.DETERMINATE());
        return same ? into.hex() : "";
    }

    /**
     * Remembers under which number a shuffle goes in this driver.
     *
     * @param bounds those of its ranges, after saved ones were put back; null when it does not sort
     */
    public void registered(int shuffle, Signature signature, RangeBounds bounds) {
        if (varies(signature)) {
            varying.add(shuffle);
        }
        known.put(shuffle, signature);
        synchronized (reads) {
            reads.put(shuffle, new LinkedHashSet<>(signature.parents()));
        }
        if (!signature.known()) {
            return;
        }
        // Those above read the same records from every shuffle of this kind, be it the first one or the second.
        String identity = withoutNumber(signature.kind());
        if (bounds != null) {
            // By other bounds other rows meet in a partition: what was made above the one must not mix with the other.
            identity += "/" + new Fingerprint().add(bounds.encode()).hex();
        }
        // Records of an indeterminate shuffle are others each time: those above it match only together with it.
        boolean others = signature.determinism() == Signature.Determinism.INDETERMINATE;
        identities.put(shuffle, others ? identity + "#" + shuffle : identity);
    }

    @Override
    public String of(int shuffle) {
        String identity = identities.get(shuffle);
        if (identity == null) {
            Signature signature = known.get(shuffle);
            throw new Unknown(signature == null ? "a shuffle below it is not known" : below(signature.whyNot()));
        }
        return identity;
    }

    private static String below(String why) {
        return why.startsWith("below it: ") ? why : "below it: " + why;
    }

    /** The shuffles below, which need not run when this one is there as a whole, and itself. */
    public List<Signature> below(Signature signature) {
        return shufflesBelow(signature.parents()).stream()
                .map(known::get)
                .filter(Objects::nonNull)
                .toList();
    }

    /** These shuffles and all below them, by their numbers in this driver. */
    public Set<Integer> shufflesBelow(Collection<Integer> shuffles) {
        Set<Integer> all = new LinkedHashSet<>();
        ArrayDeque<Integer> left = new ArrayDeque<>(shuffles);
        synchronized (reads) {
            while (!left.isEmpty()) {
                int next = left.pop();
                if (all.add(next)) {
                    left.addAll(reads.getOrDefault(next, Set.of()));
                }
            }
        }
        return all;
    }

    /** The shuffles of this driver that read one of these, directly or not. */
    public Set<Integer> shufflesAbove(Set<Integer> shuffles) {
        Set<Integer> all = new LinkedHashSet<>();
        synchronized (reads) {
            reads.forEach((number, parents) -> {
                if (!Collections.disjoint(shufflesBelow(parents), shuffles)) {
                    all.add(number);
                }
            });
        }
        return all;
    }

    /** The shuffles among these that Spark has not dropped. */
    public Set<Integer> known(Collection<Integer> shuffles) {
        Set<Integer> still = new LinkedHashSet<>(shuffles);
        still.retainAll(known.keySet());
        return still;
    }

    /** Which one of its kind a shuffle of this driver is; empty when that is not known. */
    private String kindOf(int shuffle) {
        Signature signature = known.get(shuffle);
        return signature == null ? "" : signature.kind();
    }

    /** Whether another run of its maps may give other rows to those above: it itself, or one below it. As in core/recovery/shuffles.py. */
    public boolean varies(int shuffle) {
        return varying.contains(shuffle) || !known.containsKey(shuffle);
    }

    /** Whether a shuffle varies that has no number yet. */
    public boolean varies(Signature signature) {
        return signature.determinism() == Signature.Determinism.INDETERMINATE
                || signature.determinism() == Signature.Determinism.UNORDERED && !repeatable
                || signature.parents().stream().anyMatch(this::varies);
    }

    public void forget(int shuffle) {
        known.remove(shuffle); // first: who finds what it read no more must not take it for known
        synchronized (reads) {
            Set<Integer> below = reads.remove(shuffle);
            if (below != null) {
                below.retainAll(reads.keySet());
                for (Set<Integer> above : reads.values()) {
                    if (above.contains(shuffle)) {
                        above.addAll(below); // that it is computed from these is still to be found
                    }
                }
            }
        }
        varying.remove(shuffle);
        identities.remove(shuffle);
    }

    private SparkPlan add(ShuffleDependency<?, ?, ?> dependency, Values values) {
        SparkContext context = dependency.rdd().context();
        Fingerprint into = values.into();
        into.add(dependency.rdd().getNumPartitions());
        Partitioners.add(values, dependency.partitioner());
        addSerializer(into, dependency.serializer());
        into.add(dependency.mapSideCombine() ? 1 : 0);
        values.add(dependency.keyOrdering());
        values.add(dependency.aggregator());
        into.add(dependency.rowBasedChecksums().length);
        added.add(into, context);
        addSettings(values, context.conf().getAllAsJavaMap());
        SparkPlan exchange = null;
        if (ShuffleMetrics.ofQuery(dependency)) {
            QueryExecution query = ExchangeOwner.query(context);
            addSettings(values, query.sparkSession());
            exchange = ExchangeOwner.find(query, dependency);
            values.addOwner(exchange);
        }
        checkBounds(dependency, exchange);
        values.rdds().add(dependency.rdd(), exchange == null);
        return exchange;
    }

    /**
     * Adds all that the program's functions can go by beside their input and their own values. A program that is
     * started again and leaves out what it has done before makes the same shuffle for something else.
     */
    private static void addCircumstances(Values values, SparkContext context, String target) {
        if (!values.runsFunctions()) {
            return;
        }
        values.into().add(target);
        values.add(Circumstances.programsOwn(context.getLocalProperties()));
    }

    /** Whoever sorts must have bounds that can be saved: what is above stands and falls with them. */
    private static void checkBounds(ShuffleDependency<?, ?, ?> dependency, SparkPlan exchange) {
        RangeBounds bounds = RangeBounds.of(dependency);
        if (bounds != null) {
            bounds.encode();
        } else if (exchange instanceof ShuffleExchangeExec range
                && range.outputPartitioning() instanceof RangePartitioning) {
            throw new Unknown("the bounds of its ranges are not to be found");
        }
    }

    private static void addSerializer(Fingerprint into, Serializer serializer) {
        into.add(serializer.getClass().getName());
        if (serializer instanceof UnsafeRowSerializer rows) {
            into.add((Integer) Fields.get(rows, "numFields"));
        } else if (!SERIALIZERS.contains(serializer.getClass())) {
            throw Unknown.kind("a serializer", serializer);
        }
    }

    /**
     * Adds the settings that a query's readers and writers go by: Hadoop's, too, and what else is set in the session
     * goes there.
     */
    private void addSettings(Values values, SparkSession session) {
        SQLConf conf = session.sessionState().conf();
        addSettings(values, conf);
        Map<String, String> others = new TreeMap<>(CollectionConverters.asJava(conf.getAllConfs()));
        others.keySet().removeIf(key -> key.startsWith("spark.") || HadoopSettings.isOfOneLife(key));
        values.add(others);
        values.add(inputs.settings(session.sparkContext().hadoopConfiguration()));
    }

    static void addSettings(Values values, SQLConf session) {
        addSettings(values, CollectionConverters.asJava(session.getAllConfs()));
        // Where nobody has set it, it is that of the driver's host, and the next driver may have another host.
        values.into().add(session.sessionLocalTimeZone());
    }

    static void addSettings(Values values, Map<String, String> settings) {
        Map<String, String> chosen = new TreeMap<>();
        settings.forEach((key, value) -> {
            if (SETTINGS.stream().anyMatch(key::startsWith)
                    && NO_SETTINGS.stream().noneMatch(key::startsWith)) {
                chosen.put(key, value);
            }
        });
        values.add(chosen);
    }

    private Signature.Determinism determinism(ShuffleDependency<?, ?, ?> dependency, Values values) {
        Enumeration.Value sparks = dependency.rdd().outputDeterministicLevel();
        if (aboveIndeterminate(values)
                || !values.deterministic()
                || sparks.equals(DeterministicLevel$.MODULE$.INDETERMINATE())) {
            return Signature.Determinism.INDETERMINATE;
        }
        // To Spark a broadcast table is a constant, but the next driver's may have its rows in another order. And it
        // takes
        // functions for what gives the same each time; one that draws lots, or asks the clock, does not.
        boolean repeats = values.repeats() && !values.runsFunctions();
        return sparks.equals(DeterministicLevel$.MODULE$.DETERMINATE()) && repeats
                ? Signature.Determinism.DETERMINATE
                : Signature.Determinism.UNORDERED;
    }

    private boolean aboveIndeterminate(Values values) {
        return values.rdds().parents().stream()
                .map(known::get)
                .anyMatch(parent -> parent == null || parent.determinism() == Signature.Determinism.INDETERMINATE);
    }
}
