package org.yarnspec.scheduler;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Map;
import org.apache.spark.SparkConf;
import org.apache.spark.resource.ResourceProfile;
import org.apache.spark.resource.ResourceProfile$;
import org.yarnspec.spark.Scala;
import scala.jdk.javaapi.CollectionConverters;

/** How large the executors of a resource profile are, by Spark's own rules for YARN. */
final class ProfileSizes {
    private static final String OVERHEAD = "spark.executor.memoryOverhead";
    private static final String DEFAULT_OVERHEAD = "spark.yarnspec.executor.defaultMemoryOverhead";
    private static final int LEAST_OVERHEAD_MB = 384;
    private static final double OVERHEAD_FACTOR = 0.1;

    private final SparkConf conf;
    private final boolean overheadGiven;
    private final int usualCores;
    private final long leastOverheadMb;
    private final double overheadFactor;
    private final scala.collection.immutable.Map<String, String> yarnNames;

    ProfileSizes(SparkConf conf) {
        this.conf = conf;
        // What the submit worked out from the memory that it knew is nobody's wish.
        overheadGiven = !conf.get(OVERHEAD, "").equals(conf.get(DEFAULT_OVERHEAD, ""));
        usualCores = conf.getInt("spark.executor.cores", 1);
        leastOverheadMb = conf.getSizeAsMb("spark.executor.minMemoryOverhead", LEAST_OVERHEAD_MB + "m");
        overheadFactor = conf.getDouble("spark.executor.memoryOverheadFactor", OVERHEAD_FACTOR);
        yarnNames = Scala.copyOf(Map.of(
                "gpu", conf.get("spark.yarn.resourceGpuDeviceName", "yarn.io/gpu"),
                "fpga", conf.get("spark.yarn.resourceFpgaDeviceName", "yarn.io/fpga")));
    }

    /** Tells size and number of a profile's executors: {@code ExecutorProfile} of core/messages/events.py. */
    void tell(ResourceProfile profile, int count, ObjectNode told) {
        ResourceProfile.ExecutorResourcesOrDefaults size = ResourceProfile$.MODULE$.getResourcesForClusterManager(
                profile.id(), profile.executorResources(), leastOverheadMb, overheadFactor, conf, true, yarnNames);
        // The default profile names the configuration's overhead, whoever that is from; another one its user's wish.
        boolean asConfigured = overheadGiven
                || (!ContainerBackend.isUsual(profile)
                        && profile.executorResources().contains(ResourceProfile$.MODULE$.OVERHEAD_MEM()));
        long overheadMb = asConfigured
                ? size.memoryOverheadMiB()
                : Math.max(leastOverheadMb, (long) (overheadFactor * size.executorMemoryMiB()));
        told.put("id", profile.id())
                .put("count", count)
                .put("memory_mb", size.totalMemMiB() - size.memoryOverheadMiB() + overheadMb)
                .put("heap_mb", size.executorMemoryMiB())
                .put("cores", size.cores().isDefined() ? (Integer) size.cores().get() : usualCores)
                .put("slots", Math.max(1, profile.maxTasksPerExecutor(conf)));
        ObjectNode resources = told.putObject("resources");
        CollectionConverters.asJava(size.customResources())
                .forEach((name, asked) -> resources.put(name, asked.amount()));
    }
}
