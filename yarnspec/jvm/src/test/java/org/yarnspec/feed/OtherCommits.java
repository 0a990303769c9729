package org.yarnspec.feed;

import java.io.IOException;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapreduce.JobContext;
import org.apache.hadoop.mapreduce.OutputCommitter;
import org.apache.hadoop.mapreduce.TaskAttemptContext;
import org.apache.hadoop.mapreduce.lib.output.FileOutputCommitter;
import org.apache.spark.sql.execution.datasources.SQLHadoopMapReduceCommitProtocol;

/** Committers and protocols that are not Hadoop's and Spark's, for stages that are looked at and never run. */
public final class OtherCommits {
    private OtherCommits() {}

    /** Has nothing to commit: files are written where they stay. */
    public static final class Direct extends OutputCommitter {
        @Override
        public void setupJob(JobContext job) {}

        @Override
        public void setupTask(TaskAttemptContext task) {}

        @Override
        public boolean needsTaskCommit(TaskAttemptContext task) {
            return false;
        }

        @Override
        public void commitTask(TaskAttemptContext task) {}

        @Override
        public void abortTask(TaskAttemptContext task) {}
    }

    /** The same for Hadoop's older interface. */
    public static final class OldDirect extends org.apache.hadoop.mapred.OutputCommitter {
        @Override
        public void setupJob(org.apache.hadoop.mapred.JobContext job) {}

        @Override
        public void setupTask(org.apache.hadoop.mapred.TaskAttemptContext task) {}

        @Override
        public boolean needsTaskCommit(org.apache.hadoop.mapred.TaskAttemptContext task) {
            return false;
        }

        @Override
        public void commitTask(org.apache.hadoop.mapred.TaskAttemptContext task) {}

        @Override
        public void abortTask(org.apache.hadoop.mapred.TaskAttemptContext task) {}
    }

    /** Calls itself one of Hadoop's committers of files, and writes files where they stay. */
    public static final class InPlace extends FileOutputCommitter {
        private final Path output;

        public InPlace(Path output, TaskAttemptContext task) throws IOException {
            super(output, task);
            this.output = output;
        }

        @Override
        public Path getWorkPath() {
            return output;
        }
    }

    /** Adds something to Hadoop's own commit. */
    public static final class Careful extends FileOutputCommitter {
        public Careful(Path output, TaskAttemptContext task) throws IOException {
            super(output, task);
        }

        @Override
        public void commitTask(TaskAttemptContext task) throws IOException {
            super.commitTask(task);
        }
    }

    /** A protocol whose ways are not known, whatever it is built on. */
    public static final class Protocol extends SQLHadoopMapReduceCommitProtocol {
        private static final long serialVersionUID = 1;

        public Protocol(String job, String path, boolean dynamic) {
            super(job, path, dynamic);
        }
    }
}
