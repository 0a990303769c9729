package org.yarnspec.recovery;

import java.util.ArrayDeque;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** The shuffles of this driver by their numbers, and which of them read which. */
final class ShuffleTable {
    private final Map<Integer, ShuffleRecord> shuffles = new ConcurrentHashMap<>();

    /** Null when there is none. */
    ShuffleRecord get(int shuffle) {
        return shuffles.get(shuffle);
    }

    Collection<ShuffleRecord> all() {
        return shuffles.values();
    }

    /** Adds a shuffle above those that it reads; false when one of these is not recorded. */
    boolean put(ShuffleRecord record) {
        shuffles.put(record.id, record);
        boolean parentsRecordable = true;
        for (int parent : record.signature.parents()) {
            ShuffleRecord below = shuffles.get(parent);
            if (below != null) {
                below.children.add(record); // first: who finds out from now on that it has changed tells this one
                parentsRecordable &= !below.poisoned();
                if (below.changed()) {
                    record.change();
                }
            }
        }
        return parentsRecordable;
    }

    /** Marks a shuffle of which a map has given other rows, and those above it, which are returned. */
    static List<ShuffleRecord> markAbove(ShuffleRecord changing) {
        Set<ShuffleRecord> found = new LinkedHashSet<>();
        ArrayDeque<ShuffleRecord> left = new ArrayDeque<>(List.of(changing));
        while (!left.isEmpty()) {
            ShuffleRecord each = left.pop();
            each.change();
            each.children.stream().filter(found::add).forEach(left::add);
        }
        return List.copyOf(found);
    }

    /** Removes a shuffle; those above it are still reached from those below. Null when there is none. */
    ShuffleRecord remove(int shuffle) {
        synchronized (shuffles) { // two that read each other may be dropped at the same time
            ShuffleRecord record = shuffles.remove(shuffle);
            if (record == null) {
                return null;
            }
            for (ShuffleRecord below : shuffles.values()) {
                if (below.children.contains(record)) {
                    below.children.addAll(record.children);
                    below.children.remove(record);
                }
            }
            return record;
        }
    }
}
