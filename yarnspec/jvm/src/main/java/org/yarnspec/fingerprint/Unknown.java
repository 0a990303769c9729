package org.yarnspec.fingerprint;

/** Something of which nobody can say whether it will be the same in the next driver; what depends on it is not reused. */
public final class Unknown extends RuntimeException {
    private static final long serialVersionUID = 1;

    public Unknown(String why) {
        super(why, null, false, false);
    }

    public static Unknown kind(String what, Object object) {
        return new Unknown(what + " of the kind " + object.getClass().getName() + " is not known");
    }
}
