package org.yarnspec.driver;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;
import org.apache.spark.deploy.SparkSubmitArguments;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import scala.jdk.javaapi.CollectionConverters;

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
    void valuesReachTheProgramWithTheBlanksAtTheirEnds(@TempDir Path directory) throws IOException {
        Path file = directory.resolve("spark.properties");
        Files.writeString(
                file,
                String.join(
                        "\n",
                        "spark.test.blank=\\ ",
                        "spark.test.tab=\\t",
                        "spark.test.around=\\ a\u00e9 = b\\f",
                        "spark.test.lines=\\n\\n",
                        "spark.test.plain=c d",
                        "spark.test.\\=e=f\\n",
                        "spark.app.name=\\ name ",
                        ""));
        String[] arguments = ProgramSubmit.withUntrimmed(
                "--master", "local", "--properties-file", file.toString(), "app.py", "--properties-file", "theirs");
        SparkSubmitArguments parsed = new SparkSubmitArguments(
                CollectionConverters.asScala(List.of(arguments)).toSeq(),
                scala.collection.immutable.Map$.MODULE$.empty());
        Map<String, String> expected = Map.of(
                "spark.test.blank", " ",
                "spark.test.tab", "\t",
                "spark.test.around", " a\u00e9 = b\f",
                "spark.test.lines", "\n\n",
                "spark.test.plain", "c d",
                "spark.test.=e", "f\n",
                "spark.app.name", " name ");
        SparkConf conf = parsed.toSparkConf(scala.Option.empty());
        expected.forEach((key, value) -> assertEquals(value, conf.get(key), key));
        assertEquals(" name ", parsed.name());
        assertEquals(List.of("--properties-file", "theirs"), CollectionConverters.asJava(parsed.childArgs()));
        assertEquals(List.of("app.py"), List.of(ProgramSubmit.withUntrimmed("app.py")));
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
