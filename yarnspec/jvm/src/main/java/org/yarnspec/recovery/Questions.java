package org.yarnspec.recovery;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

/** The driver's open questions to the negotiator. */
final class Questions {
    /**
     * The answer about a shuffle.
     *
     * @param shuffle the saved shuffle that it is; null for a fresh one
     * @param whole whether all its maps have to come back, or none
     */
    record Answer(Integer shuffle, boolean restore, boolean record, boolean whole) {
        static final Answer NONE = new Answer(null, false, false, false);

        static Answer of(JsonNode json) {
            JsonNode shuffle = json.path("shuffle");
            return new Answer(
                    shuffle.isInt() ? shuffle.intValue() : null,
                    json.path("restore").booleanValue(),
                    json.path("record").booleanValue(),
                    json.path("whole").booleanValue());
        }
    }

    private final Map<Integer, CompletableFuture<Answer>> open = new ConcurrentHashMap<>();
    private final AtomicInteger last = new AtomicInteger();
    private final AtomicBoolean givenUp = new AtomicBoolean();
    private final Runnable onGivenUp;

    /** @param onGivenUp is told once, when an answer did not come in time */
    Questions(Runnable onGivenUp) {
        this.onGivenUp = onGivenUp;
    }

    /** Whether an answer did not come in time: to wait for each that follows would stop the program again and again. */
    boolean givenUp() {
        return givenUp.get();
    }

    int ask() {
        int question = last.incrementAndGet();
        open.put(question, new CompletableFuture<>());
        return question;
    }

    /** An answer that nobody waits for any more is of no use. */
    void answer(int question, JsonNode json) {
        CompletableFuture<Answer> waiting = open.get(question);
        if (waiting != null) {
            waiting.complete(Answer.of(json));
        }
    }

    /** The answer; that nothing is restored or recorded when it does not come in time. */
    Answer await(int question, long timeoutMs) {
        try {
            return open.get(question).get(givenUp() ? 0 : timeoutMs, TimeUnit.MILLISECONDS);
        } catch (TimeoutException | ExecutionException e) {
            if (givenUp.compareAndSet(false, true)) {
                onGivenUp.run();
            }
            return Answer.NONE;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return Answer.NONE;
        } finally {
            open.remove(question);
        }
    }
}
