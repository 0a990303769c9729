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
    private final Map<String, Integer> failures = new ConcurrentHashMap<>();

    /** How many writes were done, or left out as they are there, and how many have begun since then. */
    private record Count(int done, int tries) {}

    /** What a shuffle is made for. */
    static final class Target {
        private final String path;
        private final String turn;
        private final int doneBefore;
        private boolean done;

        private Target(String path, String turn, int doneBefore) {
            this.path = path;
            this.turn = turn;
            this.doneBefore = doneBefore;
        }

        String path() {
            return path;
        }

        /** The same text in the life that comes to the same write. */
        String turn() {
            return turn;
        }

        /** How many writes to the path were done before. */
        int doneBefore() {
            return doneBefore;
        }

        synchronized boolean isDone() {
            return done;
        }

        private synchronized boolean end() {
            boolean first = !done;
            done = true;
            return first;
        }
    }

    /** A write begins, be it to be left out. */
    Target next(String path) {
        Count now = counts.merge(
                path, new Count(0, 1), (before, one) -> new Count(before.done(), before.tries() + 1));
        return new Target(path, path + "#" + now.done() + "." + now.tries(), now.done());
    }

    /**
     * Whatever is made before it is known which write it is for, and is made again for one that is left out. It is known by
     * its number among what is made alike, if nothing was made twice as a write had failed.
     */
    Target early(String path) {
        return new Target(path, path + "!" + failures.getOrDefault(path, 0), 0);
    }

    /** One of the writes to a path has failed. */
    void failed(String path) {
        failures.merge(path, 1, Integer::sum);
    }

    /** It is done, or Spark leaves what is there as it is; it counts once. */
    void done(Target target) {
        if (target.end()) {
            done(target.path(), target.doneBefore());
        }
    }

    /** One is done that was after so many others, be it in an earlier life. */
    void done(String path, int before) {
        counts.compute(path, (each, now) -> new Count(Math.max(now == null ? 0 : now.done(), before) + 1, 0));
    }
}
