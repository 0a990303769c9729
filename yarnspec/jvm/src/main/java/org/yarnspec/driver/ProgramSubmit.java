package org.yarnspec.driver;

import java.io.IOException;
import java.io.Reader;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Properties;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkUserAppException;
import org.apache.spark.deploy.SparkSubmit;
import org.apache.spark.deploy.SparkSubmitArguments;
import scala.Option;
import scala.Tuple4;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The driver's main class: Spark's spark-submit, but the program sees the master {@code yarn} and the user's deploy mode.
 *
 * <p>With {@code --master yarn} spark-submit would ask for the classes of Spark's own YARN client, and would hand files to
 * them. The command line therefore names another master and client mode, and this class sets both afterwards.
 */
public final class ProgramSubmit {
    static final String MASTER = "yarn";
    private static final String DEPLOY_MODE = "spark.yarnspec.deployMode";
    private static final String CLIENT = "client";
    private static final String CLUSTER = "cluster";
    /** A directory that is to come first on the program's PYTHONPATH, before the files of {@code --py-files}. */
    static final String HOOK_VARIABLE = "YARNSPEC_PROGRAM_HOOK";

    private static final String PYTHON_RUNNER = "org.apache.spark.deploy.PythonRunner";
    private static final int PY_FILES = 1;
    private static final String PROPERTIES_FILE = "--properties-file";

    private ProgramSubmit() {}

    /**
     * Ends like spark-submit: with the exit code of the program. In cluster mode threads that the program leaves behind
     * end with it, as in Spark's application master; in client mode the JVM waits for them.
     */
    public static void main(String[] arguments) throws Exception {
        Submit submit = new Submit();
        try {
            submit.doSubmit(arguments);
        } catch (Exception e) { // Scala does not declare what it throws
            if (e instanceof SparkUserAppException ended) {
                System.exit(ended.exitCode());
            }
            throw e;
        }
        if (CLUSTER.equals(submit.deployMode)) {
            System.exit(0);
        }
    }

    /** The arguments of Spark's PythonRunner (program, comma-separated Python files, …) with the hook before the files. */
    static List<String> withHook(List<String> arguments, String hook) {
        List<String> words = new ArrayList<>(arguments);
        String files = words.get(PY_FILES);
        words.set(PY_FILES, files == null || files.isEmpty() ? hook : hook + "," + files);
        return words;
    }

    /**
     * The arguments, and before them as {@code --conf} what Spark would trim when it reads the file of properties.
     *
     * <p>Of {@code --conf} Spark keeps every character. No other process sees these arguments.
     */
    static String[] withUntrimmed(String... arguments) {
        List<String> words = new ArrayList<>();
        int file = Arrays.asList(arguments).indexOf(PROPERTIES_FILE) + 1;
        Properties properties = file == 0 ? new Properties() : load(Path.of(arguments[file]));
        for (String key : properties.stringPropertyNames()) {
            String value = properties.getProperty(key);
            // Such a key was not given by --conf, and its value has nothing to trim.
            boolean isPair = !key.contains("=");
            if (isPair && !value.equals(value.trim())) {
                words.add("--conf");
                words.add(key + "=" + value);
            }
        }
        words.addAll(List.of(arguments));
        return words.toArray(String[]::new);
    }

    private static Properties load(Path file) {
        Properties properties = new Properties();
        try (Reader reader = Files.newBufferedReader(file)) {
            properties.load(reader);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return properties;
    }

    private static final class Submit extends SparkSubmit {
        private String deployMode = CLIENT;

        @Override
        public SparkSubmitArguments parseArguments(String[] arguments) {
            return super.parseArguments(withUntrimmed(arguments));
        }

        @Override
        public Tuple4<Seq<String>, Seq<String>, SparkConf, String> prepareSubmitEnvironment(
                SparkSubmitArguments arguments, Option<Configuration> hadoop) {
            Tuple4<Seq<String>, Seq<String>, SparkConf, String> prepared =
                    super.prepareSubmitEnvironment(arguments, hadoop);
            SparkConf conf = prepared._3();
            conf.set("spark.master", MASTER);
            deployMode = conf.get(DEPLOY_MODE, CLIENT);
            conf.set("spark.submit.deployMode", deployMode);
            String hook = System.getenv(HOOK_VARIABLE);
            if (hook == null || !PYTHON_RUNNER.equals(prepared._4())) {
                return prepared;
            }
            List<String> words = withHook(CollectionConverters.asJava(prepared._1()), hook);
            return new Tuple4<>(
                    CollectionConverters.asScala(words).toSeq(), prepared._2(), prepared._3(), prepared._4());
        }
    }
}
