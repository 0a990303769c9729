package org.yarnspec.stage;

import java.lang.invoke.SerializedLambda;
import java.util.Properties;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.SparkEnv;
import org.apache.spark.internal.io.FileCommitProtocol;
import org.apache.spark.rdd.RDD;
import org.apache.spark.scheduler.ResultStage;
import org.apache.spark.sql.execution.datasources.v2.FileWriterFactory;
import org.apache.spark.util.SerializableConfiguration;
import org.apache.spark.util.SerializableJobConf;
import org.yarnspec.spark.Fields;

/**
 * How a result stage writes, if it does: found in the function that Spark runs on each partition.
 *
 * <p>Spark's own writers let one attempt of a task commit. Whoever else gets at the records may write them somewhere at
 * once; so a function that is not Spark's own counts as writing.
 */
final class Sinks {
    private static final String SPARK = "org.apache.spark.";
    private static final String SPARK_CONTEXT = "org.apache.spark.SparkContext";
    private static final String RDDS = "org.apache.spark.rdd.";
    private static final String FILE_FORMAT_WRITER = "org.apache.spark.sql.execution.datasources.FileFormatWriter$";
    private static final String HADOOP_WRITER = "org.apache.spark.internal.io.SparkHadoopWriter$";
    private static final String V2_WRITER = "org.apache.spark.sql.execution.datasources.v2.V2TableWriteExec";
    private static final String NOOP_WRITER = "org.apache.spark.sql.execution.datasources.noop.";
    // PySpark's foreach and foreachPartition are a count() for the JVM. The hook in the program marks their jobs
    // (program_hook/sitecustomize.py). The stage's name is the second sign only: PySpark gives it the name of the
    // outermost call, or no name while another thread is inside a call.
    private static final String PYTHON_WRITES = "spark.yarnspec.writes";
    private static final Set<String> PYTHON_WRITERS = Set.of("foreach", "foreachPartition");
    private static final Set<String> FILE_FORMATS = Set.of(
            "org.apache.hadoop.mapred.FileOutputFormat", "org.apache.hadoop.mapreduce.lib.output.FileOutputFormat");

    private Sinks() {}

    /** {@code StageFlags.COMMITS}, {@code WRITES}, or 0 when the stage only gives its result to the driver. */
    static int flagsOf(ResultStage stage, Properties ofJob) {
        String action = stage.name().split(" at ", 2)[0];
        boolean pythonWrites = ofJob != null && ofJob.getProperty(PYTHON_WRITES) != null;
        return pythonWrites || PYTHON_WRITERS.contains(action) || ProviderWrites.include(ofJob)
                ? StageFlags.WRITES
                : flagsOf(stage.func(), stage.rdd());
    }

    private static int flagsOf(Object function, RDD<?> rdd) {
        SerializedLambda lambda = Fields.lambda(function);
        if (lambda == null) {
            return function.getClass().getName().startsWith(SPARK) ? 0 : StageFlags.WRITES;
        }
        String host = lambda.getImplClass().replace('/', '.');
        if (host.equals(SPARK_CONTEXT)) {
            // runJob wraps functions that do not ask for the task's context.
            Object wrapped = captured(lambda, scala.Function1.class);
            return wrapped == null ? StageFlags.WRITES : flagsOf(wrapped, rdd);
        }
        return switch (host) {
            case FILE_FORMAT_WRITER -> flagsOfFiles(function, rdd);
            case HADOOP_WRITER -> flagsOfHadoopWriter(function, lambda);
            case V2_WRITER -> flagsOfTableWriter(lambda);
            default -> host.startsWith(SPARK) && !isForeach(host, lambda) ? 0 : StageFlags.WRITES;
        };
    }

    /** Whether Spark's writers of files ask the driver before an attempt commits; users can turn that off. */
    private static boolean oneCommits() {
        return SparkEnv.get().conf().getBoolean("spark.hadoop.outputCommitCoordination.enabled", true);
    }

    /** A planned write's records are written by the last operator of its plan, and the function only collects messages. */
    private static int flagsOfFiles(Object function, RDD<?> rdd) {
        FileCommitProtocol held = Commits.protocolIn(function);
        FileCommitProtocol protocol = held == null ? Commits.protocolIn(Fields.get(rdd, "f")) : held;
        return oneCommits() && Commits.known(protocol) ? StageFlags.COMMITS : StageFlags.WRITES;
    }

    private static boolean isForeach(String host, SerializedLambda lambda) {
        return host.startsWith(RDDS) && lambda.getImplMethodName().contains("$foreach");
    }

    /** The commit of a Hadoop output format is worth something for files only; others write as they go (HBase). */
    private static int flagsOfHadoopWriter(Object function, SerializedLambda lambda) {
        Configuration conf = null;
        for (Object part : parts(captured(lambda, org.apache.spark.internal.io.HadoopWriteConfigUtil.class))) {
            if (part instanceof SerializableJobConf job) {
                conf = job.value();
            } else if (part instanceof SerializableConfiguration job) {
                conf = job.value();
            }
        }
        if (conf == null || !oneCommits() || !Commits.known(Commits.protocolIn(function))) {
            return StageFlags.WRITES;
        }
        // The old interface's key wins: saveAsTextFile sets it.
        String old = conf.get("mapred.output.format.class");
        String name = old == null ? conf.get("mapreduce.job.outputformat.class") : old;
        Class<?> format = name == null ? null : conf.getClassByNameOrNull(name);
        for (Class<?> each = format; each != null; each = each.getSuperclass()) {
            if (FILE_FORMATS.contains(each.getName())) {
                return StageFlags.COMMITS;
            }
        }
        return StageFlags.WRITES;
    }

    /**
     * Of the tables of the newer interface only Spark's own files are known to show nothing before the commit. That a
     * table asks for Spark's commit coordinator proves nothing: it is the interface's default, and keeps a second attempt
     * from commit(), not from write().
     */
    private static int flagsOfTableWriter(SerializedLambda lambda) {
        boolean files = false;
        boolean oneCommits = false;
        for (int i = 0; i < lambda.getCapturedArgCount(); i++) {
            Object captured = lambda.getCapturedArg(i);
            if (captured != null && captured.getClass().getName().startsWith(NOOP_WRITER)) {
                return 0;
            }
            files |= captured instanceof FileWriterFactory factory && Commits.known(factory.committer());
            oneCommits |= Boolean.TRUE.equals(captured);
        }
        return files && oneCommits ? StageFlags.COMMITS : StageFlags.WRITES;
    }

    private static Object captured(SerializedLambda lambda, Class<?> kind) {
        for (int i = 0; i < lambda.getCapturedArgCount(); i++) {
            if (kind.isInstance(lambda.getCapturedArg(i))) {
                return lambda.getCapturedArg(i);
            }
        }
        return null;
    }

    private static Object[] parts(Object object) {
        if (object == null) {
            return new Object[0];
        }
        try {
            var fields = object.getClass().getDeclaredFields();
            Object[] values = new Object[fields.length];
            for (int i = 0; i < fields.length; i++) {
                fields[i].setAccessible(true);
                values[i] = fields[i].get(object);
            }
            return values;
        } catch (ReflectiveOperationException e) {
            return new Object[0];
        }
    }
}
