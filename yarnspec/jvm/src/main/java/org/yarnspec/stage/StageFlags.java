package org.yarnspec.stage;

import java.util.Properties;
import java.util.regex.Pattern;
import org.apache.spark.SparkEnv;
import org.apache.spark.rdd.DeterministicLevel$;
import org.apache.spark.rdd.RDD;
import org.apache.spark.scheduler.ResultStage;
import org.apache.spark.scheduler.Stage;
import org.yarnspec.spark.Lineage;
import org.yarnspec.spark.Streams;

/** The flags of a stage, set before its tasks start: {@code StageFlag} of core/messages/observations.py. */
public final class StageFlags {
    public static final int MAP = 1;
    static final int BARRIER = 2;
    public static final int COMMITS = 4;
    public static final int WRITES = 8;
    public static final int PYTHON = 16;
    public static final int INDETERMINATE = 32;
    public static final int STREAM = 64;
    public static final int CACHED = 128;
    public static final int READS = 256;
    public static final int NO_COPIES = 512;
    public static final int KEEPS = 1024;

    // A local property that the program sets: yarnspec/spark/no_copies.py.
    private static final String SPECULATION = "yarnspec.speculation";

    private static final String PYTHON_RDDS = "org.apache.spark.api.python.";
    // How Spark names its operators that hand rows to Python workers: BatchEvalPython, MapInPandas, MapInArrow, …
    private static final Pattern PYTHON_OPERATOR = Pattern.compile("Python|Pandas|InArrow|InBatch");

    private StageFlags() {}

    /**
     * The flags of a stage, with the local properties of its job.
     *
     * <p>A stage that cannot be looked at counts as writing, so that nothing is ever written twice. If only the look at its
     * sources fails, it counts as reading elsewhere, and if that at what it keeps does, as keeping records.
     */
    public static int of(Stage stage, Properties ofJob) {
        int asked = asksForNoCopies(ofJob) ? NO_COPIES : 0;
        try {
            return asked | lookedAt(stage, ofJob);
        } catch (RuntimeException | LinkageError e) {
            return asked | WRITES;
        }
    }

    private static boolean asksForNoCopies(Properties ofJob) {
        String said = ofJob == null ? null : ofJob.getProperty(SPECULATION);
        return said != null && said.strip().equalsIgnoreCase("false");
    }

    private static int lookedAt(Stage stage, Properties ofJob) {
        int flags = stage instanceof ResultStage result ? Sinks.flagsOf(result, ofJob) : MAP;
        if (Streams.own(ofJob)) {
            flags |= STREAM;
        }
        if (stage.rdd().isBarrier()) {
            flags |= BARRIER;
        }
        if (stage.rdd().outputDeterministicLevel() == DeterministicLevel$.MODULE$.INDETERMINATE()) {
            flags |= INDETERMINATE;
        }
        if (readsElsewhere(stage.rdd())) {
            flags |= READS;
        }
        if (keepsRecords(stage.rdd())) {
            flags |= KEEPS;
        }
        boolean python = false;
        for (RDD<?> rdd : Lineage.ofStage(stage.rdd())) {
            python |= runsPython(rdd);
            flags |= Lineage.isCached(rdd) || Lineage.isCheckpointed(rdd) ? CACHED : 0;
        }
        return python ? flags | PYTHON | (stage instanceof ResultStage && marksGoAstray() ? WRITES : 0) : flags;
    }

    private static boolean readsElsewhere(RDD<?> last) {
        try {
            return Sources.readElsewhere(last);
        } catch (RuntimeException | LinkageError e) {
            return true;
        }
    }

    private static boolean keepsRecords(RDD<?> last) {
        try {
            return KeptRecords.areMade(last);
        } catch (RuntimeException | LinkageError e) {
            return true;
        }
    }

    /**
     * Whether the program's marks of jobs that write (Sinks) may end up at other jobs: the program's threads share those
     * of the JVM, and with them the local properties. Set by program_hook/sitecustomize.py.
     */
    static boolean marksGoAstray() {
        return SparkEnv.get().conf().getBoolean("spark.yarnspec.sharedThreads", false);
    }

    /** Whether an RDD's own records go through a Python worker. */
    private static boolean runsPython(RDD<?> rdd) {
        return rdd.getClass().getName().startsWith(PYTHON_RDDS)
                || rdd.scope().isDefined()
                        && PYTHON_OPERATOR.matcher(rdd.scope().get().name()).find();
    }
}
