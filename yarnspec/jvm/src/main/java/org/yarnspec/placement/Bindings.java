package org.yarnspec.placement;

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
        unacceptable.keySet().retainAll(new HashSet<>(wanted));

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

        int free = asks.standing().size() - byPriority.size();
        for (Wanted each : wanted) {
            if (free <= 0) {
                break;
            }
            if (bound.contains(each.id()) || served.contains(each.id()) || refused(each, reasonAgainst(each))) {
                continue;
            }
            if (asks.standing().values().stream().noneMatch(ask -> isFree(ask, each))) {
                continue; // Skein's request for this kind of executor is still to come
            }
            Integer priority = closest(each, asks);
            if (!refused(each, priority == null ? "it is smaller than every container that Skein asks for" : null)) {
                byPriority.put(priority, each);
                bound.add(each.id());
                free--;
                events.bound(each.id(), priority);
            }
        }
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

    private Integer closest(Wanted wanted, Asks asks) {
        Integer best = null;
        long bestGapMb = Long.MAX_VALUE;
        for (Asks.Ask ask : asks.standing().values()) {
            if (!isFree(ask, wanted) || !fits(ask, wanted)) {
                continue;
            }
            long gapMb = wanted.memoryMb() - ask.capability().getMemorySize();
            if (gapMb < bestGapMb) {
                bestGapMb = gapMb;
                best = ask.priority();
            }
            if (gapMb == 0) {
                break;
            }
        }
        return best;
    }

    /** Whether this request is for an executor of the same profile, and nothing is bound to it yet. */
    private boolean isFree(Asks.Ask ask, Wanted wanted) {
        return ask.profile() == wanted.profile() && !byPriority.containsKey(ask.priority());
    }

    private static boolean fits(Asks.Ask ask, Wanted wanted) {
        return ask.profile() == wanted.profile()
                && ask.capability().getMemorySize() <= wanted.memoryMb()
                && ask.capability().getVirtualCores() <= wanted.vcores();
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
