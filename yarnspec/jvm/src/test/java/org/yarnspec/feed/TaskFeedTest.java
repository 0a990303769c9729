package org.yarnspec.feed;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.yarnspec.testing.FakeCluster;

class TaskFeedTest {
    private static void add(TaskFeed feed, int from, int to) {
        Row row = new Row();
        for (int i = from; i < to; i++) {
            row.begin(Row.RowKind.TASK_ENDED, 1_700_000_000_000L + i, 3, 1)
                    .set(Column.INDEX, i)
                    .set(Column.BYTES_READ, 1L << 40)
                    .state(Row.State.FAILED)
                    .text(i % 2 == 0 ? "failure ü " + i : null);
            row.host = "host" + i % 3;
            row.executor = "" + i % 5;
            feed.add(row);
        }
    }

    @Test
    void everyRowArrivesInOrderWithItsColumns() throws Exception {
        TaskFeed feed = TaskFeed.open("token", dropped -> {});
        add(feed, 0, 3);
        try (FeedClient client = new FeedClient(feed.port(), "token")) {
            assertEquals(0, client.handedOver());
            Map<String, Object> row = client.rows(3).get(2);
            assertEquals(4L, row.get("kind"));
            assertEquals(1_700_000_000_002L, row.get("time_ms"));
            assertEquals(3L, row.get("stage"));
            assertEquals(1L, row.get("stage_attempt"));
            assertEquals(2L, row.get("index"));
            assertEquals(1L << 40, row.get("bytes_read"));
            assertEquals(2L, row.get("state"));
            assertEquals(-1L, row.get("records_read"));
            assertEquals("host2", row.get("host"));
            assertEquals("2", row.get("executor"));
            assertEquals("failure ü 2", row.get("text"));
            int more = 3 * RowBlock.ROWS;
            add(feed, 3, 3 + more);
            List<Map<String, Object>> rows = client.rows(more);
            assertEquals(more, rows.size());
            for (int i = 0; i < more; i++) {
                assertEquals(3L + i, rows.get(i).get("index"));
            }
            assertNull(rows.get(0).get("text"));
        }
    }

    @Test
    void aWrongTokenGetsNothing() throws Exception {
        TaskFeed feed = TaskFeed.open("token", dropped -> {});
        add(feed, 0, 1);
        for (String wrong : List.of("tokem", "", "token and more")) {
            try (FeedClient client = new FeedClient(feed.port(), wrong)) {
                assertTrue(client.refused());
            }
        }
        try (FeedClient client = new FeedClient(feed.port(), "token")) {
            assertEquals(0, client.handedOver());
            assertEquals(1, client.rows(1).size());
        }
    }

    @Test
    void aLaterClientTakesOverAndLearnsWhatTheFirstWasGiven() throws Exception {
        TaskFeed feed = TaskFeed.open("token", dropped -> {});
        try (FeedClient first = new FeedClient(feed.port(), "token")) {
            assertEquals(0, first.handedOver());
            add(feed, 0, 10);
            first.rows(10);
            try (FeedClient second = new FeedClient(feed.port(), "token")) {
                assertEquals(10, second.handedOver());
                add(feed, 10, 20);
                assertEquals(10L, second.rows(10).get(0).get("index"));
            }
        }
    }

    @Test
    void whatDoesNotFitIsCountedAndTheRestArrives() throws Exception {
        List<Long> told = new CopyOnWriteArrayList<>();
        TaskFeed feed = TaskFeed.open("token", 5, told::add);
        add(feed, 0, 8);
        assertEquals(3, feed.rowsDropped());
        assertEquals(5, feed.rows());
        try (FeedClient client = new FeedClient(feed.port(), "token")) {
            client.handedOver();
            assertEquals(5, client.rows(5).size());
            FakeCluster.await(() -> feed.rowsWaiting() == 0, "sent rows still wait");
            add(feed, 8, 9);
            assertEquals(8L, client.rows(1).get(0).get("index"));
            assertEquals(List.of(3L), told);
        }
    }

    @Test
    void theEndSendsWhatWaitsAndSaysSo() throws Exception {
        TaskFeed feed = TaskFeed.open("token", dropped -> {});
        assertTrue(feed.finish(0)); // nobody listens
        try (FeedClient client = new FeedClient(feed.port(), "token")) {
            client.handedOver();
            add(feed, 0, 100_000);
            CompletableFuture<Boolean> finished = CompletableFuture.supplyAsync(() -> {
                try {
                    return feed.finish(30_000);
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            });
            assertEquals(100_000, client.rows(100_000).size());
            assertNull(client.batch());
            assertTrue(finished.get(30, TimeUnit.SECONDS));
        }
    }
}
