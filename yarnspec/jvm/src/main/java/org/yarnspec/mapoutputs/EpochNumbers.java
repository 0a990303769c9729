package org.yarnspec.mapoutputs;

/** Numbers of two drivers must not meet: a map's number names its files, and some writers cast it to an int. */
public final class EpochNumbers {
    public static final int SHUFFLES_PER_EPOCH = 1_000_000;
    public static final long TASKS_PER_EPOCH = 50_000_000;
    public static final int EPOCH_MAX = 41;

    private EpochNumbers() {}
}
