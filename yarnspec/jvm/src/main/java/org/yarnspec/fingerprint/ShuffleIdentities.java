package org.yarnspec.fingerprint;

/** The identities that stand for shuffles in the signatures of the shuffles above them. */
public interface ShuffleIdentities {
    /** The identity of a shuffle of this driver; throws Unknown when it has none. */
    String of(int shuffle);

    /** Whether an RDD that is kept stands for what it is made of: what is kept may be other records, or in another order. */
    default boolean keptAsWell() {
        return false;
    }
}
