package yarnspec.commitsteps;

import java.io.IOException;
import org.apache.hadoop.mapred.FileOutputCommitter;
import org.apache.hadoop.mapred.TaskAttemptContext;

/** Commits what RDDs save through Hadoop's older interface. */
public class OldSteps extends FileOutputCommitter {
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
