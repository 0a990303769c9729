package org.yarnspec.driver;

import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;
import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.PluginContext;
import org.apache.spark.api.plugin.SparkPlugin;

/**
 * Refuses a SparkContext with another master: it would run the whole job inside the application master.
 *
 * <p>The hook in the program's Python does so too, with the line of the program. But a program can lose the hook:
 * {@code python -I}, or a process that it starts with an environment of its own. Spark loads this plugin before it makes
 * a scheduler, for local masters as well.
 */
public final class MasterGuard implements SparkPlugin {
    /** Spark joins this list with {@code spark.plugins}, which programs set in their code. */
    private static final String KEY = "spark.plugins.defaultList";

    @Override
    public DriverPlugin driverPlugin() {
        return new DriverPlugin() {
            @Override
            public Map<String, String> init(SparkContext context, PluginContext plugin) {
                check(context.master());
                return Map.of();
            }
        };
    }

    @Override
    public ExecutorPlugin executorPlugin() {
        return null;
    }

    static void check(String master) {
        if (!ProgramSubmit.MASTER.equals(master)) {
            throw new IllegalArgumentException("yarnspec: the program sets the master '" + master
                    + "'; a program run by yarnspec submit runs on YARN. Remove it there, or say 'yarn'.");
        }
    }

    /** Takes this plugin out of what executors will load: their class path need not have it. */
    public static void keepFromExecutors(SparkConf conf) {
        Set<String> plugins = new LinkedHashSet<>(List.of(conf.get(KEY, "").split("\\s*,\\s*")));
        plugins.remove(MasterGuard.class.getName());
        plugins.remove("");
        if (plugins.isEmpty()) {
            conf.remove(KEY);
        } else {
            conf.set(KEY, String.join(",", plugins));
        }
    }
}
