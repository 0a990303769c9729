package org.yarnspec.placement;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.yarn.api.records.ExecutionTypeRequest;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.yarnspec.placement.DesiredPlacement.Mode;
import org.yarnspec.placement.DesiredPlacement.Rules;
import org.yarnspec.placement.DesiredPlacement.Wanted;

/** Puts one of Skein's standing requests into the form that expresses the desired placement. */
final class AskForm {
    private final Rules rules;
    private final Map<String, String> racks;

    /**
     * @param racks rack by host, for every host that is known
     */
    AskForm(Rules rules, Map<String, String> racks) {
        this.rules = rules;
        this.racks = racks;
    }

    /**
     * The form for this request.
     *
     * @param wanted the wanted container bound to it, or null
     * @param id the allocation request id to use if the form needs a fresh one
     */
    RmAsk of(Asks.Ask ask, Wanted wanted, long id) {
        if (rules.mode() == Mode.CONSTRAINTS) {
            return constrained(ask, wanted, id);
        }
        return new RmAsk.ByName(wanted == null ? plain(ask) : byName(ask, wanted), false);
    }

    private static List<ResourceRequest> plain(Asks.Ask ask) {
        return ask.parts().keySet().stream().sorted().map(ask.parts()::get).toList();
    }

    private static Resource capability(Asks.Ask ask, Wanted wanted) {
        return wanted == null
                ? ask.capability()
                : ResourceTypes.with(Resource.newInstance(wanted.memoryMb(), wanted.vcores()), wanted.resources());
    }

    private static String label(Asks.Ask ask, Wanted wanted) {
        String own = ask.any().getNodeLabelExpression();
        String label = wanted == null || wanted.label().isEmpty() ? own : wanted.label();
        return label == null ? "" : label;
    }

    private RmAsk constrained(Asks.Ask ask, Wanted wanted, long id) {
        Set<String> notHosts = new LinkedHashSet<>(rules.blockedHosts());
        List<String> hosts = List.of();
        if (wanted != null) {
            notHosts.addAll(wanted.notHosts());
            hosts = wanted.strict() ? wanted.hosts() : List.of();
        } else if (!ask.any().getRelaxLocality()) {
            hosts = ask.hosts();
        }
        List<String> open =
                hosts.stream().filter(host -> !notHosts.contains(host)).toList();
        if (!open.isEmpty()) {
            // Named hosts leave out the others by themselves: a change of the blocked hosts changes nothing here.
            hosts = open;
            notHosts.clear();
        }
        return new RmAsk.Constrained(
                id,
                ask.priority(),
                capability(ask, wanted),
                ask.any().getNumContainers(),
                rules.tags(),
                RmAsk.constraint(rules.hostAttribute(), hosts, notHosts, label(ask, wanted), rules.constraint()));
    }

    /** Strict hosts as the capacity scheduler wants them: the hosts relaxed, their racks and {@code *} not. */
    private List<ResourceRequest> byName(Asks.Ask ask, Wanted wanted) {
        List<String> hosts = new ArrayList<>(wanted.hosts());
        boolean strict = wanted.strict() && !hosts.isEmpty();
        if (strict) {
            hosts.removeAll(wanted.notHosts());
            if (hosts.isEmpty()) {
                hosts.addAll(wanted.hosts());
            }
        } else if (!wanted.notHosts().isEmpty()) {
            // The blacklist holds for the whole application: to avoid a host for one container, name all the others.
            Set<String> others = new LinkedHashSet<>(racks.keySet());
            others.removeAll(wanted.notHosts());
            others.removeAll(rules.blockedHosts());
            if (!others.isEmpty()) {
                hosts = new ArrayList<>(others);
                strict = true;
            }
        }
        Map<String, Boolean> relaxByName = new LinkedHashMap<>();
        for (String host : hosts) {
            relaxByName.put(host, true);
        }
        for (String host : hosts) {
            relaxByName.put(rack(host), !strict);
        }
        relaxByName.put(ResourceRequest.ANY, !strict);

        String label = label(ask, wanted);
        Priority priority = Priority.newInstance(ask.priority());
        Resource capability = capability(ask, wanted);
        List<ResourceRequest> parts = new ArrayList<>();
        relaxByName.forEach((name, relax) -> parts.add(ResourceRequest.newBuilder()
                .priority(priority)
                .allocationRequestId(ask.any().getAllocationRequestId())
                .resourceName(name)
                .capability(capability)
                .numContainers(ask.any().getNumContainers())
                .relaxLocality(relax)
                // The ResourceManager takes a label for the name * only, and lets it hold for the others.
                .nodeLabelExpression(label.isEmpty() || !name.equals(ResourceRequest.ANY) ? null : label)
                .executionTypeRequest(
                        ask.any().getExecutionTypeRequest() == null
                                ? ExecutionTypeRequest.newInstance()
                                : ask.any().getExecutionTypeRequest())
                .build()));
        return parts;
    }

    private String rack(String host) {
        String rack = racks.get(host);
        return rack == null ? "/default-rack" : rack;
    }
}
