package org.yarnspec.placement;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.yarn.api.records.ResourceBlacklistRequest;

/**
 * The difference between the hosts that are to be blacklisted and what the ResourceManager was told.
 *
 * <p>After a registration nothing is known about the ResourceManager's list: an earlier attempt may have left hosts on
 * it. So every host whose state was not told since is told, the ones that are free included.
 */
final class Blacklist {
    private final Map<String, Boolean> told = new HashMap<>();

    /** The change from what was told to {@code blocked}, for all hosts in {@code known} and those told before. */
    ResourceBlacklistRequest difference(Set<String> blocked, Set<String> known) {
        Set<String> hosts = new LinkedHashSet<>(blocked);
        hosts.addAll(known);
        hosts.addAll(told.keySet());
        List<String> additions = new ArrayList<>();
        List<String> removals = new ArrayList<>();
        for (String host : hosts) {
            boolean block = blocked.contains(host);
            Boolean before = told.get(host);
            if (before == null || before != block) {
                (block ? additions : removals).add(host);
            }
        }
        return ResourceBlacklistRequest.newInstance(additions, removals);
    }

    /** The ResourceManager has received this. */
    void told(ResourceBlacklistRequest difference) {
        difference.getBlacklistAdditions().forEach(host -> told.put(host, true));
        difference.getBlacklistRemovals().forEach(host -> told.put(host, false));
    }

    /** A registration: what the ResourceManager holds is unknown again. */
    void forget() {
        told.clear();
    }
}
