package org.yarnspec.signature;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Tells a driver's writes to the same path apart, so that the next driver knows again which one a shuffle was made for.
 *
 * <p>Numbers each path's writes by how many succeeded before. Failed tries do not count, because the next driver may
 * fail more or less often. Shuffles of failed tries are told apart by their numbers among shuffles made alike.
 */
public final class WriteTurns {
    private final Map<String, Integer> done = new ConcurrentHashMap<>();

    /**
     * The write that a shuffle is made for.
     *
     * @param doneBefore how many writes to the path were done before, or left out as they are there
     */
    public record Target(String path, int doneBefore) {
        /** A text that is the same in each driver epoch for the same write. */
        String turn() {
            return path + "#" + doneBefore;
        }
    }

    /** The target of a shuffle that is made now for a write to a path. */
    public Target to(String path) {
        return new Target(path, done.getOrDefault(path, 0));
    }

    /** Marks the write to this target as done. */
    public void done(Target target) {
        done(target.path(), target.doneBefore());
    }

    /** Marks the write that followed {@code before} earlier writes to the path as done; also one of an earlier epoch. */
    public void done(String path, int before) {
        done.compute(path, (each, now) -> Math.max(now == null ? 0 : now, before) + 1);
    }
}
