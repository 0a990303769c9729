package org.yarnspec.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import org.apache.spark.ExceptionFailure;
import org.apache.spark.ExecutorLostFailure;
import org.apache.spark.SparkException;
import org.apache.spark.TaskFailedReason;
import org.apache.spark.memory.SparkOutOfMemoryError;
import org.junit.jupiter.api.Test;
import scala.Option;

class FailuresTest {
    private static final TaskFailedReason BROKEN =
            new ExceptionFailure(new IllegalStateException("broken"), Scala.emptySeq(), true);

    @Test
    void whatIsNotCountedIsStillToldForWhatItWas() {
        TaskFailedReason ofCopy = Failures.uncounted(BROKEN, true);
        TaskFailedReason ofOriginal = Failures.uncounted(BROKEN, false);
        assertEquals(Failures.FailureKind.COPY_FAILED, Failures.kindOf(ofCopy));
        assertEquals(Failures.FailureKind.EXCEPTION, Failures.kindOf(ofOriginal));
        assertFalse(ofCopy.countTowardsTaskFailures() || ofOriginal.countTowardsTaskFailures());
        assertTrue(Failures.textOf(ofOriginal).contains("broken"), Failures.textOf(ofOriginal));
    }

    private static TaskFailedReason failing(Throwable exception) {
        return new ExceptionFailure(exception, Scala.emptySeq(), true);
    }

    private static TaskFailedReason inPython(String lastLine) {
        return failing(new IllegalStateException("An exception was thrown from the Python worker: "
                + "Traceback (most recent call last):\n  File \"worker.py\", line 9, in main\n    load()\n"
                + lastLine
                + "\n"));
    }

    @Test
    void aLongTracebackKeepsItsError() {
        String text = Failures.textOf(inPython("    deeper()\n".repeat(1_000) + "ValueError: bad row"));
        assertTrue(text.contains("Traceback (most recent call last):\n"), text);
        assertTrue(text.contains("\nValueError: bad row"), text);
        assertTrue(text.length() < 5_000, () -> text.length() + " characters");
    }

    @Test
    void wantOfMemoryIsAKindOfItsOwn() {
        List<TaskFailedReason> lack = List.of(
                failing(new OutOfMemoryError("Java heap space")),
                failing(new SparkOutOfMemoryError(
                        "UNABLE_TO_ACQUIRE_MEMORY", Map.of("requestedBytes", "9", "receivedBytes", "1"))),
                failing(new IllegalStateException("writing failed", new OutOfMemoryError("GC overhead limit"))),
                inPython("MemoryError"),
                inPython("numpy._core._exceptions._ArrayMemoryError: Unable to allocate 74.5 GiB"),
                inPython("pyarrow.lib.ArrowMemoryError: malloc of size 99 failed"),
                inPython("OSError: [Errno 12] Cannot allocate memory"),
                inPython("subprocess.CalledProcessError: Command 'sort' died with <Signals.SIGKILL: 9>."),
                failing(new SparkException(
                        "Python worker exited unexpectedly (crashed) - Fatal Python error: Cannot recover from "
                                + "MemoryErrors while normalizing exceptions.")));
        for (TaskFailedReason reason : lack) {
            assertEquals(Failures.FailureKind.OUT_OF_MEMORY, Failures.kindOf(reason), reason.toErrorString());
        }
    }

    @Test
    void whatOnlySpeaksOfMemoryIsAnException() {
        List<TaskFailedReason> others = List.of(
                BROKEN,
                failing(new IllegalStateException("the record MemoryError is not known")),
                failing(new SparkException("Python worker exited unexpectedly (crashed)")),
                failing(new SparkException(
                        "Python worker exited unexpectedly (crashed) - Fatal Python error: Segmentation fault")),
                inPython("ImportError: libmemory.so: cannot open shared object file"),
                inPython("InMemoryError: no such table"));
        for (TaskFailedReason reason : others) {
            assertEquals(Failures.FailureKind.EXCEPTION, Failures.kindOf(reason), reason.toErrorString());
        }
    }

    @Test
    void wantOfMemoryIsToldForWhatItWasWhenItIsNotCounted() {
        TaskFailedReason lack = failing(new IllegalStateException("writing failed", new OutOfMemoryError()));
        TaskFailedReason ofOriginal = Failures.uncounted(lack, false);
        assertEquals(Failures.FailureKind.OUT_OF_MEMORY, Failures.kindOf(ofOriginal));
        assertFalse(ofOriginal.countTowardsTaskFailures());
        assertTrue(Failures.textOf(ofOriginal).contains("writing failed"), Failures.textOf(ofOriginal));
        assertEquals(Failures.FailureKind.COPY_FAILED, Failures.kindOf(Failures.uncounted(lack, true)));
    }

    @Test
    void anExecutorThatIsLostStaysOne() {
        TaskFailedReason lost = Failures.uncounted(new ExecutorLostFailure("7", true, Option.apply("died")), false);
        assertEquals(Failures.FailureKind.EXECUTOR_LOST, Failures.kindOf(lost));
        assertFalse(lost.countTowardsTaskFailures());
    }
}
