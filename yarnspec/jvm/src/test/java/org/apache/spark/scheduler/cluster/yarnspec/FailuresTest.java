package org.apache.spark.scheduler.cluster.yarnspec;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.spark.ExceptionFailure;
import org.apache.spark.ExecutorLostFailure;
import org.apache.spark.TaskFailedReason;
import org.junit.jupiter.api.Test;
import scala.Option;

class FailuresTest {
    private static final TaskFailedReason BROKEN =
            new ExceptionFailure(new IllegalStateException("broken"), Scala.emptySeq(), true);

    @Test
    void whatIsNotCountedIsStillToldForWhatItWas() {
        TaskFailedReason ofCopy = Failures.uncounted(BROKEN, true);
        TaskFailedReason ofOriginal = Failures.uncounted(BROKEN, false);
        assertEquals(Failures.Kind.COPY_FAILED, Failures.kindOf(ofCopy));
        assertEquals(Failures.Kind.EXCEPTION, Failures.kindOf(ofOriginal));
        assertFalse(ofCopy.countTowardsTaskFailures() || ofOriginal.countTowardsTaskFailures());
        assertTrue(Failures.textOf(ofOriginal).contains("broken"), Failures.textOf(ofOriginal));
    }

    @Test
    void anExecutorThatIsLostStaysOne() {
        TaskFailedReason lost = Failures.uncounted(new ExecutorLostFailure("7", true, Option.apply("died")), false);
        assertEquals(Failures.Kind.EXECUTOR_LOST, Failures.kindOf(lost));
        assertFalse(lost.countTowardsTaskFailures());
    }
}
