package org.yarnspec.recovery;

import org.apache.spark.rdd.RDD;

/** For {@code org.yarnspec.sink}: what an RDD's records are, for a comparison with those of an earlier driver. */
public final class RddIdentity {
    private RddIdentity() {}

    /** Empty without recovery, in doubt, and when a shuffle is read: the order of its rows is another each time. */
    public static String of(RDD<?> rdd) {
        Recovery recovery = Recovery.current();
        return recovery == null ? "" : recovery.identityOf(rdd);
    }
}
