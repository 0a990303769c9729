package org.yarnspec.channel;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayDeque;
import java.util.Iterator;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * Numbered events on their way to the negotiator, kept until it has acknowledged them.
 *
 * <p>Adding never waits. There are few of them; what comes as often as tasks goes through {@code TaskFeed}.
 */
public final class Outbox {
    private static final int EVENTS_PER_POLL_MAX = 5_000;

    private final ObjectMapper json = new ObjectMapper();
    private final ArrayDeque<Event> waiting = new ArrayDeque<>();
    private long lastSeq;

    private record Event(long seq, String json) {}

    public synchronized void add(String type, Consumer<ObjectNode> fields) {
        ObjectNode event = json.createObjectNode();
        event.put("seq", ++lastSeq);
        event.put("type", type);
        fields.accept(event);
        waiting.add(new Event(lastSeq, event.toString()));
        notifyAll();
    }

    /**
     * Forgets what came up to {@code afterSeq} and gives what came later, as a JSON array in order.
     *
     * @param timeoutMs how long to wait for a first event when there is none
     */
    public synchronized String poll(long afterSeq, int timeoutMs) throws InterruptedException {
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
            waiting.remove();
        }
        notifyAll();
    }

    /** Waits until the negotiator has acknowledged everything; false when the time is over before. */
    public synchronized boolean awaitAcknowledged(int timeoutMs) throws InterruptedException {
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

    public synchronized int waitingEvents() {
        return waiting.size();
    }
}
