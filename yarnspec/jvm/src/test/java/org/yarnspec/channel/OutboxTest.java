package org.yarnspec.channel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class OutboxTest {
    private static JsonNode poll(Outbox outbox, long afterSeq) throws Exception {
        return new ObjectMapper().readTree(outbox.poll(afterSeq, 0));
    }

    @Test
    void eventsAreKeptUntilALaterPollAcknowledgesThem() throws Exception {
        Outbox outbox = new Outbox();
        outbox.add("first", event -> event.put("x", 1));
        outbox.add("second", event -> {});
        assertEquals(2, poll(outbox, 0).size());
        JsonNode again = poll(outbox, 1);
        assertEquals(1, again.size());
        assertEquals("second", again.get(0).get("type").asText());
        assertEquals(2, again.get(0).get("seq").asLong());
        assertEquals(0, poll(outbox, 2).size());
    }

    @Test
    void aPollWaitsForTheFirstEvent() throws Exception {
        Outbox outbox = new Outbox();
        CompletableFuture<String> polled = CompletableFuture.supplyAsync(() -> {
            try {
                return outbox.poll(0, 10_000);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        });
        outbox.add("stopping", event -> {});
        assertTrue(polled.get(10, TimeUnit.SECONDS).contains("stopping"));
    }

    @Test
    void theEndWaitsForTheLastAcknowledgement() throws Exception {
        Outbox outbox = new Outbox();
        assertTrue(outbox.awaitAcknowledged(0));
        outbox.add("stopping", event -> {});
        assertFalse(outbox.awaitAcknowledged(1));
        outbox.poll(1, 0);
        assertTrue(outbox.awaitAcknowledged(0));
    }
}
