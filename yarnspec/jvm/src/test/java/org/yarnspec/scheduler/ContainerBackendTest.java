package org.yarnspec.scheduler;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import java.util.Map;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.rpc.RpcEndpoint;
import org.apache.spark.rpc.RpcEndpointRef;
import org.apache.spark.rpc.RpcEnv;
import org.apache.spark.scheduler.cluster.CoarseGrainedClusterMessages.LaunchedExecutor;
import org.apache.spark.scheduler.cluster.CoarseGrainedClusterMessages.RegisterExecutor;
import org.junit.jupiter.api.Test;
import org.yarnspec.spark.Scala;
import org.yarnspec.testing.FakeCluster;
import scala.jdk.javaapi.CollectionConverters;
import scala.reflect.ClassTag$;

class ContainerBackendTest {
    private static final Map<String, String> ENVIRONMENT = Map.of(
            "SPARK_DRIVER_LOG_URL_STDERR", "http://h:1/stderr", "SPARK_DRIVER_ATTRIBUTE_NM_HOST", "h", "PATH", "/bin");
    private static final String DECOMMISSIONED = "executors_decommissioned";

    /** An executor that registers and then does nothing. */
    private record Idle(RpcEnv rpcEnv) implements RpcEndpoint {}

    @Test
    void theEnvironmentSaysWhereTheDriversLogsAre() {
        assertEquals(
                Map.of("stderr", "http://h:1/stderr"),
                CollectionConverters.asJava(ContainerBackend.told(ENVIRONMENT, "SPARK_DRIVER_LOG_URL_", true)
                        .get()));
        assertEquals(
                Map.of("NM_HOST", "h"),
                CollectionConverters.asJava(ContainerBackend.told(ENVIRONMENT, "SPARK_DRIVER_ATTRIBUTE_", false)
                        .get()));
        assertTrue(
                ContainerBackend.told(Map.of(), "SPARK_DRIVER_LOG_URL_", true).isEmpty());
    }

    @Test
    void theNegotiatorIsToldWhichExecutorsSparkDecommissions() throws Exception {
        try (FakeCluster cluster = new FakeCluster(Map.of("spark.decommission.enabled", "true"))) {
            ContainerBackend backend = new ContainerBackend(
                    cluster.scheduler, cluster.context.sc(), cluster.outbox, cluster.feed, 1, null);
            register(backend, "7", "h1");
            backend.decommissionExecutorsOnHost("h2");
            backend.decommissionExecutorsOnHost("h1");
            backend.decommissionExecutorsOnHost("h1");
            backend.awaitLaunches(); // the endpoint has worked through the calls before
            assertEquals(1, cluster.events(DECOMMISSIONED).size());
            assertEquals(
                    "[\"7\"]",
                    cluster.events(DECOMMISSIONED).get(0).get("executor_ids").toString());
        }
    }

    @Test
    void theNegotiatorIsToldTheBoundsOfDynamicAllocation() {
        SparkConf conf = new SparkConf(false).set("spark.dynamicAllocation.minExecutors", "2");
        assertEquals("[0,0]", boundsOf(conf), "they hold only when it is on");
        conf.set("spark.dynamicAllocation.enabled", "true");
        assertEquals("[2,2147483647]", boundsOf(conf));
        conf.set("spark.dynamicAllocation.maxExecutors", "9");
        assertEquals("[2,9]", boundsOf(conf));
    }

    private static String boundsOf(SparkConf conf) {
        ArrayNode told = new ObjectMapper().createArrayNode();
        ContainerBackend.tellDynamicBounds(conf, told);
        return told.toString();
    }

    private static void register(ContainerBackend backend, String executorId, String host) {
        RpcEnv env = SparkEnv.get().rpcEnv();
        RpcEndpointRef executor = env.setupEndpoint("executor-" + executorId, new Idle(env));
        RegisterExecutor registration = new RegisterExecutor(
                executorId, executor, host, 1, Scala.emptyMap(), Scala.emptyMap(), Scala.emptyMap(), 0);
        backend.driverEndpoint().askSync(registration, ClassTag$.MODULE$.Boolean());
        backend.driverEndpoint().send(new LaunchedExecutor(executorId));
        backend.awaitLaunches();
    }
}
