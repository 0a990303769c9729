package org.yarnspec.placement;

import java.net.URI;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.IntUnaryOperator;
import org.apache.hadoop.yarn.api.protocolrecords.AllocateRequest;
import org.apache.hadoop.yarn.api.protocolrecords.AllocateResponse;
import org.apache.hadoop.yarn.api.protocolrecords.RegisterApplicationMasterResponse;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerStatus;
import org.apache.hadoop.yarn.api.records.ResourceBlacklistRequest;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.yarnspec.placement.DesiredPlacement.Rules;
import org.yarnspec.placement.DesiredPlacement.Wanted;

/**
 * Turns Skein's allocate calls into calls that express the desired placement, and Skein's view of the answers likewise.
 *
 * <p>It keeps books of what the ResourceManager was told and sends the difference. The books change only when a call
 * has succeeded, and a call that is repeated (Hadoop's retry policies sit above) is repeated word for word: the
 * ResourceManager answers a repeated call from memory and does not look at what it says.
 */
public final class AllocateRewriter {

    /** A call as it goes out, with the books as they will be once it has succeeded. */
    private record Plan(
            AllocateRequest received,
            AllocateRequest sent,
            long version,
            TreeMap<Integer, RmAsk> told,
            Map<Integer, Grounds> grounds,
            ResourceBlacklistRequest blacklist,
            String trackingUrl,
            Set<ContainerId> releases) {}

    /** What an ask was formed from: its form stays the same while these do. */
    private record Grounds(Asks.Ask ask, Wanted wanted, Rules rules) {
        boolean are(Grounds now) {
            // The rules name all hosts, so equal ones are one object; an ask is replaced when Skein changes it.
            return ask == now.ask && rules == now.rules && wanted.equals(now.wanted);
        }
    }

    private final RmEvents events;
    private final Asks asks;
    private final Bindings bindings;
    private final Blacklist blacklist = new Blacklist();
    private final Map<String, String> racks = new HashMap<>();
    private final Set<ContainerId> dropped = new TreeSet<>();
    private Set<ContainerId> released = new TreeSet<>();
    private TreeMap<Integer, RmAsk> told = new TreeMap<>();
    private Map<Integer, Grounds> grounds = new HashMap<>();
    private Rules rules = DesiredPlacement.NONE.rules();
    private String registeredUrl;
    private String toldUrl;
    private long nextId = 1;
    private long acknowledged;
    private Plan plan;

    /** @param profiles the number of the resource profile by the priority of one of Skein's requests */
    public AllocateRewriter(RmEvents events, IntUnaryOperator profiles) {
        this.events = events;
        this.asks = new Asks(profiles);
        this.bindings = new Bindings(events);
    }

    /** A registration succeeded: the ResourceManager knows nothing of this attempt's asks, hosts and releases. */
    public void registered(String trackingUrl, RegisterApplicationMasterResponse response) {
        ResourceTypes.learn(response.getResourceTypes());
        asks.forget();
        told = new TreeMap<>();
        grounds = new HashMap<>();
        blacklist.forget();
        released = new TreeSet<>();
        registeredUrl = trackingUrl;
        toldUrl = trackingUrl;
        plan = null;
        bindings.limits(response.getMaximumResourceCapability());
    }

    /** The call to make in the place of this one. */
    public AllocateRequest rewrite(AllocateRequest request, DesiredPlacement placement) {
        if (plan != null && plan.received == request) {
            return plan.sent;
        }
        plan = null;
        asks.learn(request.getAskList());
        racks.putAll(placement.rules().racks());
        bindings.match(placement.wanted(), asks);
        plan = plan(request, placement);
        return plan.sent;
    }

