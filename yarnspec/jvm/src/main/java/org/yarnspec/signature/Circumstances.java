package org.yarnspec.signature;

import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import org.apache.spark.JobArtifactSet;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.TaskSet;
import org.yarnspec.fingerprint.AddedFiles;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The circumstances that functions of the program can depend on beside their input and their own values. They may have
 * changed between the making of the shuffle and the run of the functions.
 *
 * @param added by their addresses: when the program has added each file, archive or jar
 * @param properties local properties that are the program's own
 */
public record Circumstances(Map<String, Object> added, Map<String, String> properties) {
    /** Local properties of jobs that Spark has set, some when it submits a stage, or that are for its log lines. */
    private static final List<String> SPARKS_PROPERTIES = List.of(
            "spark.",
            "callSite.",
            "mdc.",
            "__fetch_continuous_blocks_in_batch_enabled",
            "__is_continuous_processing",
            "resource.executor.cores",
            "resource.pyspark.memory",
            "resource.maxTasksPerExecutor");
    /** yarnspec.sink and yarnspec.window bring this zip and our jar when they are first used, and mark their jobs. */
    private static final String OUR_ZIP = "/yarnspec-tasks.zip";

    private static final String OUR_PROPERTIES = "yarnspec.";

    /** The circumstances of a job that this thread would begin now. */
    public static Circumstances now(SparkContext context) {
        return of(JobArtifactSet.getActiveOrDefault(context), context.getLocalProperties());
    }

    /** The circumstances of the job that these tasks are for. */
    public static Circumstances of(TaskSet tasks) {
        return of(tasks.tasks()[0].artifacts(), tasks.properties());
    }

    private static Circumstances of(JobArtifactSet artifacts, Properties local) {
        Map<String, Object> added = new TreeMap<>();
        List.of(artifacts.files(), artifacts.archives(), artifacts.jars())
                .forEach(each -> added.putAll(CollectionConverters.asJava(each)));
        added.keySet().removeIf(address -> address.endsWith(OUR_ZIP) || AddedFiles.isOurJar(address));
        Map<String, String> properties = programsOwn(local);
        properties.keySet().removeIf(name -> name.startsWith(OUR_PROPERTIES));
        return new Circumstances(added, properties);
    }

    /** By their names. */
    static Map<String, String> programsOwn(Properties local) {
        Map<String, String> properties = new TreeMap<>();
        local.forEach((key, value) -> {
            String name = key.toString();
            if (SPARKS_PROPERTIES.stream().noneMatch(name::startsWith)) {
                properties.put(name, value.toString());
            }
        });
        return properties;
    }
}
