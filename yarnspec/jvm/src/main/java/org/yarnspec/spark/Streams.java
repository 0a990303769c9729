package org.yarnspec.spark;

import java.util.Properties;

/** Tells the jobs of streams from those of batch programs, by the local properties that Spark gives them. */
public final class Streams {
    private static final String QUERY = "sql.streaming.queryId";
    private static final String BATCH = "spark.streaming.internal.batchTime";

    private Streams() {}

    /** Whether what has these local properties belongs to a stream. */
    public static boolean own(Properties properties) {
        return properties != null && (properties.getProperty(QUERY) != null || properties.getProperty(BATCH) != null);
    }
}
