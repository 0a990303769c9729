package org.apache.spark.scheduler.cluster.yarnspec;

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
final class Failures {
    /** With this a failed copy's reason begins, in Spark's own log of events as well. */
    static final String COPY_FAILED = "yarnspec: a copy failed: ";

    /** The same for an original whose copy goes on. */
    static final String ORIGINAL_FAILED = "yarnspec: an original failed: ";

    private static final int TEXT_CHARS_MAX = 4_000;

    /** Why an attempt ended: {@code Failure} of yarnspec/core/observations.py, by position. */
    enum Kind {
        NONE,
        EXCEPTION,
        FETCH_FAILED,
        EXECUTOR_LOST,
        COMMIT_DENIED,
        KILLED,
        OTHER,
        COPY_FAILED
    }

    private Failures() {}

    static Kind kindOf(TaskEndReason reason) {
        if (reason == Success$.MODULE$) {
            return Kind.NONE;
        } else if (reason instanceof ExceptionFailure) {
            return Kind.EXCEPTION;
        } else if (reason instanceof FetchFailed) {
            return Kind.FETCH_FAILED;
        } else if (reason instanceof ExecutorLostFailure || reason == Resubmitted$.MODULE$) {
            // Resubmitted: the attempt had finished, but its map output was lost with its executor.
            return Kind.EXECUTOR_LOST;
        } else if (reason instanceof TaskCommitDenied) {
            return Kind.COMMIT_DENIED;
        } else if (reason instanceof TaskKilled killed) {
            return kindOfKilled(killed.reason());
        }
        return reason.getClass().getSimpleName().startsWith("ExecutorShutdown") ? Kind.EXECUTOR_LOST : Kind.OTHER;
    }

    private static Kind kindOfKilled(String reason) {
        if (reason.startsWith(COPY_FAILED)) {
            return Kind.COPY_FAILED;
        }
        return reason.startsWith(ORIGINAL_FAILED) ? Kind.EXCEPTION : Kind.KILLED;
    }

    /** The reason in words; null for a success. */
    static String textOf(TaskEndReason reason) {
        return reason instanceof TaskFailedReason failed ? shortened(failed.toErrorString()) : null;
    }

    /** The same reason in a form that Spark does not count against the task. */
    static TaskFailedReason uncounted(TaskFailedReason reason, boolean ofCopy) {
        if (!reason.countTowardsTaskFailures()) {
            return reason;
        }
        if (reason instanceof ExecutorLostFailure lost) {
            return new ExecutorLostFailure(lost.execId(), false, lost.reason());
        }
        String begin = ofCopy ? COPY_FAILED : ORIGINAL_FAILED;
        if (reason instanceof ExceptionFailure failure) {
            String what = begin + failure.className() + ": " + failure.description();
            return new TaskKilled(what, failure.accumUpdates(), failure.accums(), failure.metricPeaks());
        }
        return new TaskKilled(begin + reason.toErrorString(), Scala.emptySeq(), Scala.emptySeq(), Scala.emptySeq());
    }

    static String shortened(String text) {
        return text == null || text.length() <= TEXT_CHARS_MAX ? text : text.substring(0, TEXT_CHARS_MAX) + " …";
    }
}
