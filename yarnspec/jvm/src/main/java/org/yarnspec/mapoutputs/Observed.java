package org.yarnspec.mapoutputs;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import org.apache.spark.rdd.RDD;
import org.apache.spark.scheduler.TaskInfo;
import org.apache.spark.scheduler.TaskLocality;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.InterpretedUnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.SpecificInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.execution.LastAttemptAggregatingAccumulator;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.util.AccumulatorContext;
import org.yarnspec.spark.Fields;
import org.yarnspec.spark.Scala;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The counts of a map for one {@code observe} of its stage: the state of the aggregates, before they are merged
 * with those of other maps.
 *
 * @param place which one, in {@code Signature.observers()}
 * @param row the bytes of an UnsafeRow; its columns are those of the aggregates
 */
public record Observed(int place, byte[] row) {
    /** Before every stage, and not Spark's own word for none (-1): what a map gives that runs again replaces it. */
    private static final int NO_STAGE = -2;

    /** The counts that came with a map's result. */
    public static Observed of(int place, LastAttemptAggregatingAccumulator update) {
        List<Expression> columns = new ArrayList<>();
        for (DataType type : CollectionConverters.asJava(types(update))) {
            columns.add(new BoundReference(columns.size(), type, true));
        }
        Seq<Expression> all = CollectionConverters.asScala(columns).toList();
        UnsafeRow row = InterpretedUnsafeProjection.createProjection(all).apply(update.buffer());
        return new Observed(place, row.getBytes());
    }

    /**
     * Counts it once more as what that map gave. Not twice: Spark takes the second for a fault.
     *
     * @param observers of the shuffle's signature
     * @param rdd what the shuffle's maps compute
     */
    public void count(List<Long> observers, RDD<?> rdd, int map) throws IOException {
        LastAttemptAggregatingAccumulator own = registered(observers);
        if (own == null || rdd == null) {
            return; // the plan is gone, and with it who could ask
        }
        LastAttemptAggregatingAccumulator update = updateOf(own);
        own.merge(update);
        TaskInfo task = new TaskInfo(0, map, 0, map, 0, "", "", TaskLocality.ANY(), false);
        own.mergeLastAttempt(update, rdd, task, NO_STAGE, 0, new Properties());
    }

    /** Whether it can be counted in this driver. */
    public boolean fits(List<Long> observers) throws IOException {
        LastAttemptAggregatingAccumulator own = registered(observers);
        return own != null && !updateOf(own).isZero();
    }

    private LastAttemptAggregatingAccumulator registered(List<Long> observers) {
        boolean known = place >= 0 && place < observers.size();
        return known
                        && Scala.orNull(AccumulatorContext.get(observers.get(place)))
                                instanceof LastAttemptAggregatingAccumulator found
                ? found
                : null;
    }

    private LastAttemptAggregatingAccumulator updateOf(LastAttemptAggregatingAccumulator own) throws IOException {
        Seq<DataType> types = types(own);
        int fixed = UnsafeRow.calculateBitSetWidthInBytes(types.size()) + 8 * types.size();
        if (row.length < fixed || row.length % 8 != 0) {
            throw new IOException("what a map counted with observe() is not " + types.size() + " columns");
        }
        UnsafeRow from = new UnsafeRow(types.size());
        from.pointTo(row, row.length);
        SpecificInternalRow buffer = new SpecificInternalRow(types);
        for (int i = 0; i < types.size(); i++) {
            buffer.update(i, from.get(i, types.apply(i)));
        }
        LastAttemptAggregatingAccumulator update = own.copyAndReset();
        update.buffer_$eq(buffer);
        return update;
    }

    @SuppressWarnings("unchecked")
    private static Seq<DataType> types(LastAttemptAggregatingAccumulator accumulator) {
        return (Seq<DataType>) Fields.get(accumulator, "bufferSchema");
    }
}
