package org.yarnspec.signature;

import org.apache.spark.ShuffleDependency;
import org.apache.spark.shuffle.ShuffleWriteProcessor;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.UnsafeRowSerializer;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.yarnspec.fingerprint.Unknown;
import org.yarnspec.spark.Fields;
import org.yarnspec.spark.Scala;
import scala.collection.Map;

/**
 * The two metrics of an exchange that adaptive execution plans with: how many bytes and how many rows went in.
 *
 * <p>Left at 0 where maps are skipped, they make Spark take the exchange for empty, and the result loses its rows.
 */
public final class ShuffleMetrics {
    public static final ShuffleMetrics NONE = new ShuffleMetrics(null, null, null);

    private static final String RECORDS = "shuffleRecordsWritten";

    private final Object all;
    private final SQLMetric dataSize;
    private final SQLMetric records;

    private ShuffleMetrics(Object all, SQLMetric dataSize, SQLMetric records) {
        this.all = all;
        this.dataSize = dataSize;
        this.records = records;
    }

    /** The metrics of a query's shuffle; of one that an RDD makes, none. */
    public static ShuffleMetrics of(ShuffleDependency<?, ?, ?> dependency) {
        if (!ofQuery(dependency)) {
            return NONE;
        }
        Object all = Fields.get(dependency.shuffleWriterProcessor(), "metrics$1");
        if (!(all instanceof Map<?, ?> metrics)
                || !(dependency.serializer() instanceof UnsafeRowSerializer serializer)
                || !(Fields.get(serializer, "dataSize") instanceof SQLMetric dataSize)
                || !(Scala.orNull(records(metrics)) instanceof SQLMetric records)) {
            throw new Unknown("its metrics are not where they are expected");
        }
        return new ShuffleMetrics(all, dataSize, records);
    }

    @SuppressWarnings("unchecked")
    private static scala.Option<Object> records(Map<?, ?> metrics) {
        return ((Map<String, Object>) metrics).get(RECORDS);
    }

    /** Whether the shuffle belongs to a query; an RDD's has Spark's plain writer. */
    static boolean ofQuery(ShuffleDependency<?, ?, ?> dependency) {
        return dependency.shuffleWriterProcessor().getClass() != ShuffleWriteProcessor.class;
    }

    boolean areOf(SparkPlan plan) {
        // An exchange writes with all its metrics, a limit with those kept for its writer; both may not be there yet.
        for (String name : new String[] {"writeMetrics", "metrics"}) {
            Object metrics = Fields.get(plan, name);
            if (metrics != null
                    && (metrics == all || metrics instanceof Map<?, ?> map && Scala.orNull(records(map)) == records)) {
                return true;
            }
        }
        return false;
    }

    public boolean any() {
        return all != null;
    }

    public boolean isDataSize(long accumulator) {
        return any() && dataSize.id() == accumulator;
    }

    public boolean isRecords(long accumulator) {
        return any() && records.id() == accumulator;
    }

    /** Counts what maps of an earlier driver wrote. */
    public void add(long bytes, long rows) {
        dataSize.add(bytes);
        records.add(rows);
    }
}
