package org.yarnspec.spark;

import java.util.regex.Pattern;
import org.apache.spark.ExceptionFailure;
import org.apache.spark.ExecutorLostFailure;
import org.apache.spark.FetchFailed;
import org.apache.spark.Resubmitted$;
import org.apache.spark.Success$;
import org.apache.spark.TaskCommitDenied;
import org.apache.spark.TaskEndReason;
import org.apache.spark.TaskFailedReason;
import org.apache.spark.TaskKilled;

/** Why attempts end: as the feed tells it, and what a failure is made into so that it costs the task nothing. */
public final class Failures {
    /** With this a failed copy's reason begins, in Spark's own log of events as well. */
    static final String COPY_FAILED = "yarnspec: a copy failed: ";

    /** The same for an original whose copy goes on. */
    static final String ORIGINAL_FAILED = "yarnspec: an original failed: ";

    /** The same for one that failed for want of memory. */
    static final String ORIGINAL_LACKED_MEMORY = "yarnspec: an original lacked memory: ";

    /**
     * The words of an exception and its causes that tell of want of memory: its name at the beginning of a line, in the
     * JVM or in Python's traceback; the system's refusal; or that something was killed. That a Python worker has
     * crashed does not by itself: a broken library of one host makes it crash, too. yarnspec/feed/sparklog.py has the
     * same one.
     */
    private static final Pattern LACKS_MEMORY = Pattern.compile(
            "^(?:Caused by: )?(?:[\\w.$]+\\.)?"
                    + "(?:\\w*OutOf\\w*Memory(?:Error|Exception)|(?:_?Array|Arrow)?MemoryError)\\b"
                    + "|Python worker exited unexpectedly.*(?:MemoryError|[Oo]ut ?[Oo]f ?[Mm]emory|[Kk]illed)"
                    + "|Cannot allocate memory|\\bSIGKILL\\b",
            Pattern.MULTILINE | Pattern.UNIX_LINES);

    private static final int TEXT_CHARS_MAX = 4_000;

    /** Why an attempt ended: {@code Failure} of yarnspec/core/messages/observations.py, by position. */
    public enum FailureKind {
        NONE,
        EXCEPTION,
        FETCH_FAILED,
        EXECUTOR_LOST,
        COMMIT_DENIED,
        KILLED,
        OTHER,
        COPY_FAILED,
        OUT_OF_MEMORY
    }

    private Failures() {}

    /** Of what was caught where anything may be thrown: a thread that was interrupted stays so. */
    public static void keepInterrupt(Throwable caught) {
        if (caught instanceof InterruptedException) {
            Thread.currentThread().interrupt();
        }
    }

    public static FailureKind kindOf(TaskEndReason reason) {
        if (reason == Success$.MODULE$) {
            return FailureKind.NONE;
        } else if (reason instanceof ExceptionFailure failure) {
            return lacksMemory(failure) ? FailureKind.OUT_OF_MEMORY : FailureKind.EXCEPTION;
        } else if (reason instanceof FetchFailed) {
            return FailureKind.FETCH_FAILED;
        } else if (reason instanceof ExecutorLostFailure || reason == Resubmitted$.MODULE$) {
            // Resubmitted: the attempt had finished, but its map output was lost with its executor.
            return FailureKind.EXECUTOR_LOST;
        } else if (reason instanceof TaskCommitDenied) {
            return FailureKind.COMMIT_DENIED;
        } else if (reason instanceof TaskKilled killed) {
            return kindOfKilled(killed.reason());
        }
        return reason.getClass().getSimpleName().startsWith("ExecutorShutdown")
                ? FailureKind.EXECUTOR_LOST
                : FailureKind.OTHER;
    }

    private static FailureKind kindOfKilled(String reason) {
        if (reason.startsWith(COPY_FAILED)) {
            return FailureKind.COPY_FAILED;
        }
        if (reason.startsWith(ORIGINAL_LACKED_MEMORY)) {
            return FailureKind.OUT_OF_MEMORY;
        }
        return reason.startsWith(ORIGINAL_FAILED) ? FailureKind.EXCEPTION : FailureKind.KILLED;
    }

    private static boolean lacksMemory(ExceptionFailure failure) {
        return LACKS_MEMORY.matcher(failure.toErrorString()).find();
    }

    /** The reason in words; null for a success. */
    public static String textOf(TaskEndReason reason) {
        // A long description is a traceback of Python: its error stands at the end, before the frames of Java.
        if (reason instanceof ExceptionFailure failure && length(failure.description()) > TEXT_CHARS_MAX) {
            return failure.className() + ": " + withItsEnd(failure.description());
        }
        return reason instanceof TaskFailedReason failed ? shortened(failed.toErrorString()) : null;
    }

    /** The reason in a form that Spark does not count against the task. */
    public static TaskFailedReason uncounted(TaskFailedReason reason, boolean ofCopy) {
        if (!reason.countTowardsTaskFailures()) {
            return reason;
        }
        if (reason instanceof ExecutorLostFailure lost) {
            return new ExecutorLostFailure(lost.execId(), false, lost.reason());
        }
        String begin = ofCopy ? COPY_FAILED : ORIGINAL_FAILED;
        if (reason instanceof ExceptionFailure failure) {
            begin = !ofCopy && lacksMemory(failure) ? ORIGINAL_LACKED_MEMORY : begin;
            String what = begin + failure.className() + ": " + failure.description();
            return new TaskKilled(what, failure.accumUpdates(), failure.accums(), failure.metricPeaks());
        }
        return new TaskKilled(begin + reason.toErrorString(), Scala.emptySeq(), Scala.emptySeq(), Scala.emptySeq());
    }

    private static int length(String text) {
        return text == null ? 0 : text.length();
    }

    private static String withItsEnd(String text) {
        int begin = TEXT_CHARS_MAX / 4;
        return text.substring(0, begin) + " … " + text.substring(text.length() - TEXT_CHARS_MAX + begin);
    }

    public static String shortened(String text) {
        return text == null || text.length() <= TEXT_CHARS_MAX ? text : text.substring(0, TEXT_CHARS_MAX) + " …";
    }
}
