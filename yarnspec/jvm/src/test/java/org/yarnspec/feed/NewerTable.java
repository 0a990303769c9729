package org.yarnspec.feed;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat;
import org.apache.spark.internal.io.HadoopMapReduceCommitProtocol;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.write.BatchWrite;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.DataWriterFactory;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.PhysicalWriteInfo;
import org.apache.spark.sql.connector.write.Write;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.execution.datasources.FilePartition;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.sql.execution.datasources.v2.FileWriterFactory;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * A data source of Spark's newer interface, for stages that are looked at and never run. Option {@code writer}: {@code
 * own}, or {@code files} for Spark's; {@code coordinated}: whether it asks for the commit coordinator; {@code set_up}: whether
 * the job of Spark's files has a committer; {@code directory}: theirs. Option {@code reader}: {@code own}, or {@code files}
 * for partitions of Spark's files.
 */
public final class NewerTable implements TableProvider, SupportsRead, SupportsWrite {
    private record OwnPartition(int number) implements InputPartition {}

    private record OwnScan(StructType readSchema, boolean files) implements Scan, Batch {
        @Override
        public Batch toBatch() {
            return this;
        }

        @Override
        public InputPartition[] planInputPartitions() {
            return new InputPartition[] {partition(0), partition(1)};
        }

        private InputPartition partition(int number) {
            return files ? new FilePartition(number, new PartitionedFile[0]) : new OwnPartition(number);
        }

        @Override
        public PartitionReaderFactory createReaderFactory() {
            return partition -> {
                throw new IllegalStateException("no task of this table runs");
            };
        }
    }

    private record OwnFactory() implements DataWriterFactory {
        @Override
        public DataWriter<InternalRow> createWriter(int partition, long task) {
            throw new IllegalStateException("no task of this table runs");
        }
    }

    private record OwnWrite(CaseInsensitiveStringMap options) implements BatchWrite {
        @Override
        public DataWriterFactory createBatchWriterFactory(PhysicalWriteInfo info) {
            return options.get("writer").equals("files") ? sparks() : new OwnFactory();
        }

        private DataWriterFactory sparks() {
            try {
                Job job = Job.getInstance();
                FileOutputFormat.setOutputPath(job, new Path(options.get("directory")));
                var protocol = new HadoopMapReduceCommitProtocol("job", options.get("directory"), false);
                if (options.getBoolean("set_up", true)) {
                    protocol.setupJob(job);
                }
                return new FileWriterFactory(null, protocol);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        @Override
        public boolean useCommitCoordinator() {
            return options.getBoolean("coordinated", true);
        }

        @Override
        public void commit(WriterCommitMessage[] messages) {}

        @Override
        public void abort(WriterCommitMessage[] messages) {}
    }

    @Override
    public StructType inferSchema(CaseInsensitiveStringMap options) {
        return new StructType().add("id", DataTypes.LongType);
    }

    @Override
    public Table getTable(StructType schema, Transform[] partitioning, Map<String, String> properties) {
        return this;
    }

    @Override
    public String name() {
        return "newer";
    }

    @Override
    public Column[] columns() {
        return new Column[] {Column.create("id", DataTypes.LongType)};
    }

    @Override
    public Set<TableCapability> capabilities() {
        return Set.of(TableCapability.BATCH_READ, TableCapability.BATCH_WRITE);
    }

    @Override
    public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
        return () -> new OwnScan(inferSchema(options), options.get("reader").equals("files"));
    }

    @Override
    public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
        return new WriteBuilder() {
            @Override
            public Write build() {
                return new Write() {
                    @Override
                    public BatchWrite toBatch() {
                        return new OwnWrite(info.options());
                    }
                };
            }
        };
    }
}
