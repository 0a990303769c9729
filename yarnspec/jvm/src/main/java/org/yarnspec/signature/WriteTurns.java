package org.yarnspec.signature;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Tells a driver's writes to the same path apart, so that the next driver knows again which one a shuffle was made for.
 *
 * <p>What was done before tells outputs apart. Under the next driver more tries of one may fail, or fewer, so they do not count;
 * what is made for them is told apart by its number among what is made alike.
 */
public final class WriteTurns {
    private final Map<String, Integer> done = new ConcurrentHashMap<>();

    /**
     * What a shuffle is made for.
     *
     * @param doneBefore how many writes to the path were done before, or left out as they are there
     */
    public record Target(String path, int doneBefore) {
        /** The same text in the life that comes to the same output. */
        String turn() {
            return path + "#" + doneBefore;
        }
    }

    /** What is made now for a write to a path. */
    public Target to(String path) {
        return new Target(path, done.getOrDefault(path, 0));
    }

    /** It is done. */
    public void done(Target target) {
        done(target.path(), target.doneBefore());
    }

    /** One is done that was after so many others, be it in an earlier driver epoch. */
    public void done(String path, int before) {
        done.compute(path, (each, now) -> Math.max(now == null ? 0 : now, before) + 1);
    }
}
