package org.yarnspec.mapoutputs;

import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.ExecutorLossReason;
import org.apache.spark.scheduler.SchedulerBackend;

/** The part of the task scheduler that {@link LiveAdoption} needs when an executor dies. */
public interface LiveScheduler {
    /** The context whose tasks it starts. */
    SparkContext sc();

    SchedulerBackend backend();

    /** Whether the negotiator lets no task start there. */
    boolean isBlocked(String host, String executorId);

    /** Has Spark run again what a lost executor had finished and what is lost only now. */
    void runAgain(String executorId, String host, ExecutorLossReason reason);
}
