package org.apache.spark.scheduler.cluster.yarnspec;

import java.util.regex.Pattern;
import org.apache.spark.SparkConf;

/**
 * Settings that yarnspec chose and the user's program changed in its code.
 *
 * <p>spark-submit leaves the submitted settings as system properties; a program's own SparkConf beats them. The launcher
 * names the keys it owns in {@code spark.yarnspec.owned.keys}.
 */
final class Overrides {
    private static final Pattern SECRET = Pattern.compile("secret|password|token|credential|access.?key", Pattern.CASE_INSENSITIVE);

    private Overrides() {}

    static void report(SparkConf conf, Outbox outbox) {
        for (String key : conf.get("spark.yarnspec.owned.keys", "").split(",")) {
            String submitted = key.isBlank() ? null : System.getProperty(key);
            String used = key.isBlank() ? null : conf.get(key, null);
            if (submitted == null || submitted.equals(used)) {
                continue;
            }
            outbox.add("setting_overridden", event -> {
                event.put("key", key);
                event.put("value", SECRET.matcher(key).find() ? "(hidden)" : used);
            });
        }
    }
}
