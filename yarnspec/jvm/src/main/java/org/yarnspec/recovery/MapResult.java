package org.yarnspec.recovery;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.InternalAccumulator$;
import org.apache.spark.api.python.PythonAccumulatorV2;
import org.apache.spark.sql.execution.LastAttemptAggregatingAccumulator;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.util.AccumulatorContext;
import org.apache.spark.util.AccumulatorV2;
import org.yarnspec.mapoutputs.MapBlob;
import org.yarnspec.mapoutputs.Observed;
import org.yarnspec.signature.ShuffleMetrics;
import org.yarnspec.signature.Signature;
import org.yarnspec.spark.Scala;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The counts of a finished map: the two metrics of its exchange, the updates of the program's Python accumulators, and
 * the observed rows.
 *
 * @param other the class of an accumulator that cannot be counted again in another driver; empty when there is none
 */
record MapResult(long dataSize, long recordsWritten, List<byte[]> accumulated, List<Observed> observed, String other) {
    /** Most bytes that one map may count. The journal and the next driver's heap hold them for every map. */
    static final int COUNTED_BYTES_MAX = 1 << 16;

    /** The counts of a map of a shuffle with this signature. */
    static MapResult of(Seq<AccumulatorV2<?, ?>> updates, ShuffleMetrics metrics, Signature signature) {
        // Spark leaves out counters that are 0.
        long dataSize = metrics.any() ? 0 : MapBlob.NO_METRIC;
        long records = dataSize;
        List<byte[]> accumulated = new ArrayList<>();
        List<Observed> observed = new ArrayList<>();
        String other = "";
        for (AccumulatorV2<?, ?> each : CollectionConverters.asJava(updates)) {
            if (each instanceof SQLMetric metric) {
                dataSize = metrics.isDataSize(metric.id()) ? metric.value() : dataSize;
                records = metrics.isRecords(metric.id()) ? metric.value() : records;
            } else if (each instanceof PythonAccumulatorV2 python) {
                accumulated.addAll(python.value());
            } else if (each instanceof LastAttemptAggregatingAccumulator update && placeOf(update, signature) >= 0) {
                if (!update.isZero()) {
                    observed.add(Observed.of(placeOf(update, signature), update));
                }
            } else if (!isSparks(each) && !each.isZero()) {
                other = each.getClass().getName();
            }
        }
        checkSize(
                "observe() has",
                observed.stream().mapToLong(each -> each.row().length).sum());
        checkSize(
                "accumulators get",
                accumulated.stream().mapToLong(each -> each.length).sum());
        return new MapResult(dataSize, records, accumulated, observed, other);
    }

    private static void checkSize(String who, long bytes) {
        if (bytes > COUNTED_BYTES_MAX) {
            throw new IllegalStateException(who + " " + bytes + " bytes, more than " + COUNTED_BYTES_MAX);
        }
    }

    private static int placeOf(LastAttemptAggregatingAccumulator update, Signature signature) {
        return signature.observers().indexOf(update.id());
    }

    /** Whether it is one of the counters of every task. */
    private static boolean isSparks(AccumulatorV2<?, ?> accumulator) {
        String name = Scala.orNull(accumulator.metadata().name());
        if (name == null) {
            AccumulatorV2<?, ?> registered = Scala.orNull(AccumulatorContext.get(accumulator.id()));
            name = registered == null
                    ? null
                    : Scala.orNull(registered.metadata().name());
        }
        return name != null && name.startsWith(InternalAccumulator$.MODULE$.METRICS_PREFIX());
    }

    MapBlob with(org.apache.spark.scheduler.MapStatus status) {
        return new MapBlob(status, dataSize, recordsWritten, accumulated, observed);
    }
}
