package org.yarnspec.stage;

import java.util.Properties;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.V2WriteCommand;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SQLExecution;
import org.apache.spark.sql.execution.command.CreateDataSourceTableAsSelectCommand;
import org.apache.spark.sql.execution.command.DataWritingCommand;
import org.apache.spark.sql.execution.datasources.InsertIntoDataSourceCommand;
import org.apache.spark.sql.execution.datasources.SaveIntoDataSourceCommand;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;

/**
 * The jobs in which a data source of the older interface gets rows to write: it may use any of Spark's actions for that, and
 * has no commit ({@code CreatableRelationProvider}, {@code InsertableRelation}).
 */
final class ProviderWrites {
    private ProviderWrites() {}

    /** Whether a job with these local properties is one, or part of one. */
    static boolean include(Properties ofJob) {
        if (ofJob == null) {
            return false;
        }
        LogicalPlan own = plan(ofJob.getProperty(SQLExecution.EXECUTION_ID_KEY()));
        // Files that Spark writes for a data source, or for a new table, have its commit.
        return !(own instanceof DataWritingCommand)
                && (isProviders(own) || isProviders(plan(ofJob.getProperty(SQLExecution.EXECUTION_ROOT_ID_KEY()))));
    }

    private static LogicalPlan plan(String execution) {
        QueryExecution query = execution == null ? null : SQLExecution.getQueryExecution(Long.parseLong(execution));
        return query == null ? null : query.logical();
    }

    private static boolean isProviders(LogicalPlan plan) {
        return plan instanceof SaveIntoDataSourceCommand
                || plan instanceof InsertIntoDataSourceCommand
                || plan instanceof CreateDataSourceTableAsSelectCommand
                || plan instanceof V2WriteCommand write
                        && write.table() instanceof DataSourceV2Relation relation
                        && relation.table().capabilities().contains(TableCapability.V1_BATCH_WRITE);
    }
}
