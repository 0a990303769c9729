package org.yarnspec.write;

import java.util.List;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.LocalTableScanExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.SparkStrategy;
import org.apache.spark.sql.execution.datasources.InsertIntoHadoopFsRelationCommand;
import org.yarnspec.spark.Scala;
import scala.Function1;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/** Where a session of Spark's asks {@link Writes}: when it plans a write, and when a DataFrame gets an input. */
public final class WriteExtensions extends AbstractFunction1<SparkSessionExtensions, BoxedUnit> {
    @Override
    public BoxedUnit apply(SparkSessionExtensions extensions) {
        extensions.injectPlannerStrategy(Strategy::new);
        extensions.injectCheckRule(WriteExtensions::inputs);
        return BoxedUnit.UNIT;
    }

    private static Function1<LogicalPlan, BoxedUnit> inputs(SparkSession session) {
        return plan -> {
            Writes writes = Writes.current();
            if (writes != null && writes.isOurs(session.sparkContext())) {
                writes.reads(plan);
            }
            return BoxedUnit.UNIT;
        };
    }

    /** Plans a write that an earlier driver has committed as one that does nothing, before anything is computed for it. */
    private static final class Strategy extends SparkStrategy {
        private final org.apache.spark.sql.classic.SparkSession session;

        Strategy(SparkSession session) {
            this.session = (org.apache.spark.sql.classic.SparkSession) session;
        }

        @Override
        public Seq<SparkPlan> apply(LogicalPlan plan) {
            Writes writes = Writes.current();
            if (writes == null || !writes.isOurs(session.sparkContext())) {
                return Scala.emptySeq();
            }
            if (Writes.isIntoHive(plan)) {
                writes.intoHive(session, plan);
            }
            if (!(plan instanceof InsertIntoHadoopFsRelationCommand command) || !writes.isThere(session, command)) {
                return Scala.emptySeq();
            }
            SparkPlan nothing = new LocalTableScanExec(Scala.emptySeq(), Scala.emptySeq(), Option.empty(), false);
            return CollectionConverters.asScala(List.of(nothing)).toSeq();
        }
    }
}
