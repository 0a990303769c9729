package org.yarnspec.feed;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.apache.spark.SparkConf;
import org.apache.spark.scheduler.LiveListenerBus;
import org.apache.spark.scheduler.SparkListenerNodeExcluded;
import org.junit.jupiter.api.Test;
import org.yarnspec.channel.Outbox;

class ApplicationFeedTest {
    @Test
    void aHostThatSparkExcludesIsToldWithTheTimeThatSparkHasForIt() throws Exception {
        SparkConf conf = new SparkConf(false).set("spark.excludeOnFailure.timeout", "3h");
        Outbox outbox = new Outbox();
        ApplicationFeed feed = new ApplicationFeed(new LiveListenerBus(conf), conf, outbox, null, new Progress());
        feed.onNodeExcluded(new SparkListenerNodeExcluded(0, "a", 2));
        assertEquals(
                "[{\"seq\":1,\"type\":\"host_excluded\",\"host\":\"a\",\"failures\":2,\"timeout_ms\":10800000}]",
                outbox.poll(0, 0));
    }
}
