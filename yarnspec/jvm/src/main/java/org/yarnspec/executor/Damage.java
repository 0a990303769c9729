package org.yarnspec.executor;

/** A map output's files are not what they were; the message is a short fixed phrase that can be counted. */
final class Damage extends Exception {
    private static final long serialVersionUID = 1;

    Damage(String why) {
        super(why, null, false, false);
    }
}
