package org.yarnspec.rm;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.yarn.api.records.ApplicationSubmissionContext;
import org.apache.hadoop.yarn.api.records.LogAggregationContext;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.exceptions.YarnException;
import org.yarnspec.placement.ResourceTypes;

/**
 * Adds to an application's submission what Skein's specification cannot say, as the gateway wrote it down.
 *
 * <p>The most important part is where the application master's own container may run: it is placed before anything of
 * ours runs on the cluster, and again for each attempt.
 */
final class SubmissionRewriter {
    private static final ObjectMapper JSON = new ObjectMapper();

    private final JsonNode wishes;

    SubmissionRewriter(JsonNode wishes) {
        this.wishes = wishes;
    }

    /** Reads the gateway's file; a file that cannot be used stops the submission. */
    static SubmissionRewriter read(Path path) throws YarnException {
        try {
            JsonNode wishes = JSON.readTree(Files.readAllBytes(path));
            if (wishes == null || !wishes.isObject()) {
                throw new IOException("not a JSON object");
            }
            return new SubmissionRewriter(wishes);
        } catch (IOException unusable) {
            // Not an IOException: Hadoop's client would try those again for a quarter of an hour.
            throw new YarnException("cannot use the submission's settings in " + path, unusable);
        }
    }

    void rewrite(ApplicationSubmissionContext context) throws YarnException {
        if (wishes.hasNonNull("application_type")) {
            context.setApplicationType(wishes.get("application_type").asText());
        }
        if (wishes.hasNonNull("priority")) {
            context.setPriority(Priority.newInstance(wishes.get("priority").asInt()));
        }
        if (wishes.hasNonNull("tags")) {
            context.setApplicationTags(new LinkedHashSet<>(texts("tags")));
        }
        if (wishes.hasNonNull("max_attempts")) {
            context.setMaxAppAttempts(wishes.get("max_attempts").asInt());
        }
        if (wishes.path("attempt_failures_validity_interval_ms").asLong(-1) > 0) {
            context.setAttemptFailuresValidityInterval(
                    wishes.get("attempt_failures_validity_interval_ms").asLong());
        }
        if (wishes.hasNonNull("keep_containers")) {
            context.setKeepContainersAcrossApplicationAttempts(
                    wishes.get("keep_containers").asBoolean());
        }
        if (wishes.hasNonNull("log_aggregation")) {
            context.setLogAggregationContext(logAggregation(wishes.get("log_aggregation")));
        }
        masterPlacement(context);
    }

    private static LogAggregationContext logAggregation(JsonNode patterns) {
        String none = "";
        String all = ".*";
        // The first pair is for files that are there when the application ends, the second for those of a running one.
        return LogAggregationContext.newInstance(
                patterns.path("include").asText(all),
                patterns.path("exclude").asText(none),
                patterns.path("rolled_include").asText(none),
                patterns.path("rolled_exclude").asText(all));
    }

    private void masterPlacement(ApplicationSubmissionContext context) throws YarnException {
        String label =
                wishes.hasNonNull("am_node_label") ? wishes.get("am_node_label").asText() : null;
        Set<String> excluded = new LinkedHashSet<>(texts("am_excluded_hosts"));
        Map<String, Long> resources = new LinkedHashMap<>();
        JsonNode amounts = wishes.path("am_resources");
        amounts.fieldNames()
                .forEachRemaining(name -> resources.put(name, amounts.get(name).asLong()));
        if (excluded.isEmpty() && label == null && resources.isEmpty()) {
            return;
        }
        ResourceTypes.trust(resources.keySet());
        Resource size = ResourceTypes.with(masterSize(context), resources);
        if (label == null) {
            label = masterLabel(context);
        }
        Map<String, Boolean> relaxByName = new LinkedHashMap<>();
        if (excluded.isEmpty()) {
            relaxByName.put(ResourceRequest.ANY, true);
        } else {
            relaxByName.put(ResourceRequest.ANY, false);
            Set<String> racks = new LinkedHashSet<>();
            for (JsonNode each : wishes.path("all_hosts")) {
                String host = each.path("host").asText();
                if (!excluded.contains(host)) {
                    relaxByName.put(host, true);
                    racks.add(each.path("rack").asText("/default-rack"));
                }
            }
            if (racks.isEmpty()) {
                throw new YarnException("every host is excluded, so the application master has no host to run on");
            }
            racks.forEach(rack -> relaxByName.put(rack, false));
        }
        List<ResourceRequest> requests = new ArrayList<>();
        for (Map.Entry<String, Boolean> entry : relaxByName.entrySet()) {
            requests.add(ResourceRequest.newBuilder()
                    .priority(Priority.newInstance(0))
                    .resourceName(entry.getKey())
                    .capability(size)
                    .numContainers(1)
                    .relaxLocality(entry.getValue())
                    .nodeLabelExpression(label)
                    .build());
        }
        context.setAMContainerResourceRequests(requests);
    }

    private static Resource masterSize(ApplicationSubmissionContext context) {
        List<ResourceRequest> given = context.getAMContainerResourceRequests();
        return given == null || given.isEmpty()
                ? context.getResource()
                : given.get(0).getCapability();
    }

    private static String masterLabel(ApplicationSubmissionContext context) {
        List<ResourceRequest> given = context.getAMContainerResourceRequests();
        return given == null || given.isEmpty() ? null : given.get(0).getNodeLabelExpression();
    }

    private List<String> texts(String name) {
        List<String> texts = new ArrayList<>();
        wishes.path(name).forEach(each -> texts.add(each.asText()));
        return texts;
    }
}
