package org.apache.spark.scheduler.cluster.yarnspec;

import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Tells alike shuffles of a driver's writes apart, so that the next life knows again which write each was made for.
 *
 * <p>What was done before tells outputs apart, and the try those of one output. In the next life more tries may fail, or
 * fewer, so they do not count for what comes after. Nor do writes that have no such shuffle: threads may come to them in
 * any order.
 */
final class WriteTurns {
    private static final Turn FIRST = new Turn(0, 1);

    private final Map<String, Turn> counts = new ConcurrentHashMap<>();
    /** Of what each that was made for a write is one. */
    private final Map<String, String> kinds = new ConcurrentHashMap<>();

    /** How many writes with such a shuffle were done before, or left out as done, and which one it is since then. */
    private record Turn(int done, int tried) {}

    /** A write of this driver that is about to be done, or to be left out. */
    Target to(String path) {
        return new Target(path);
    }

    /** A write with these shuffles is done, or left out; by what they are, how many with such a one were done before. */
    void done(Map<String, Integer> before) {
        before.forEach((shuffle, done) -> counts.merge(
                shuffle, new Turn(done + 1, 0), (now, then) -> new Turn(Math.max(now.done() + 1, then.done()), 0)));
    }

    /** What a shuffle is made for. */
    final class Target {
        private final String path;
        private final Map<String, Turn> turns = new ConcurrentHashMap<>();

        private Target(String path) {
            this.path = path;
        }

        String path() {
            return path;
        }

        /** What a shuffle is that is made for this one of all writes with such a shuffle. */
        String own(String shuffle) {
            Turn turn = turns.computeIfAbsent(
                    shuffle,
                    each -> counts.merge(each, FIRST, (now, first) -> new Turn(now.done(), now.tried() + 1)));
            String own = new Fingerprint().add(shuffle).add(turn.done()).add(turn.tried()).hex();
            kinds.put(own, shuffle);
            return own;
        }

        /** It reads a shuffle that is there, perhaps since it was tried before. */
        void reads(String own) {
            String shuffle = kinds.get(own);
            if (shuffle != null) {
                turns.computeIfAbsent(shuffle, counts::get);
            }
        }

        /** For {@link #done}. */
        Map<String, Integer> doneBefore() {
            Map<String, Integer> before = new TreeMap<>();
            turns.forEach((shuffle, turn) -> before.put(shuffle, turn.done()));
            return before;
        }
    }
}
