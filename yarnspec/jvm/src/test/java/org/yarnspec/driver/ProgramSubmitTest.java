package org.yarnspec.driver;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;
import org.junit.jupiter.api.Test;

class ProgramSubmitTest {
    private static final String KEY = "spark.plugins.defaultList";

    @Test
    void theHookComesBeforeTheFilesOfTheProgram() {
        assertEquals(
                List.of("app.py", "/hook,a.zip", "x"),
                ProgramSubmit.withHook(List.of("app.py", "a.zip", "x"), "/hook"));
        assertEquals(List.of("app.py", "/hook"), ProgramSubmit.withHook(List.of("app.py", ""), "/hook"));
    }

    @Test
    void aContextWithAnotherMasterIsRefusedWhateverPluginsTheProgramSets() {
        assertDoesNotThrow(() -> MasterGuard.check("yarn"));
        SparkConf conf = new SparkConf(false)
                .setMaster("local[2]")
                .setAppName("guarded")
                .set("spark.ui.enabled", "false")
                .set("spark.driver.host", "127.0.0.1")
                .set("spark.driver.bindAddress", "127.0.0.1")
                .set("spark.plugins", "")
                .set(KEY, MasterGuard.class.getName());
        Throwable refusal = assertThrows(Exception.class, () -> new SparkContext(conf).stop());
        assertTrue(refusal.getMessage().contains("local[2]"), refusal.getMessage());
    }

    @Test
    void executorsLoadTheUsersPluginsOnly() {
        SparkConf conf = new SparkConf(false).set(KEY, MasterGuard.class.getName() + ",org.example.Theirs");
        MasterGuard.keepFromExecutors(conf);
        assertEquals("org.example.Theirs", conf.get(KEY));
        conf.set(KEY, MasterGuard.class.getName());
        MasterGuard.keepFromExecutors(conf);
        assertFalse(conf.contains(KEY));
    }
}
