package org.yarnspec.feed;

import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SQLContext;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.sources.BaseRelation;
import org.apache.spark.sql.sources.CreatableRelationProvider;
import scala.collection.immutable.Map;

/** A data source of Spark's older interface: it writes by the action that option {@code by} names. */
public final class OlderSource implements CreatableRelationProvider {
    @Override
    public BaseRelation createRelation(
            SQLContext context, SaveMode mode, Map<String, String> parameters, Dataset<Row> data) {
        switch (parameters.apply("by")) {
            case "rdd" -> data.javaRDD().mapPartitions(rows -> rows).count();
            case "query" -> data.collectAsList();
            default -> data.write().parquet(parameters.apply("by"));
        }
        throw new IllegalStateException("nobody reads it");
    }
}
