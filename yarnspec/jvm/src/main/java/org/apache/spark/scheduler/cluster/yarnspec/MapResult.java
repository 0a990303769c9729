package org.apache.spark.scheduler.cluster.yarnspec;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.InternalAccumulator$;
import org.apache.spark.api.python.PythonAccumulatorV2;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.util.AccumulatorContext;
import org.apache.spark.util.AccumulatorV2;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * What a finished map counted: the two metrics of its exchange, and the updates of the program's Python accumulators.
 *
 * @param other the class of an accumulator that cannot be counted again in another driver; empty when there is none
 */
record MapResult(long dataSize, long recordsWritten, List<byte[]> accumulated, String other) {
    static MapResult of(Seq<AccumulatorV2<?, ?>> updates, ShuffleMetrics metrics) {
        // Spark leaves out counters that are 0.
        long dataSize = metrics.any() ? 0 : MapBlob.NO_METRIC;
        long records = dataSize;
        List<byte[]> accumulated = new ArrayList<>();
        String other = "";
        for (AccumulatorV2<?, ?> each : CollectionConverters.asJava(updates)) {
            if (each instanceof SQLMetric metric) {
                dataSize = metrics.isDataSize(metric.id()) ? metric.value() : dataSize;
                records = metrics.isRecords(metric.id()) ? metric.value() : records;
            } else if (each instanceof PythonAccumulatorV2 python) {
                accumulated.addAll(python.value());
            } else if (!isSparks(each) && !each.isZero()) {
                other = each.getClass().getName();
            }
        }
        return new MapResult(dataSize, records, accumulated, other);
    }

    /** Whether it is one of the counters of every task. */
    private static boolean isSparks(AccumulatorV2<?, ?> accumulator) {
        String name = Scala.orNull(accumulator.metadata().name());
        if (name == null) {
            AccumulatorV2<?, ?> registered = Scala.orNull(AccumulatorContext.get(accumulator.id()));
            name = registered == null ? null : Scala.orNull(registered.metadata().name());
        }
        return name != null && name.startsWith(InternalAccumulator$.MODULE$.METRICS_PREFIX());
    }

    MapBlob with(org.apache.spark.scheduler.MapStatus status) {
        return new MapBlob(status, dataSize, recordsWritten, accumulated);
    }
}
