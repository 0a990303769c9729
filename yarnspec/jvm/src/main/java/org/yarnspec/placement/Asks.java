package org.yarnspec.placement;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.IntUnaryOperator;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceRequest;

/**
 * The open asks of Skein, by priority: each of its container requests has a priority of its own.
 *
 * <p>Hadoop's client sends an ask only when it changes; this table remembers the ones that stand, so that they can be
 * sent again in another form when the desired placement changes.
 */
final class Asks {

    /**
     * One standing request.
     *
     * @param profile the number of the resource profile whose executor Skein will run in the container
     * @param parts its parts by resource name (a host, a rack or {@code *})
     */
    record Ask(int priority, int profile, Map<String, ResourceRequest> parts) {

        ResourceRequest any() {
            return parts.get(ResourceRequest.ANY);
        }

        Resource capability() {
            return any().getCapability();
        }

        /** The explicit hosts that the service's own specification names. */
        List<String> hosts() {
            return parts.keySet().stream()
                    .filter(name -> !name.equals(ResourceRequest.ANY) && !name.startsWith("/"))
                    .toList();
        }
    }

    private final TreeMap<Integer, Ask> standing = new TreeMap<>();
    private final IntUnaryOperator profiles;

    /** @param profiles the number of the resource profile by a request's priority */
    Asks(IntUnaryOperator profiles) {
        this.profiles = profiles;
    }

    /** Takes in the changes of one allocate call. Absolute, so taking the same ones in twice changes nothing. */
    void learn(Collection<ResourceRequest> changes) {
        // Skein may withdraw a priority and use it again within one call: withdrawals come first.
        List<ResourceRequest> ordered = new ArrayList<>(changes);
        ordered.sort((a, b) -> Boolean.compare(a.getNumContainers() > 0, b.getNumContainers() > 0));
        Map<Integer, Map<String, ResourceRequest>> touched = new LinkedHashMap<>();
        Set<Integer> asked = new HashSet<>();
        for (ResourceRequest change : ordered) {
            int priority = change.getPriority().getPriority();
            Map<String, ResourceRequest> parts = touched.computeIfAbsent(
                    priority,
                    p -> standing.containsKey(p)
                            ? new LinkedHashMap<>(standing.get(p).parts())
                            : new LinkedHashMap<>());
            if (change.getNumContainers() > 0) {
                asked.add(priority);
                parts.put(change.getResourceName(), change);
            } else {
                ResourceRequest before = parts.get(change.getResourceName());
                if (before != null && before.getCapability().equals(change.getCapability())) {
                    parts.remove(change.getResourceName());
                }
            }
        }
        touched.forEach((priority, parts) -> {
            if (parts.containsKey(ResourceRequest.ANY)) {
                standing.put(priority, new Ask(priority, profile(priority, asked), Map.copyOf(parts)));
            } else {
                standing.remove(priority);
            }
        });
    }

    /** A request that asks may be another one than before: Skein uses a priority again that it has withdrawn. */
    private int profile(int priority, Set<Integer> asked) {
        Ask before = standing.get(priority);
        return before == null || asked.contains(priority) ? profiles.applyAsInt(priority) : before.profile();
    }

    /** Skein gets a container for this priority: its request stands no longer (Skein says so itself later). */
    void satisfied(int priority) {
        Ask ask = standing.get(priority);
        if (ask == null) {
            return;
        }
        int left = ask.any().getNumContainers() - 1;
        if (left <= 0) {
            standing.remove(priority);
        } else {
            Map<String, ResourceRequest> parts = new LinkedHashMap<>(ask.parts());
            ResourceRequest any = ResourceRequest.clone(ask.any());
            any.setNumContainers(left);
            parts.put(ResourceRequest.ANY, any);
            standing.put(priority, new Ask(priority, ask.profile(), parts));
        }
    }

    Ask get(int priority) {
        return standing.get(priority);
    }

    /** The standing requests, the oldest (lowest) priority first. */
    SortedMap<Integer, Ask> standing() {
        return standing;
    }

    /** After a registration Hadoop's client sends everything that stands anew. */
    void forget() {
        standing.clear();
    }
}
