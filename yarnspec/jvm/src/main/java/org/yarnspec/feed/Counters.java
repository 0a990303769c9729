package org.yarnspec.feed;

import org.apache.spark.executor.TaskMetrics;
import org.apache.spark.scheduler.AccumulableInfo;
import scala.Option;
import scala.collection.Iterator;
import scala.collection.immutable.Seq;

/** Fills a row's counters: records and bytes, run time, garbage collection and spill of one attempt. */
final class Counters {
    private static final String PREFIX = "internal.metrics.";
    private static final Column[] IN_HEARTBEATS = {
        Column.RECORDS_READ,
        Column.BYTES_READ,
        Column.RECORDS_WRITTEN,
        Column.BYTES_WRITTEN,
        Column.GC_MS,
        Column.SPILL_BYTES
    };

    private Counters() {}

    /**
     * From what an executor's heartbeat says of a running attempt. Spark leaves counters out that are 0, and says how
     * long an attempt ran only when it has ended.
     */
    static void fill(Row row, Seq<AccumulableInfo> updates) {
        for (Column counter : IN_HEARTBEATS) {
            row.set(counter, 0);
        }
        for (Iterator<AccumulableInfo> all = updates.iterator(); all.hasNext(); ) {
            AccumulableInfo update = all.next();
            Option<String> name = update.name();
            if (name.isDefined()
                    && name.get().startsWith(PREFIX)
                    && update.update().isDefined()) {
                Column counter = counterOf(name.get().substring(PREFIX.length()));
                if (counter != null && update.update().get() instanceof Number number) {
                    row.add(counter, number.longValue());
                }
            }
        }
    }

    private static Column counterOf(String metric) {
        return switch (metric) {
            case "input.recordsRead", "shuffle.read.recordsRead" -> Column.RECORDS_READ;
            case "input.bytesRead", "shuffle.read.remoteBytesRead", "shuffle.read.localBytesRead" -> Column.BYTES_READ;
            case "output.recordsWritten", "shuffle.write.recordsWritten" -> Column.RECORDS_WRITTEN;
            case "output.bytesWritten", "shuffle.write.bytesWritten" -> Column.BYTES_WRITTEN;
            case "jvmGCTime" -> Column.GC_MS;
            case "diskBytesSpilled" -> Column.SPILL_BYTES;
            default -> null;
        };
    }

    /** From what an ended attempt reported; nothing when it could not report. */
    static void fill(Row row, TaskMetrics metrics) {
        if (metrics == null) {
            return;
        }
        row.set(
                Column.RECORDS_READ,
                metrics.inputMetrics().recordsRead()
                        + metrics.shuffleReadMetrics().recordsRead());
        row.set(
                Column.BYTES_READ,
                metrics.inputMetrics().bytesRead()
                        + metrics.shuffleReadMetrics().totalBytesRead());
        row.set(
                Column.RECORDS_WRITTEN,
                metrics.outputMetrics().recordsWritten()
                        + metrics.shuffleWriteMetrics().recordsWritten());
        row.set(
                Column.BYTES_WRITTEN,
                metrics.outputMetrics().bytesWritten()
                        + metrics.shuffleWriteMetrics().bytesWritten());
        row.set(Column.RUN_MS, metrics.executorRunTime());
        row.set(Column.GC_MS, metrics.jvmGCTime());
        row.set(Column.SPILL_BYTES, metrics.diskBytesSpilled());
    }
}
