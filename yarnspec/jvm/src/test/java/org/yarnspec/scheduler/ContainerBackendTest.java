package org.yarnspec.scheduler;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Map;
import org.junit.jupiter.api.Test;
import scala.jdk.javaapi.CollectionConverters;

class ContainerBackendTest {
    private static final Map<String, String> ENVIRONMENT = Map.of(
            "SPARK_DRIVER_LOG_URL_STDERR", "http://h:1/stderr", "SPARK_DRIVER_ATTRIBUTE_NM_HOST", "h", "PATH", "/bin");

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
}
