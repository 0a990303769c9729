package org.yarnspec.fingerprint;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.apache.hadoop.fs.FileStatus;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.paths.SparkPath;
import org.apache.spark.sql.catalyst.expressions.DynamicPruningExpression;
import org.apache.spark.sql.catalyst.expressions.NamedLambdaVariable;
import org.apache.spark.sql.catalyst.plans.logical.CollectMetrics;
import org.apache.spark.sql.catalyst.plans.logical.LeafNode;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.OneRowRelation;
import org.apache.spark.sql.catalyst.plans.logical.Range;
import org.apache.spark.sql.catalyst.plans.physical.BroadcastMode;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.CoalescedMapperPartitionSpec;
import org.apache.spark.sql.execution.CoalescedPartitionSpec;
import org.apache.spark.sql.execution.CollectMetricsExec;
import org.apache.spark.sql.execution.InSubqueryExec;
import org.apache.spark.sql.execution.LastAttemptAggregatingAccumulator;
import org.apache.spark.sql.execution.LogicalRDD;
import org.apache.spark.sql.execution.PartialMapperPartitionSpec;
import org.apache.spark.sql.execution.PartialReducerPartitionSpec;
import org.apache.spark.sql.execution.ScalarSubquery;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.WholeStageCodegenExec;
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec;
import org.apache.spark.sql.execution.adaptive.BroadcastQueryStageExec;
import org.apache.spark.sql.execution.adaptive.QueryStageExec;
import org.apache.spark.sql.execution.adaptive.ShuffleQueryStageExec;
import org.apache.spark.sql.execution.adaptive.TableCacheQueryStageExec;
import org.apache.spark.sql.execution.columnar.InMemoryTableScanExec;
import org.apache.spark.sql.execution.datasources.FileFormat;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.execution.exchange.BroadcastExchangeLike;
import org.apache.spark.sql.execution.exchange.ShuffleExchangeLike;
import org.apache.spark.util.collection.BitSet;
import org.yarnspec.spark.Fields;
import org.yarnspec.spark.Scala;
import scala.Product;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.BoxedUnit;

/**
 * The plan of a DataFrame's stage, from its exchange down to where its rows come from: files, other shuffles by their
 * identity, broadcast tables and scalar subqueries by their content.
 */
final class PlanNodes {
    private static final String BUILT_IN = "org.apache.spark.sql.execution.datasources.";
    /** By name: others put formats of their own into Spark's packages. */
    private static final Set<String> FILE_FORMATS = Set.of(
            BUILT_IN + "binaryfile.BinaryFileFormat",
            BUILT_IN + "csv.CSVFileFormat",
            BUILT_IN + "json.JsonFileFormat",
            BUILT_IN + "orc.OrcFileFormat",
            BUILT_IN + "parquet.ParquetFileFormat",
            BUILT_IN + "text.TextFileFormat",
            BUILT_IN + "xml.XmlFileFormat",
            "org.apache.spark.sql.avro.AvroFileFormat",
            "org.apache.spark.sql.hive.orc.OrcFileFormat");

    private static final Set<Class<?>> SOURCES =
            Set.of(LocalRelation.class, LogicalRDD.class, OneRowRelation.class, Range.class);

    private final Values values;
    private final ShuffleIdentities shuffles;
    private final List<Long> observers = new ArrayList<>();

    PlanNodes(Values values, ShuffleIdentities shuffles) {
        this.values = values;
        this.shuffles = shuffles;
    }

    ShuffleIdentities shuffles() {
        return shuffles;
    }

    /** The accumulators of each {@code observe} so far. */
    List<Long> observers() {
        return observers;
    }

    void add(SparkPlan plan) {
        if (plan instanceof ShuffleExchangeLike) {
            addShuffle(plan);
        } else if (plan instanceof BroadcastExchangeLike broadcast) {
            addBroadcast(plan, broadcast);
        } else if (plan instanceof ShuffleQueryStageExec || plan instanceof BroadcastQueryStageExec) {
            add(((QueryStageExec) plan).plan());
        } else if (plan instanceof InMemoryTableScanExec || plan instanceof TableCacheQueryStageExec) {
            throw new Unknown("it reads a cached table");
        } else if (plan instanceof CollectMetricsExec observed) {
            addObserved(observed);
        } else if (plan instanceof QueryStageExec
                || plan instanceof AdaptiveSparkPlanExec
                || plan.getClass().getName().contains(".streaming.")) {
            throw Unknown.kind("a step of a query", plan);
        } else if (plan instanceof WholeStageCodegenExec generated) {
            values.add(generated.child()); // the generated code follows from it
        } else {
            values.addNode(plan);
        }
    }

    /** Adds the exchange itself, and the plan below it. */
    void addOwner(SparkPlan exchange) {
        values.addProduct((Product) exchange);
    }

    /** Which one it is its place tells: a name that Spark has made up is another one in each driver. */
    private void addObserved(CollectMetricsExec observed) {
        // It is there: what is below the exchange at hand has been made ready to run.
        if (!(Fields.get(observed, "accumulator") instanceof LastAttemptAggregatingAccumulator counts)) {
            throw new Unknown("observe() counts every attempt below it");
        }
        observers.add(counts.id());
        values.into().add("observed");
        values.add(observed.metricExpressions());
        values.add(observed.child());
    }

    private void addShuffle(SparkPlan exchange) {
        // Everything below the stage at hand has been built by now, in this thread or before it.
        if (!(Fields.get(exchange, "shuffleDependency") instanceof ShuffleDependency<?, ?, ?> dependency)) {
            throw new Unknown("a shuffle below it has not been built");
        }
        values.into().add("shuffle").add(shuffles.of(dependency.shuffleId()));
        values.add(exchange.output());
    }

