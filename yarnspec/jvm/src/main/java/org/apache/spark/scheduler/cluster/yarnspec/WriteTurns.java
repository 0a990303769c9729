package org.apache.spark.scheduler.cluster.yarnspec;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Tells a driver's writes to the same path apart, so that the next life knows again which one a shuffle was made for.
 *
 * <p>What was done before tells outputs apart, and the try those of one output. In the next life more tries may fail, or
 * fewer, so they do not count for what comes after.
 */
final class WriteTurns {
    private final Map<String, Count> counts = new ConcurrentHashMap<>();

    /** How many writes were done, or left out as they are there, and how many have begun since then. */
    private record Count(int done, int tries) {}

    /**
     * A write to a path.
     *
     * @param doneBefore how many were done before
     * @param turn the same text in the life that comes to the same write
     */
    record Target(String path, int doneBefore, String turn) {}

    /** A write begins, be it to be left out. */
    Target next(String path) {
        Count now = counts.merge(
                path, new Count(0, 1), (before, one) -> new Count(before.done(), before.tries() + 1));
        return new Target(path, now.done(), path + "#" + now.done() + "." + now.tries());
    }

    /** It is done. */
    void done(Target target) {
        done(target.path(), target.doneBefore());
    }

    /** One is done that was after so many others, be it in an earlier life. */
    void done(String path, int before) {
        counts.compute(path, (each, now) -> new Count(Math.max(now == null ? 0 : now.done(), before) + 1, 0));
    }
}
