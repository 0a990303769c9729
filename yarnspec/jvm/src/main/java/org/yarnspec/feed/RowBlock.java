package org.yarnspec.feed;

import java.util.Arrays;

/** Up to {@link #ROWS} rows as arrays, one for each column; what goes out as one Arrow batch. */
final class RowBlock {
    static final int ROWS = 8_192;
    /** The bytes of a row without its text. */
    static final int ROW_BYTES =
            Arrays.stream(Column.ALL).mapToInt(column -> column.width).sum();

    private final Object[] columns = new Object[Column.ALL.length];
    private String[] texts;
    private int rows;

    RowBlock() {
        for (Column column : Column.ALL) {
            columns[column.ordinal()] = switch (column.width) {
                case Byte.BYTES -> new byte[ROWS];
                case Integer.BYTES -> new int[ROWS];
                default -> new long[ROWS];
            };
        }
    }

    int rows() {
        return rows;
    }

    boolean full() {
        return rows == ROWS;
    }

    void add(Row row, int host, int executor) {
        for (int i = 0; i < columns.length; i++) {
            long value = row.values[i];
            if (columns[i] instanceof long[] longs) {
                longs[rows] = value;
            } else if (columns[i] instanceof int[] ints) {
                ints[rows] = (int) value;
            } else {
                ((byte[]) columns[i])[rows] = (byte) value;
            }
        }
        ints(Column.HOST)[rows] = host;
        ints(Column.EXECUTOR)[rows] = executor;
        if (row.text != null) {
            texts = texts == null ? new String[ROWS] : texts;
            texts[rows] = row.text;
        }
        rows++;
    }

    byte[] bytes(Column column) {
        return (byte[]) columns[column.ordinal()];
    }

    int[] ints(Column column) {
        return (int[]) columns[column.ordinal()];
    }

    long[] longs(Column column) {
        return (long[]) columns[column.ordinal()];
    }

    /** The text of a row; null for most. */
    String text(int row) {
        return texts == null ? null : texts[row];
    }

    boolean hasTexts() {
        return texts != null;
    }

    /** Makes it empty, to be filled again. */
    void clear() {
        rows = 0;
        texts = null;
    }
}