    private void addBroadcast(SparkPlan exchange, BroadcastExchangeLike broadcast) {
        if (!(Fields.get(broadcast, "relationFuture") instanceof Future<?> future) || !future.isDone()) {
            throw new Unknown("a table that is broadcast below it is not there yet");
        }
        try {
            BroadcastMode mode = (BroadcastMode) Fields.get(exchange, "mode");
            Object content = ((Broadcast<?>) future.get()).value();
            values.into().add("broadcast").add(Relations.digest(content));
            if (!Relations.ordered(content)) {
                values.joinedInAnyOrder();
            }
            values.add(exchange.output());
            values.add(mode);
        } catch (ExecutionException e) {
            throw new Unknown("a table that is broadcast below it could not be read");
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new Unknown("it was interrupted");
        }
    }

    /**
     * Adds the query whose rows a write stores, as it was asked for: no part of it has been computed yet. What is read
     * is told by its files, and every other source has to be known.
     */
    void addQuery(LogicalPlan query) {
        query.foreachWithSubqueries(node -> {
            if (node instanceof LogicalRelation relation && relation.relation() instanceof HadoopFsRelation files) {
                addFiles(files);
            } else if (node instanceof LeafNode && !SOURCES.contains(node.getClass())) {
                throw Unknown.kind("a source", node);
            } else if (node instanceof CollectMetrics) {
                throw new Unknown("observe() is counted in it");
            }
            return BoxedUnit.UNIT;
        });
        values.add(query);
    }

    private void addFiles(HadoopFsRelation relation) {
        List<byte[]> files = new ArrayList<>();
        for (PartitionDirectory each :
                CollectionConverters.asJava(relation.location().listFiles(Scala.emptySeq(), Scala.emptySeq()))) {
            String partition =
                    each.values().toSeq(relation.partitionSchema()).toString(); // the catalog may say another each time
            each.files().foreach(file -> {
                FileStatus status = file.fileStatus();
                files.add(new Fingerprint()
                        .add(partition)
                        .add(status.getPath().toString())
                        .add(status.getLen())
                        .add(status.getModificationTime())
                        .bytes());
                return BoxedUnit.UNIT;
            });
        }
        values.into().add("files").addUnordered(files);
    }

    /** Expressions and parts of plans whose constructor does not tell what they give. */
    boolean addExpression(TreeNode<?> node) {
        if (node instanceof LogicalRelation relation && relation.relation() instanceof HadoopFsRelation files) {
            // By which name of the catalog it is read, and what else that knows of it, changes no row.
            values.into().add("relation").add(relation.isStreaming() ? 1 : 0);
            addRelation(files);
            values.add(relation.output());
        } else if (node instanceof LogicalRDD rows) {
            values.into().add("rows");
            values.add(rows.output());
            values.rdds().add(rows.rdd(), true);
        } else if (node instanceof ScalarSubquery subquery) {
            if (!Boolean.TRUE.equals(Fields.get(subquery, "updated"))) {
                throw new Unknown("a subquery below it has no value yet");
            }
            values.into().add("subquery");
            values.add(subquery.dataType());
            values.add(Fields.get(subquery, "result"));
        } else if (node instanceof NamedLambdaVariable variable) {
            // Its name has a number that counts all variables of the driver; what it holds is of the row at hand.
            values.into().add("variable");
            values.add(variable.dataType());
            values.add(variable.nullable());
            values.add(variable.exprId());
        } else if (node instanceof DynamicPruningExpression) {
            values.into().add("pruning"); // leaves out files; the splits tell which are read
        } else if (node instanceof InSubqueryExec) {
            throw Unknown.kind("a subquery", node);
        } else {
            return false;
        }
        return true;
    }

    /** Parts of plans that are neither plans nor expressions. */
    boolean addPart(Object part) {
        Fingerprint into = values.into();
        if (part instanceof HadoopFsRelation relation) {
            addRelation(relation);
        } else if (part instanceof CoalescedPartitionSpec spec) {
            into.add("coalesced").add(spec.startReducerIndex()).add(spec.endReducerIndex());
        } else if (part instanceof PartialReducerPartitionSpec spec) {
            into.add("reducer")
                    .add(spec.reducerIndex())
                    .add(spec.startMapIndex())
                    .add(spec.endMapIndex());
        } else if (part instanceof PartialMapperPartitionSpec spec) {
            into.add("mapper")
                    .add(spec.mapIndex())
                    .add(spec.startReducerIndex())
                    .add(spec.endReducerIndex());
        } else if (part instanceof CoalescedMapperPartitionSpec spec) {
            into.add("mappers")
                    .add(spec.startMapIndex())
                    .add(spec.endMapIndex())
                    .add(spec.numReducers());
        } else if (part instanceof BitSet bits) {
            into.add("bits").add(bits.capacity());
            for (int bit = bits.nextSetBit(0); bit >= 0; bit = bits.nextSetBit(bit + 1)) {
                into.add(bit);
            }
            into.add("end");
        } else if (part instanceof SparkPath path) {
            into.add(path.urlEncoded());
        } else {
            return false;
        }
        return true;
    }

    private void addRelation(HadoopFsRelation relation) {
        FileFormat format = relation.fileFormat();
        String name = format.getClass().getName();
        if (!FILE_FORMATS.contains(name)) {
            throw Unknown.kind("a file format", format);
        }
        values.into().add(name);
        CollectionConverters.asJava(relation.location().rootPaths())
                .forEach(path -> values.into().add(path.toString()));
        values.add(relation.partitionSchema());
        values.add(relation.dataSchema());
        values.add(relation.bucketSpec());
        values.add(relation.options());
    }
}
