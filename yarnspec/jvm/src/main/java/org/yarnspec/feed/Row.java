package org.yarnspec.feed;

import java.util.Arrays;

/** One row on its way into the feed; each thread that tells rows fills one of its own again and again. */
final class Row {
    /** The kind of news in a row: {@code RowKind} of yarnspec/core/messages/observations.py. */
    enum RowKind {
        STAGE_STARTED,
        TASK_STARTED,
        TASK_COUNTERS,
        TASK_ENDED,
        STAGE_ENDED;

        private final int number = ordinal() + 1;
    }

    /** How an attempt stands: {@code State} of yarnspec/core/messages/observations.py, by position. */
    enum State {
        RUNNING,
        SUCCESS,
        FAILED,
        KILLED
    }

    private RowKind kind;
    final long[] values = new long[Column.ALL.length];
    String host;
    String executor;
    String text;

    /** Forgets what was in the row and begins one of another kind. */
    Row begin(RowKind kind, long timeMs, int stage, int stageAttempt) {
        Arrays.fill(values, -1);
        host = null;
        executor = null;
        text = null;
        this.kind = kind;
        return set(Column.KIND, kind.number)
                .set(Column.TIME_MS, timeMs)
                .set(Column.STAGE, stage)
                .set(Column.STAGE_ATTEMPT, stageAttempt);
    }

    RowKind kind() {
        return kind;
    }

    Row set(Column column, long value) {
        values[column.ordinal()] = value;
        return this;
    }

    /** Adds to a counter that begins at 0. */
    void add(Column column, long value) {
        values[column.ordinal()] += value;
    }

    Row state(State state) {
        return set(Column.STATE, state.ordinal());
    }

    Row text(String newText) {
        text = newText;
        return this;
    }
}
