package org.yarnspec.write;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import org.yarnspec.channel.NegotiatorWatch;
import org.yarnspec.channel.Outbox;

/**
 * The driver's questions to the negotiator about files that the program writes and reads.
 *
 * <p>Every question waits for its answer: a step that was not recorded could be done twice. The negotiator answers
 * within 300 s, or ends the driver. {@link NegotiatorWatch} ends a driver without a negotiator. A step that gets no
 * answer within 600 s is not done.
 */
final class WriteQuestions {
    private static final long PATIENCE_S = 600;
    private static final ObjectMapper JSON = new ObjectMapper();

    private final Outbox outbox;
    private final Map<Integer, CompletableFuture<JsonNode>> open = new ConcurrentHashMap<>();
    private int last;
    private int newest;
    private volatile boolean pending;

    WriteQuestions(Outbox outbox) {
        this.outbox = outbox;
    }

    /** Whether an earlier driver has changed something that this one may be about to read. */
    boolean pending() {
        return pending;
    }

    /** Says something that nobody answers. */
    void tell(String type, Consumer<ObjectNode> fields) {
        outbox.add(type, fields);
    }

    void answer(int question, String json) throws JsonProcessingException {
        CompletableFuture<JsonNode> waiting = open.get(question);
        if (waiting != null) {
            waiting.complete(JSON.readTree(json));
        }
    }

    /**
     * Asks, and waits.
     *
     * @throws IllegalStateException the program must not go on, or there was no answer
     */
    JsonNode ask(String type, Consumer<ObjectNode> fields) {
        CompletableFuture<JsonNode> waiting = new CompletableFuture<>();
        int[] number = new int[1];
        outbox.add(
                type,
                event -> { // under its lock: questions have their numbers in the order in which they are asked
                    number[0] = ++last;
                    open.put(number[0], waiting);
                    fields.accept(event.put("question", number[0]));
                });
        try {
            JsonNode answer = waiting.get(PATIENCE_S, TimeUnit.SECONDS);
            heed(number[0], answer.path("pending").asBoolean());
            if (answer.path("action").asText().equals("stop")) {
                if (answer.path("fenced").asBoolean()) {
                    // To clean up after the write would take what the newer driver writes.
                    System.err.println("yarnspec: the driver ends: "
                            + answer.path("reason").asText());
                    NegotiatorWatch.halt();
                }
                throw new IllegalStateException(
                        "yarnspec: " + answer.path("reason").asText());
            }
            return answer;
        } catch (TimeoutException | ExecutionException e) {
            throw new IllegalStateException(
                    "yarnspec: the application master has not answered for " + PATIENCE_S
                            + " s, so that nobody knows whether a "
                            + "write may go on: look at its output, and at the application master's log",
                    e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("yarnspec: a write was interrupted", e);
        } finally {
            open.remove(number[0]);
        }
    }

    /** Heeds the answer to the newest question, in whatever order those who asked go on. */
    private synchronized void heed(int question, boolean nowPending) {
        if (question > newest) {
            newest = question;
            pending = nowPending;
        }
    }
}
