package org.apache.spark.scheduler.cluster.yarnspec;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Tells a driver's writes of the same to the same path apart, so that each is known again in the next life.
 *
 * <p>What was done before tells outputs apart, and the try those of one output. In the next life more tries may fail, or
 * fewer, so they do not count for what comes after. Nor do writes of something else: threads may come to them in any order.
 */
final class WriteTurns {
    private final Map<Alike, Count> counts = new ConcurrentHashMap<>();

    /** Writes of the same to the same path; of those with an empty signature it is not known what they write. */
    private record Alike(String path, String signature) {}

    private record Count(int done, int tries) {
        private static final Count NONE = new Count(0, 0);
    }

    /**
     * Which of the writes it is.
     *
     * @param done how many alike were done before, or left out as an earlier driver has done them
     * @param text what it has in common with the same one of another life alone
     */
    record Turn(String path, String signature, int done, String text) {}

    /** A write begins, be it to be left out. */
    Turn next(String path, String signature) {
        Count now = counts.merge(
                new Alike(path, signature), new Count(0, 1), (before, one) -> new Count(before.done(), before.tries() + 1));
        // What is known now may have been unknown in another life, and has counted there among those.
        Count unknown = counts.getOrDefault(new Alike(path, ""), Count.NONE);
        String text = path + "#" + signature + "#" + now + unknown;
        return new Turn(path, signature, now.done(), text);
    }

    /** It is done; {@code before}: how many were before it, when an earlier driver did it. */
    void done(Turn turn, int before) {
        counts.computeIfPresent(
                new Alike(turn.path(), turn.signature()),
                (each, count) -> new Count(Math.max(count.done(), before) + 1, 0));
    }
}
