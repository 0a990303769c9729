package org.yarnspec.signature;

import java.util.List;
import java.util.Set;

/**
 * The signature of a shuffle, for comparing it with one of an earlier driver.
 *
 * @param text equal for two shuffles of two drivers only when they hold the same records; empty when that is not known
 * @param kind the same, whichever write it was made for; what is made of it is told by this, and by the turns
 * @param turns for which writes it was made, and those below, where functions of the program's run
 * @param whyNot why it is not known; empty when it is
 * @param parents the shuffles of this driver that it reads
 * @param accumulates whether functions of the program that run in it add to accumulators, or rows are observed
 * @param observers the accumulators of each {@code observe} in it, in the order of its plan; in this driver
 */
public record Signature(
        String text,
        String kind,
        Set<String> turns,
        String description,
        int maps,
        int reduces,
        Determinism determinism,
        List<Integer> parents,
        boolean accumulates,
        List<Long> observers,
        String whyNot) {
    /** Spark's word for a stage that runs again: the same records, the same in another order, or others. */
    public enum Determinism {
        DETERMINATE,
        UNORDERED,
        INDETERMINATE;

        public String wire() {
            return name().toLowerCase(java.util.Locale.ROOT);
        }
    }

    public boolean known() {
        return whyNot.isEmpty();
    }

    /** A write of which nothing is known but its path. */
    public static Signature ofUnknownWrite(String path) {
        return ofUnknownWrite(path, List.of());
    }

    /** A write of which nothing is known but its path and the shuffles of RDDs that it reads. */
    public static Signature ofUnknownWrite(String path, List<Integer> parents) {
        return new Signature(
                "",
                "",
                Set.of(),
                path,
                0,
                0,
                Determinism.INDETERMINATE,
                parents,
                false,
                List.of(),
                "its plan is not known");
    }

    /** A shuffle of which nothing is known but what it reads. */
    public static Signature ofUnknownShuffle(List<Integer> parents, String why) {
        return new Signature("", "", Set.of(), "", 0, 0, Determinism.INDETERMINATE, parents, true, List.of(), why);
    }

    /** This signature, but never reused. */
    public Signature unknown(String why) {
        return new Signature(
                "", "", Set.of(), description, maps, reduces, determinism, parents, accumulates, observers, why);
    }
}
