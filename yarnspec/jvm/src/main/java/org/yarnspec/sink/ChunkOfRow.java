package org.yarnspec.sink;

import org.apache.spark.api.java.function.Function;
import org.apache.spark.sql.Row;

/** The piece of a file in a row whose one column it is. */
final class ChunkOfRow implements Function<Row, byte[]> {
    private static final long serialVersionUID = 1;

    @Override
    public byte[] call(Row row) {
        return row.getAs(0);
    }
}
