package org.yarnspec.feed;

/**
 * The columns of the feed, in the order in which they travel: {@code COLUMNS} of yarnspec/core/messages/observations.py.
 *
 * <p>A number that is not known, or that says nothing about a row's kind, is -1.
 */
enum Column {
    KIND(Byte.BYTES),
    TIME_MS(Long.BYTES),
    STAGE(Integer.BYTES),
    STAGE_ATTEMPT(Integer.BYTES),
    INDEX(Integer.BYTES),
    PARTITION(Integer.BYTES),
    ATTEMPT(Integer.BYTES),
    TASK_ID(Long.BYTES),
    HOST(Integer.BYTES),
    EXECUTOR(Integer.BYTES),
    SPECULATIVE(Byte.BYTES),
    STATE(Byte.BYTES),
    FAILURE(Byte.BYTES),
    LAUNCH_MS(Long.BYTES),
    FINISH_MS(Long.BYTES),
    INPUT_BYTES(Long.BYTES),
    RECORDS_READ(Long.BYTES),
    BYTES_READ(Long.BYTES),
    RECORDS_WRITTEN(Long.BYTES),
    BYTES_WRITTEN(Long.BYTES),
    RUN_MS(Long.BYTES),
    GC_MS(Long.BYTES),
    SPILL_BYTES(Long.BYTES),
    TASKS(Integer.BYTES),
    FLAGS(Integer.BYTES),
    PROFILE(Integer.BYTES);

    static final Column[] ALL = values();
    static final String TEXT = "text";

    final int width;

    Column(int width) {
        this.width = width;
    }

    /** True for the two that hold a code into the feed's {@link Names} here and text on the wire. */
    boolean named() {
        return this == HOST || this == EXECUTOR;
    }

    String wireName() {
        return name().toLowerCase(java.util.Locale.ROOT);
    }
}
