package org.yarnspec.placement;

import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.hadoop.yarn.api.records.Resource;
import org.yarnspec.placement.DesiredPlacement.Wanted;

/**
 * Which wanted container is sought by which of Skein's standing requests.
 *
 * <p>Skein's requests for executors of one resource profile are interchangeable as long as the container is at least as
 * large as the request, so each wanted container takes the closest one in size, the oldest among equals.
 */
final class Bindings {
    /** Requests that are alike: of one profile and of one size. */
    private record Kind(int profile, long memoryMb, int vcores) {
        boolean fits(Wanted wanted) {
            return profile == wanted.profile() && memoryMb <= wanted.memoryMb() && vcores <= wanted.vcores();
        }
    }

    private final RmEvents events;
    private final TreeMap<Integer, Wanted> byPriority = new TreeMap<>();
    private final Set<String> served = new HashSet<>();
    private final Map<String, String> rejected = new HashMap<>();
    private final Map<Wanted, String> unacceptable = new HashMap<>();
    private long maxMemoryMb = Long.MAX_VALUE;
    private long maxVcores = Long.MAX_VALUE;
    private Resource largest;

    Bindings(RmEvents events) {
        this.events = events;
    }

    /** The largest container the ResourceManager gives: asking for more would end the application. */
    void limits(Resource largest) {
        if (largest != null && largest.getMemorySize() > 0) {
            maxMemoryMb = largest.getMemorySize();
            maxVcores = largest.getVirtualCores();
            this.largest = largest;
        }
    }

    /** Brings the bindings in line with what is wanted and what stands. */
    void match(List<Wanted> wanted, Asks asks) {
        Map<String, Wanted> current = new HashMap<>();
        wanted.forEach(each -> current.put(each.id(), each));
        served.retainAll(current.keySet());
        rejected.keySet().retainAll(current.keySet());
        if (!unacceptable.isEmpty()) {
            unacceptable.keySet().retainAll(new HashSet<>(wanted));
        }

        Set<String> bound = new HashSet<>();
        Iterator<Map.Entry<Integer, Wanted>> bindings = byPriority.entrySet().iterator();
        while (bindings.hasNext()) {
            Map.Entry<Integer, Wanted> binding = bindings.next();
            Wanted now = current.get(binding.getValue().id());
            Asks.Ask ask = asks.get(binding.getKey());
            if (now == null || ask == null || !fits(ask, now) || reasonAgainst(now) != null) {
                bindings.remove();
                events.unbound(binding.getValue().id(), binding.getKey());
            } else {
                binding.setValue(now);
                bound.add(now.id());
            }
        }

        Map<Kind, Deque<Integer>> free = asks.standing().size() > byPriority.size() ? free(asks) : Map.of();
        for (Wanted each : wanted) {
            if (free.isEmpty()) {
                break;
            }
            if (bound.contains(each.id()) || served.contains(each.id()) || refused(each, reasonAgainst(each))) {
                continue;
            }
            if (free.keySet().stream().noneMatch(kind -> kind.profile() == each.profile())) {
                continue; // Skein's request for this kind of executor is still to come
            }
            Kind kind = closest(each, free);
            if (!refused(each, kind == null ? "it is smaller than every container that Skein asks for" : null)) {
                int priority = free.get(kind).remove();
                if (free.get(kind).isEmpty()) {
                    free.remove(kind);
                }
                byPriority.put(priority, each);
                bound.add(each.id());
                events.bound(each.id(), priority);
            }
        }
    }

    /** The requests to which nothing is bound yet, the oldest (lowest) priority first: there are few kinds of them. */
    private Map<Kind, Deque<Integer>> free(Asks asks) {
        Map<Kind, Deque<Integer>> free = new HashMap<>();
        for (Asks.Ask ask : asks.standing().values()) {
            if (!byPriority.containsKey(ask.priority())) {
                Resource size = ask.capability();
                Kind kind = new Kind(ask.profile(), size.getMemorySize(), size.getVirtualCores());
                free.computeIfAbsent(kind, none -> new ArrayDeque<>()).add(ask.priority());
            }
        }
        return free;
    }

    private boolean refused(Wanted wanted, String why) {
        if (why == null) {
            rejected.remove(wanted.id());
            return false;
        }
        if (!why.equals(rejected.put(wanted.id(), why))) {
            events.rejected(wanted.id(), why);
        }
        return true;
    }

    private String reasonAgainst(Wanted wanted) {
        String why = unacceptable.get(wanted);
        if (why != null) {
            return why;
        }
        if (wanted.memoryMb() > maxMemoryMb) {
            return wanted.memoryMb() + " MiB is more than the largest container of " + maxMemoryMb + " MiB";
        }
        if (wanted.vcores() > maxVcores) {
            return wanted.vcores() + " vcores is more than the largest container of " + maxVcores + " vcores";
        }
        return ResourceTypes.reasonAgainst(wanted.resources(), largest);
    }

    /** The kind that is the closest in size, with the oldest request among equals; null when none fits. */
    private static Kind closest(Wanted wanted, Map<Kind, Deque<Integer>> free) {
        return free.keySet().stream()
                .filter(kind -> kind.fits(wanted))
                .min(Comparator.comparingLong((Kind kind) -> wanted.memoryMb() - kind.memoryMb())
                        .thenComparing(kind -> free.get(kind).peek()))
                .orElse(null);
    }

    private static boolean fits(Asks.Ask ask, Wanted wanted) {
        Resource size = ask.capability();
        return new Kind(ask.profile(), size.getMemorySize(), size.getVirtualCores()).fits(wanted);
    }

    Wanted at(int priority) {
        return byPriority.get(priority);
    }

    /** The ResourceManager refuses calls that ask for this: it stays unbound until it is wanted in another way. */
    void unacceptable(int priority, String why) {
        Wanted wanted = byPriority.get(priority);
        if (wanted != null) {
            unacceptable.put(wanted, why);
        }
    }

    /** The wanted container bound to this priority has come. */
    void served(int priority) {
        Wanted wanted = byPriority.remove(priority);
        if (wanted != null) {
            served.add(wanted.id());
        }
    }
}
