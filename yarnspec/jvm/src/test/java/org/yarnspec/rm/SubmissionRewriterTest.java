package org.yarnspec.rm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.hadoop.yarn.api.records.ApplicationSubmissionContext;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.exceptions.YarnException;
import org.apache.hadoop.yarn.util.Records;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SubmissionRewriterTest {
    @TempDir
    Path directory;

    private ApplicationSubmissionContext rewritten(String wishes) throws Exception {
        ApplicationSubmissionContext context = Records.newRecord(ApplicationSubmissionContext.class);
        context.setResource(Resource.newInstance(1024, 1));
        context.setApplicationType("skein");
        context.setMaxAppAttempts(1_000_000);
        SubmissionRewriter.read(Files.writeString(directory.resolve("s.json"), wishes))
                .rewrite(context);
        return context;
    }

    @Test
    void theMasterMayRunOnTheHostsThatAreLeft() throws Exception {
        ApplicationSubmissionContext context =
                rewritten("{\"am_excluded_hosts\":[\"b\"],\"all_hosts\":[{\"host\":\"a\",\"rack\":\"/r\"},"
                        + "{\"host\":\"b\",\"rack\":\"/q\"},{\"host\":\"c\",\"rack\":\"/r\"}]}");
        Map<String, Boolean> relax = new TreeMap<>();
        context.getAMContainerResourceRequests().forEach(r -> relax.put(r.getResourceName(), r.getRelaxLocality()));
        assertEquals(Map.of("*", false, "a", true, "c", true, "/r", false), relax);
        assertEquals(
                1024,
                context.getAMContainerResourceRequests().get(0).getCapability().getMemorySize());
    }

    @Test
    void theMasterGetsItsResourceTypes() throws Exception {
        ApplicationSubmissionContext context = rewritten("{\"am_resources\":{\"acme.io/pen\":2}}");
        Resource size = context.getAMContainerResourceRequests().get(0).getCapability();
        assertEquals(1024, size.getMemorySize());
        assertEquals(2, size.getResourceValue("acme.io/pen"));
    }

    @Test
    void theRestIsSetWhenItIsGiven() throws Exception {
        ApplicationSubmissionContext context =
                rewritten("{\"application_type\":\"yarnspec\",\"priority\":3,\"tags\":[\"t\"],\"am_excluded_hosts\":[],"
                        + "\"max_attempts\":3,\"attempt_failures_validity_interval_ms\":5000,\"keep_containers\":true,"
                        + "\"log_aggregation\":{\"include\":\"std.*\"}}");
        assertEquals("yarnspec", context.getApplicationType());
        assertEquals(3, context.getPriority().getPriority());
        assertEquals(Set.of("t"), context.getApplicationTags());
        assertEquals(3, context.getMaxAppAttempts());
        assertEquals(5000, context.getAttemptFailuresValidityInterval());
        assertTrue(context.getKeepContainersAcrossApplicationAttempts());
        assertEquals("std.*", context.getLogAggregationContext().getIncludePattern());
        assertNull(context.getAMContainerResourceRequests(), "the master may run anywhere");
    }

    @Test
    void whatCannotBeUsedStopsTheSubmission() {
        assertThrows(YarnException.class, () -> rewritten("[]"));
        assertThrows(YarnException.class, () -> SubmissionRewriter.read(directory.resolve("absent")));
        assertThrows(
                YarnException.class,
                () -> rewritten("{\"am_excluded_hosts\":[\"a\"],\"all_hosts\":[{\"host\":\"a\"}]}"));
    }
}