    private Plan plan(AllocateRequest request, DesiredPlacement placement) {
        TreeMap<Integer, RmAsk> after = new TreeMap<>();
        Map<Integer, Grounds> groundsAfter = new HashMap<>();
        RmAsk.Lines lines = new RmAsk.Lines();
        if (!rules.equals(placement.rules())) {
            rules = placement.rules();
        }
        AskForm form = new AskForm(rules, racks);
        told.forEach((priority, before) -> {
            if (asks.get(priority) == null) {
                before.withdraw(lines);
            }
        });
        for (Asks.Ask ask : asks.standing().values()) {
            RmAsk before = told.get(ask.priority());
            Wanted wanted = bindings.at(ask.priority());
            if (wanted == null) { // Skein's own request does not say how large the container has to be
                if (before != null) {
                    before.withdraw(lines);
                }
                continue;
            }
            Grounds now = new Grounds(ask, wanted, rules);
            groundsAfter.put(ask.priority(), now);
            if (before != null && grounds.containsKey(ask.priority()) && now.are(grounds.get(ask.priority()))) {
                after.put(ask.priority(), before);
                continue;
            }
            RmAsk wish = form.of(ask, wanted, nextId);
            if (before != null && before.says(wish)) {
                after.put(ask.priority(), before);
                continue;
            }
            nextId++;
            if (before == null) {
                wish.ask(lines);
            } else {
                wish.replace(before, lines);
            }
            after.put(ask.priority(), wish);
        }

        Set<String> blacklisted = rules.mode() == DesiredPlacement.Mode.BLACKLIST ? rules.blockedHosts() : Set.of();
        ResourceBlacklistRequest difference = blacklist.difference(blacklisted, racks.keySet());
        String url = trackingUrl(placement.trackingUrl());
        Set<ContainerId> releases = new TreeSet<>(dropped);
        releases.removeAll(released);
        List<ContainerId> allReleases = new ArrayList<>(request.getReleaseList());
        releases.stream().filter(id -> !allReleases.contains(id)).forEach(allReleases::add);

        AllocateRequest sent = AllocateRequest.newBuilder()
                .responseId(request.getResponseId())
                .progress(request.getProgress())
                .askList(lines.requests())
                .releaseList(allReleases)
                .resourceBlacklistRequest(merged(difference, request.getResourceBlacklistRequest()))
                .updateRequests(request.getUpdateRequests())
                .schedulingRequests(lines.constrained())
                .build();
        if (!Objects.equals(url, toldUrl)) {
            sent.setTrackingUrl(url);
        } else if (request.getTrackingUrl() != null) {
            sent.setTrackingUrl(request.getTrackingUrl());
        }
        return new Plan(request, sent, placement.version(), after, groundsAfter, difference, url, releases);
    }

    /** The wished address; a path becomes one on Skein's own web server. */
    private String trackingUrl(String wished) {
        if (wished == null || (wished.startsWith("/") && registeredUrl == null)) {
            return registeredUrl;
        }
        return wished.startsWith("/")
                ? URI.create(registeredUrl).resolve(wished).toString()
                : wished;
    }

    /** Skein's own blacklist is always empty; whatever a future one says stays in, ours goes before it. */
    private static ResourceBlacklistRequest merged(ResourceBlacklistRequest ours, ResourceBlacklistRequest theirs) {
        if (theirs == null) {
            return ours;
        }
        Set<String> additions = new LinkedHashSet<>(ours.getBlacklistAdditions());
        additions.addAll(theirs.getBlacklistAdditions());
        Set<String> removals = new LinkedHashSet<>(ours.getBlacklistRemovals());
        removals.addAll(theirs.getBlacklistRemovals());
        removals.removeAll(additions);
        return ResourceBlacklistRequest.newInstance(new ArrayList<>(additions), new ArrayList<>(removals));
    }

    /** Nothing could be made of this call, and it goes out as it is: note what the ResourceManager is told by it. */
    public void passedThrough(AllocateRequest request) {
        plan = null;
        grounds = new HashMap<>();
        asks.learn(request.getAskList());
        for (ResourceRequest any : request.getAskList()) {
            Asks.Ask ask = asks.get(any.getPriority().getPriority());
            if (ask != null && !(told.get(ask.priority()) instanceof RmAsk.Constrained)) {
                told.put(
                        ask.priority(), new RmAsk.ByName(List.copyOf(ask.parts().values()), false));
            }
        }
    }

