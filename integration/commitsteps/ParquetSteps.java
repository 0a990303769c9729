package yarnspec.commitsteps;

import java.io.IOException;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapreduce.TaskAttemptContext;
import org.apache.parquet.hadoop.ParquetOutputCommitter;

/** Commits DataFrames' Parquet files. */
public class ParquetSteps extends ParquetOutputCommitter {
    public ParquetSteps(Path output, TaskAttemptContext context) throws IOException {
        super(output, context);
    }

    @Override
    public void setupTask(TaskAttemptContext context) throws IOException {
        CommitSteps.reached("setupTask");
        super.setupTask(context);
    }

    @Override
    public boolean needsTaskCommit(TaskAttemptContext context) throws IOException {
        CommitSteps.reached("needsTaskCommit");
        return super.needsTaskCommit(context);
    }

    @Override
    public void commitTask(TaskAttemptContext context) throws IOException {
        CommitSteps.reached("commitTask");
        super.commitTask(context);
        CommitSteps.reached("committed");
    }
}
