package org.apache.spark.scheduler.cluster.yarnspec;

/** Something of which nobody can say whether it will be the same in the next driver; what depends on it is not reused. */
final class Unknown extends RuntimeException {
    private static final long serialVersionUID = 1;

    Unknown(String why) {
        super(why, null, false, false);
    }

    static Unknown kind(String what, Object object) {
        return new Unknown(what + " of the kind " + object.getClass().getName() + " is not known");
    }
}
