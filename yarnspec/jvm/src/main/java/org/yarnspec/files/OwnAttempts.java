package org.yarnspec.files;

import java.io.IOException;
import java.io.UncheckedIOException;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapreduce.JobContext;
import org.apache.hadoop.mapreduce.OutputCommitter;
import org.apache.hadoop.mapreduce.TaskAttemptContext;
import org.apache.hadoop.mapreduce.lib.output.FileOutputCommitter;
import org.apache.parquet.hadoop.ParquetOutputCommitter;

/**
 * Hadoop's committers, which clean up as ever, but leave alone what a newer driver is writing to the same directory: its
 * epoch is the number of its attempt there.
 */
public final class OwnAttempts {
    private static final int DIGITS_MAX = 9;

    private OwnAttempts() {}

    /**
     * A committer of the same kind. One that is neither Hadoop's own nor Parquet's is returned as it is.
     *
     * @param ask returns when this driver may go on
     */
    public static OutputCommitter of(OutputCommitter committer, TaskAttemptContext context, Runnable ask) {
        try {
            if (committer.getClass() == FileOutputCommitter.class) {
                return new OfFiles(((FileOutputCommitter) committer).getOutputPath(), context, ask);
            } else if (committer.getClass() == ParquetOutputCommitter.class) {
                return new OfParquet(((FileOutputCommitter) committer).getOutputPath(), context, ask);
            }
            return committer;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Whether it keeps its files where Hadoop's committers keep them: others that extend these may have them elsewhere. */
    public static boolean isOne(OutputCommitter committer) {
        return committer instanceof OfFiles || committer instanceof OfParquet;
    }

    public static final class OfFiles extends FileOutputCommitter {
        private final Runnable ask;

        public OfFiles(Path output, JobContext context, Runnable ask) throws IOException {
            super(output, context);
            this.ask = ask;
        }

        public OfFiles(Path output, TaskAttemptContext context, Runnable ask) throws IOException {
            super(output, context);
            this.ask = ask;
        }

        @Override
        @Deprecated
        public void cleanupJob(JobContext context) throws IOException {
            remove(this, context, ask);
        }
    }

    private static final class OfParquet extends ParquetOutputCommitter {
        private final Runnable ask;

        OfParquet(Path output, TaskAttemptContext context, Runnable ask) throws IOException {
            super(output, context);
            this.ask = ask;
        }

        @Override
        @Deprecated
        public void cleanupJob(JobContext context) throws IOException {
            remove(this, context, ask);
        }
    }

    private static void remove(FileOutputCommitter committer, JobContext context, Runnable ask) throws IOException {
        if (!committer.hasOutputPath()) {
            return;
        }
        Path own = committer.getJobAttemptPath(context);
        FileSystem files = own.getFileSystem(context.getConfiguration());
        boolean asked = false;
        for (FileStatus attempt : WrittenFiles.list(files, own.getParent())) {
            if (!asked && number(attempt.getPath()) > number(own)) {
                ask.run(); // when this is the newest driver, that is a dead application's
                asked = true;
            }
            files.delete(attempt.getPath(), true);
        }
        try {
            files.delete(own.getParent(), false);
        } catch (IOException e) {
            if (WrittenFiles.list(files, own.getParent()).length == 0) { // else a newer driver has begun meanwhile
                throw e;
            }
        }
    }

    private static int number(Path attempt) {
        String name = attempt.getName();
        return name.length() <= DIGITS_MAX && name.matches("[0-9]+") ? Integer.parseInt(name) : 0;
    }
}
