package org.apache.spark.scheduler.cluster.yarnspec;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayDeque;
import java.util.Iterator;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * Numbered events on their way to the negotiator, kept until it has acknowledged them.
 *
 * <p>Adding never waits: Spark's listener bus drops events when a listener is slow. So the events that come per task are
 * bounded; what does not fit is counted, and the count is told as an event of its own once there is room again.
 */
final class Outbox {
    private static final int TASK_EVENTS_MAX = 200_000;
    private static final int EVENTS_PER_POLL_MAX = 5_000;

    private final ObjectMapper json = new ObjectMapper();
    private final ArrayDeque<Event> waiting = new ArrayDeque<>();
    private final int taskEventsMax;
    private long lastSeq;
    private int waitingTaskEvents;
    private long droppedTaskEvents;
    private long unreportedDrops;

    private record Event(long seq, String json, boolean ofTask) {}

    Outbox() {
        this(TASK_EVENTS_MAX);
    }

    Outbox(int taskEventsMax) {
        this.taskEventsMax = taskEventsMax;
    }

    /** Queues an event whose loss the negotiator could not make up for. */
    void add(String type, Consumer<ObjectNode> fields) {
        append(type, fields, false);
    }

    /** Queues an event of which there are as many as tasks; dropped and counted when too many wait. */
    void addOfTask(String type, Consumer<ObjectNode> fields) {
        append(type, fields, true);
    }

    private synchronized void append(String type, Consumer<ObjectNode> fields, boolean ofTask) {
        if (ofTask && waitingTaskEvents >= taskEventsMax) {
            droppedTaskEvents++;
            unreportedDrops++;
            return;
        }
        ObjectNode event = json.createObjectNode();
        event.put("seq", ++lastSeq);
        event.put("type", type);
        fields.accept(event);
        waiting.add(new Event(lastSeq, event.toString(), ofTask));
        waitingTaskEvents += ofTask ? 1 : 0;
        notifyAll();
    }

    /**
     * Forgets what came up to {@code afterSeq} and gives what came later, as a JSON array in order.
     *
     * @param timeoutMs how long to wait for a first event when there is none
     */
    synchronized String poll(long afterSeq, int timeoutMs) throws InterruptedException {
        acknowledge(afterSeq);
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(timeoutMs);
        while (waiting.isEmpty()) {
            long leftMs = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime());
            if (leftMs <= 0) {
                return "[]";
            }
            wait(leftMs);
        }
        StringBuilder array = new StringBuilder("[");
        Iterator<Event> events = waiting.iterator();
        for (int i = 0; i < EVENTS_PER_POLL_MAX && events.hasNext(); i++) {
            array.append(i == 0 ? "" : ",").append(events.next().json());
        }
        return array.append("]").toString();
    }

    private void acknowledge(long afterSeq) {
        while (!waiting.isEmpty() && waiting.peek().seq() <= afterSeq) {
            waitingTaskEvents -= waiting.remove().ofTask() ? 1 : 0;
        }
        notifyAll();
        if (unreportedDrops > 0 && waitingTaskEvents < taskEventsMax) {
            long count = unreportedDrops;
            unreportedDrops = 0;
            add("task_events_dropped", event -> event.put("count", count));
        }
    }

    /** Waits until the negotiator has acknowledged everything; false when the time is over before. */
    synchronized boolean awaitAcknowledged(int timeoutMs) throws InterruptedException {
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(timeoutMs);
        while (!waiting.isEmpty()) {
            long leftMs = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime());
            if (leftMs <= 0) {
                return false;
            }
            wait(leftMs);
        }
        return true;
    }

    synchronized int waitingEvents() {
        return waiting.size();
    }

    synchronized long droppedTaskEvents() {
        return droppedTaskEvents;
    }
}
