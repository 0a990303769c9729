package org.yarnspec.driver;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class ClusterManagerTest {
    @Test
    void claimsYarnAndNothingElse() {
        ClusterManager manager = new ClusterManager();
        assertTrue(manager.canCreate("yarn"));
        assertFalse(manager.canCreate("local-yarnspec"));
        assertFalse(manager.canCreate("yarn-client"));
        assertFalse(manager.canCreate("local[2]"));
    }

    @Test
    void refusesAnotherLineOfSparkAndNamesBothVersions() {
        assertDoesNotThrow(() -> ClusterManager.requireVersion("4.3.1"));
        IllegalStateException refusal =
                assertThrows(IllegalStateException.class, () -> ClusterManager.requireVersion("4.2.0"));
        assertTrue(
                refusal.getMessage().contains("4.2.0") && refusal.getMessage().contains("4.3."));
    }
}
