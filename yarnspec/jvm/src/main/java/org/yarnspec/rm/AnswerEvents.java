package org.yarnspec.rm;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.hadoop.yarn.api.protocolrecords.AllocateResponse;
import org.apache.hadoop.yarn.api.protocolrecords.RegisterApplicationMasterResponse;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.NodeReport;
import org.apache.hadoop.yarn.api.records.PreemptionContainer;
import org.apache.hadoop.yarn.api.records.PreemptionMessage;
import org.apache.hadoop.yarn.api.records.RejectedSchedulingRequest;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.proto.YarnServiceProtos.SchedulerResourceTypes;
import org.yarnspec.placement.AllocateRewriter;
import org.yarnspec.placement.RmEvents;

/** Writes down what the ResourceManager's answers say and Skein does not pass on. */
final class AnswerEvents {
    private final RmEvents events;
    private final AllocateRewriter rewriter;
    private int nodeCount = -1;
    private boolean registeredBefore;

    AnswerEvents(RmEvents events, AllocateRewriter rewriter) {
        this.events = events;
        this.rewriter = rewriter;
    }

    void registered(RegisterApplicationMasterResponse response) {
        Resource largest = response.getMaximumResourceCapability();
        List<String> kept = new ArrayList<>();
        for (Container container : response.getContainersFromPreviousAttempts()) {
            kept.add(container.getId().toString());
        }
        events.registered(
                registeredBefore,
                kept,
                largest == null ? 0 : largest.getMemorySize(),
                largest == null ? 0 : largest.getVirtualCores(),
                response.getSchedulerResourceTypes().contains(SchedulerResourceTypes.CPU));
        registeredBefore = true;
    }

    void allocated(AllocateResponse response) {
        response.getCompletedContainersStatuses().forEach(events::completed);
        nodes(response);
        preemption(response.getPreemptionMessage());
        for (RejectedSchedulingRequest rejected : response.getRejectedSchedulingRequests()) {
            events.error("the ResourceManager rejected " + rejected.getRequest() + ": " + rejected.getReason());
        }
    }

    private void nodes(AllocateResponse response) {
        List<Map<String, String>> updated = new ArrayList<>();
        for (NodeReport node : response.getUpdatedNodes()) {
            String host = node.getNodeId().getHost();
            String rack = node.getRackName() == null ? "" : node.getRackName();
            rewriter.learnHost(host, rack.isEmpty() ? null : rack);
            updated.add(Map.of("host", host, "rack", rack, "state", String.valueOf(node.getNodeState())));
        }
        if (response.getNumClusterNodes() != nodeCount || !updated.isEmpty()) {
            nodeCount = response.getNumClusterNodes();
            events.nodes(nodeCount, updated);
        }
    }

    private void preemption(PreemptionMessage message) {
        if (message == null) {
            return;
        }
        if (message.getStrictContract() != null) {
            preemption(message.getStrictContract().getContainers(), true);
        }
        if (message.getContract() != null) {
            preemption(message.getContract().getContainers(), false);
        }
    }

    private void preemption(Set<PreemptionContainer> containers, boolean strict) {
        if (containers != null && !containers.isEmpty()) {
            events.preemption(
                    containers.stream()
                            .map(each -> each.getId().toString())
                            .sorted()
                            .collect(Collectors.toList()),
                    strict);
        }
    }
}
