package org.yarnspec.fingerprint;

/** What stands for a shuffle in the signatures of those above it. */
public interface ShuffleIdentities {
    /** The identity of a shuffle of this driver; throws Unknown when it has none. */
    String of(int shuffle);

    /** Whether an RDD that is kept stands for what it is made of: what is kept may be other records, or in another order. */
    default boolean keptAsWell() {
        return false;
    }
}
