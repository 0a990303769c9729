package org.yarnspec.feed;

import org.apache.spark.Success$;
import org.apache.spark.TaskState;
import org.apache.spark.executor.ExecutorMetrics;
import org.apache.spark.executor.TaskMetrics;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.apache.spark.scheduler.SparkListenerTaskStart;
import org.apache.spark.scheduler.TaskInfo;
import org.apache.spark.scheduler.TaskLocality;

/**
 * A driver without Spark: it tells of a stage, and once a line comes in it hands Spark's own events to the feed's
 * listener as fast as that takes them, a start and an end for each task. Prints the feed's port, and how long the
 * listener was busy.
 */
final class FeedSender {
    private static final int HOSTS = 4;
    private static final int EXECUTORS = 8;
    private static final int FINISH_TIMEOUT_MS = 60_000;

    public static void main(String[] arguments) throws Exception {
        int tasks = Integer.parseInt(arguments[0]);
        TaskFeed feed = TaskFeed.open("token", dropped -> System.out.println("dropped " + dropped));
        TaskListener listener = new TaskListener(feed, new StageFacts(feed, profile -> profile));
        SparkListenerTaskStart[] starts = new SparkListenerTaskStart[tasks];
        SparkListenerTaskEnd[] ends = new SparkListenerTaskEnd[tasks];
        TaskMetrics metrics = TaskMetrics.registered();
        long beganMs = System.currentTimeMillis();
        for (int i = 0; i < tasks; i++) {
            String executor = Integer.toString(i % EXECUTORS + 1);
            String host = "127.0.0." + (i % HOSTS + 2);
            TaskInfo task = new TaskInfo(i, i, 0, i, beganMs, executor, host, TaskLocality.ANY(), false);
            starts[i] = new SparkListenerTaskStart(0, 0, task);
            TaskInfo ended = new TaskInfo(i, i, 0, i, beganMs, executor, host, TaskLocality.ANY(), false);
            ended.markFinished(TaskState.FINISHED(), beganMs + 1);
            ends[i] = new SparkListenerTaskEnd(
                    0, 0, "ResultTask", Success$.MODULE$, ended, new ExecutorMetrics(), metrics);
        }
        System.out.println(feed.port());
        feed.add(new Row()
                .begin(Row.RowKind.STAGE_STARTED, beganMs, 0, 0)
                .state(Row.State.RUNNING)
                .set(Column.TASKS, tasks)
                .set(Column.FLAGS, 0)
                .text("the bench"));
        System.in.read();
        long begunNs = System.nanoTime();
        for (int i = 0; i < tasks; i++) {
            listener.onTaskStart(starts[i]);
            listener.onTaskEnd(ends[i]);
        }
        System.out.println((System.nanoTime() - begunNs) / 1_000_000);
        System.exit(feed.finish(FINISH_TIMEOUT_MS) ? 0 : 1);
    }
}
