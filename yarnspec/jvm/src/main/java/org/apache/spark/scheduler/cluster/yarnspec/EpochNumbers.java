package org.apache.spark.scheduler.cluster.yarnspec;

/** Numbers of two drivers must not meet: a map's number names its files, and some writers cast it to an int. */
final class EpochNumbers {
    static final int SHUFFLES_PER_EPOCH = 1_000_000;
    static final long TASKS_PER_EPOCH = 100_000_000;
    static final int EPOCH_MAX = 21;

    private EpochNumbers() {}
}
