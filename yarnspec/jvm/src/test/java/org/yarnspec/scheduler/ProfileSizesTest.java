package org.yarnspec.scheduler;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.spark.SparkConf;
import org.apache.spark.resource.ExecutorResourceRequests;
import org.apache.spark.resource.ResourceProfile;
import org.apache.spark.resource.ResourceProfile$;
import org.apache.spark.resource.ResourceProfileBuilder;
import org.apache.spark.resource.TaskResourceRequests;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class ProfileSizesTest {
    private final SparkConf conf = new SparkConf(false)
            .set("spark.master", "yarn")
            .set("spark.executor.memory", "1g")
            .set("spark.executor.memoryOverhead", "384m")
            .set("spark.yarnspec.executor.defaultMemoryOverhead", "384m")
            .set("spark.executor.cores", "3");

    @BeforeEach
    void beginAsASparkContextDoes() {
        ResourceProfile$.MODULE$.clearDefaultProfile();
        ResourceProfile$.MODULE$.getOrCreateDefaultProfile(conf); // it has the number 0
    }

    private ObjectNode told(ResourceProfile profile) {
        ObjectNode told = new ObjectMapper().createObjectNode();
        new ProfileSizes(conf).tell(profile, 5, told);
        return told;
    }

    private static ResourceProfile profile(ExecutorResourceRequests executors) {
        return new ResourceProfileBuilder()
                .require(executors)
                .require(new TaskResourceRequests().cpus(2).resource("gpu", 0.5))
                .build();
    }

    @Test
    void aProfilesExecutorsAreAsLargeAsSparkMakesThemOnYarn() {
        ResourceProfile profile =
                profile(new ExecutorResourceRequests().memory("6g").cores(4).resource("gpu", 1, "find", ""));
        ObjectNode told = told(profile);
        assertEquals(profile.id(), told.get("id").intValue());
        assertEquals(5, told.get("count").intValue());
        assertEquals(6144, told.get("heap_mb").intValue());
        assertEquals(6144 + 614, told.get("memory_mb").intValue(), "the overhead follows from its own memory");
        assertEquals(4, told.get("cores").intValue());
        assertEquals(2, told.get("slots").intValue(), "cores for two, and one GPU that two share");
        assertEquals("{\"yarn.io/gpu\":1}", told.get("resources").toString());
    }

    @Test
    void theSizeThatAProgramSetsIsThatOfItsUsualExecutors() {
        conf.set("spark.executor.memory", "6g").set("spark.executor.cores", "2");
        ResourceProfile$.MODULE$.clearDefaultProfile();
        ResourceProfile usual = ResourceProfile$.MODULE$.getOrCreateDefaultProfile(conf);
        ObjectNode told = told(usual);
        assertEquals(0, told.get("id").intValue());
        assertEquals(6144, told.get("heap_mb").intValue());
        assertEquals(6144 + 614, told.get("memory_mb").intValue(), "the overhead was worked out for 1g");
        assertEquals(2, told.get("cores").intValue());
        assertEquals(2, told.get("slots").intValue());
        conf.set("spark.executor.memoryOverhead", "1g");
        ResourceProfile$.MODULE$.clearDefaultProfile();
        usual = ResourceProfile$.MODULE$.getOrCreateDefaultProfile(conf);
        assertEquals(6144 + 1024, told(usual).get("memory_mb").intValue());
    }

    @Test
    void theUsersOverheadHoldsForEveryProfileThatSaysNothingElse() {
        conf.remove("spark.yarnspec.executor.defaultMemoryOverhead");
        conf.set("spark.yarn.resourceGpuDeviceName", "acme.io/gpu");
        ObjectNode told =
                told(profile(new ExecutorResourceRequests().memory("6g").resource("gpu", 1, "find", "")));
        assertEquals(6144 + 384, told.get("memory_mb").intValue());
        assertEquals(3, told.get("cores").intValue(), "as the usual executors");
        assertEquals("{\"acme.io/gpu\":1}", told.get("resources").toString());
        told = told(profile(new ExecutorResourceRequests()
                .memory("6g")
                .memoryOverhead("100m")
                .pysparkMemory("200m")
                .resource("gpu", 1, "find", "")));
        assertEquals(6144 + 100 + 200, told.get("memory_mb").intValue());
    }
}