    /**
     * The ResourceManager found something wrong with what the call asks for (a label that does not exist, say).
     *
     * @return whether the call should be made again without the wishes that were new in it
     */
    public boolean refused(String why) {
        if (plan == null) {
            return false;
        }
        Set<Integer> suspects = new TreeSet<>();
        for (Map.Entry<Integer, RmAsk> ask : plan.told.entrySet()) {
            if (told.get(ask.getKey()) != ask.getValue() && bindings.at(ask.getKey()) != null) {
                suspects.add(ask.getKey());
            }
        }
        // Sizes were checked before, so a label is the likely cause; the others only fall under suspicion without one.
        if (suspects.stream().anyMatch(this::hasLabel)) {
            suspects.removeIf(priority -> !hasLabel(priority));
        }
        suspects.forEach(priority -> bindings.unacceptable(priority, why));
        plan = null;
        return !suspects.isEmpty();
    }

    private boolean hasLabel(int priority) {
        return !bindings.at(priority).label().isEmpty();
    }

    /** The call that {@link #rewrite} made has succeeded. */
    public void succeeded() {
        if (plan == null) {
            return;
        }
        told = plan.told;
        grounds = plan.grounds;
        blacklist.told(plan.blacklist);
        toldUrl = plan.trackingUrl;
        released.addAll(plan.releases);
        if (plan.version > acknowledged) {
            acknowledged = plan.version;
            events.acknowledged(acknowledged);
        }
        plan = null;
    }

    /**
     * Takes containers on blocked hosts out of the answer, to be released and asked for again with the next call.
     *
     * @param placement the state in force now, which may be newer than the one that the call carried
     */
    public void filter(AllocateResponse response, DesiredPlacement placement) {
        List<Container> kept = new ArrayList<>();
        List<Container> arrived = List.copyOf(response.getAllocatedContainers());
        for (Container container : arrived) {
            if (accept(container, placement)) {
                kept.add(container);
            }
        }
        if (kept.size() < arrived.size()) {
            response.setAllocatedContainers(kept);
        }
        for (ContainerStatus status : response.getCompletedContainersStatuses()) {
            dropped.remove(status.getContainerId());
            released.remove(status.getContainerId());
        }
    }

    private boolean accept(Container container, DesiredPlacement placement) {
        int priority = container.getPriority().getPriority();
        String host = container.getNodeId().getHost();
        long memoryMb = container.getResource().getMemorySize();
        Asks.Ask ask = asks.get(priority);
        Wanted wanted = bindings.at(priority);
        String wantedId = wanted == null ? null : wanted.id();
        // Skein gives a container that is too small back without asking again, so it must not see one.
        boolean welcome = !placement.rules().blockedHosts().contains(host)
                && (ask == null || memoryMb >= ask.capability().getMemorySize())
                && (wanted == null ? ask == null : wanted.accepts(host, memoryMb));
        spend(priority, container.getAllocationRequestId());
        if (!welcome) {
            dropped.add(container.getId());
            events.dropped(container, wantedId);
            return false;
        }
        if (ask != null) {
            asks.satisfied(priority);
            bindings.served(priority);
            events.allocated(container, wantedId);
        }
        // One too many (an ask was changed while its container was on the way): Skein gives it back by itself.
        return true;
    }

    /** The ResourceManager counts one container less for this ask than the books say. */
    private void spend(int priority, long allocationRequestId) {
        grounds.remove(priority);
        RmAsk ask = told.get(priority);
        if (ask instanceof RmAsk.ByName names) {
            told.put(priority, new RmAsk.ByName(names.parts(), true));
        } else if (ask instanceof RmAsk.Constrained constrained && constrained.id() == allocationRequestId) {
            if (constrained.count() <= 1) {
                told.remove(priority);
            } else {
                told.put(
                        priority,
                        new RmAsk.Constrained(
                                constrained.id(),
                                priority,
                                constrained.capability(),
                                constrained.count() - 1,
                                constrained.tags(),
                                constrained.constraint()));
            }
        }
    }

    /** A host that the ResourceManager reported. */
    public void learnHost(String host, String rack) {
        racks.put(host, rack);
        grounds = new HashMap<>();
    }
}
