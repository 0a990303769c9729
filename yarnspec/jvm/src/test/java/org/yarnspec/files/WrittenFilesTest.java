package org.yarnspec.files;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.Set;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.TaskAttemptID;
import org.apache.hadoop.mapreduce.TaskID;
import org.apache.hadoop.mapreduce.TaskType;
import org.apache.hadoop.mapreduce.lib.output.FileOutputCommitter;
import org.apache.hadoop.mapreduce.task.TaskAttemptContextImpl;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** How far a commit has come, told by where its files are; with Hadoop's own committer. */
class WrittenFilesTest {
    private static final String JOB = "0b1c2d";
    private static final String SAVE = "5a5e";
    private static final int EPOCH = 3;

    @TempDir
    private Path output;

    private final Configuration conf = new Configuration(false);
    private FileSystem files;

    @BeforeEach
    void setUp() throws IOException {
        conf.set("mapreduce.job.application.attempt.id", String.valueOf(EPOCH));
        conf.set("mapreduce.fileoutputcommitter.algorithm.version", "1");
        files = FileSystem.getLocal(conf).getRaw();
    }

    private org.apache.hadoop.fs.Path root() {
        return new org.apache.hadoop.fs.Path(output.toUri());
    }

    private void write(Path file, String text) throws IOException {
        Files.createDirectories(file.getParent());
        Files.writeString(file, text);
    }

    private FileOutputCommitter writeTasks(Job job, boolean commitLast) throws IOException {
        FileOutputCommitter committer = null;
        for (int task = 0; task < 3; task++) {
            TaskID id = new TaskID("job", 1, TaskType.MAP, task);
            var context = new TaskAttemptContextImpl(job.getConfiguration(), new TaskAttemptID(id, 0));
            committer = new FileOutputCommitter(root(), context);
            committer.setupJob(context);
            Path work = Path.of(committer.getWorkPath().toUri().getPath());
            write(work.resolve("day=" + task + "/part-" + task + "-" + JOB), "rows " + "x".repeat(task));
            if (task < 2 || commitLast) {
                committer.commitTask(context);
            }
        }
        return committer;
    }

    private Job job() throws IOException {
        Job job = Job.getInstance(conf);
        job.setJobID(new org.apache.hadoop.mapreduce.JobID("job", 1));
        return job;
    }

    @Test
    void whatIsCommittedIsWhatIsShownThen() throws IOException {
        write(output.resolve("day=0/part-0-another"), "older");
        Job job = job();
        FileOutputCommitter committer = writeTasks(job, true);
        WrittenFiles before = WrittenFiles.ofCommittedTasks(committer, job, JOB);
        assertEquals(3, before.count());
        assertEquals(0, WrittenFiles.shown(files, root(), JOB).count());
        committer.commitJob(job);
        assertEquals(before, WrittenFiles.shown(files, root(), JOB));
        Files.writeString(output.resolve("day=1/part-1-" + JOB), "other rows");
        WrittenFiles altered = WrittenFiles.shown(files, root(), JOB);
        assertEquals(3, altered.count());
        assertNotEquals(before, altered);
    }

    @Test
    void jobsAreKnownByTheNamesOfTheirFiles() {
        String job = "01234567-89ab-cdef-0123-456789abcdef";
        assertEquals(Set.of(job), WrittenFiles.jobs("part-00000-" + job + "-c000.snappy.parquet"));
        assertEquals(Set.of(job), WrittenFiles.jobs("part-00000-" + job + "_00001.c000.csv"));
        assertEquals(Set.of(), WrittenFiles.jobs("part-00000"));
    }

    @Test
    void aTaskThatHasNotCommittedDoesNotCount() throws IOException {
        Job job = job();
        assertEquals(
                2,
                WrittenFiles.ofCommittedTasks(writeTasks(job, false), job, JOB).count());
    }

    @Test
    void algorithmTwoShowsFilesBeforeTheJobIsCommitted() throws IOException {
        conf.set("mapreduce.fileoutputcommitter.algorithm.version", "2");
        Job job = job();
        FileOutputCommitter committer = writeTasks(job, true);
        WrittenFiles before = WrittenFiles.ofCommittedTasks(committer, job, JOB);
        assertEquals(3, before.count());
        assertEquals(before, WrittenFiles.shown(files, root(), JOB));
    }

    @Test
    void whatIsUndoneLeavesWhatOthersWrote() throws IOException {
        write(output.resolve("day=0/part-0-another"), "older");
        write(output.resolve("_temporary/7/task_1/part-0-another"), "of another driver");
        Path beside = output.resolve("_temporary/" + EPOCH + "/task_9/part-0-another");
        write(beside, "of another application in the same epoch");
        Files.createDirectories(output.resolve("empty"));
        Job job = job();
        writeTasks(job, true);
        write(output.resolve("day=0/part-0-" + JOB), "moved already");
        write(output.resolve(".spark-staging-" + JOB + "/day=0/part-0-" + JOB), "staged");
        WrittenFiles.undo(files, root(), JOB, EPOCH);
        assertEquals(0, WrittenFiles.shown(files, root(), JOB).count());
        try (Stream<Path> left = Files.walk(output)) {
            assertEquals(
                    0,
                    left.filter(each -> each.getFileName().toString().contains(JOB))
                            .count());
        }
        assertTrue(Files.exists(beside));
        assertTrue(Files.exists(output.resolve("empty")));
        assertFalse(Files.exists(output.resolve(".spark-staging-" + JOB)));
        assertTrue(Files.exists(output.resolve("day=0/part-0-another")));
        assertTrue(Files.exists(output.resolve("_temporary/7/task_1/part-0-another")));
    }

    @Test
    void aDirectoryThatWasNotThereIsNotThereAgain() throws IOException {
        Path fresh = output.resolve("fresh");
        org.apache.hadoop.fs.Path path = new org.apache.hadoop.fs.Path(fresh.toUri());
        write(fresh.resolve("_temporary/" + EPOCH + "/0/part-0-" + JOB), "rows");
        write(fresh.resolve("day=0/hour=1/part-0-" + JOB), "moved already");
        WrittenFiles.undo(files, path, JOB, EPOCH);
        WrittenFiles.removeIfEmpty(files, path);
        assertFalse(Files.exists(fresh));
        WrittenFiles.undo(files, path, JOB, EPOCH); // and again
        Files.createDirectories(fresh);
        WrittenFiles.undo(files, path, JOB, EPOCH);
        assertTrue(Files.exists(fresh));
    }

    @Test
    void aCommitIsFinishedAsHadoopDoesIt() throws IOException {
        writeTasks(job(), true);
        WrittenFiles.finish(files, root(), JOB, EPOCH, conf);
        assertFalse(Files.exists(output.resolve("_temporary")));
        assertTrue(Files.exists(output.resolve("_SUCCESS")));
    }

    /** A save of an RDD: its files have the names of any save. */
    private FileOutputCommitter save(Job job) throws IOException {
        FileOutputCommitter committer = writeTasks(job, true);
        WrittenFiles.mark(root(), job, SAVE);
        return committer;
    }

    @Test
    void aSaveThatIsNotCommittedGoesAsAWhole() throws IOException {
        save(job());
        write(output.resolve("part-00000"), "moved already");
        assertFalse(WrittenFiles.undoSave(files, root(), SAVE, EPOCH + 1));
        assertFalse(WrittenFiles.undoSave(files, root(), "another", EPOCH));
        assertTrue(Files.exists(output.resolve("part-00000")));
        assertTrue(WrittenFiles.undoSave(files, root(), SAVE, EPOCH));
        assertFalse(Files.exists(output));
        assertTrue(WrittenFiles.undoSave(files, root(), SAVE, EPOCH)); // and again
    }

    @Test
    void aSaveBesideWhichOthersWriteStays() throws IOException {
        save(job());
        write(output.resolve("_temporary/7/task_1/part-00000"), "of another driver");
        assertFalse(WrittenFiles.undoSave(files, root(), SAVE, EPOCH));
        assertTrue(Files.exists(output.resolve("_temporary/7/task_1/part-00000")));
    }

    @Test
    void aSaveThatHadNotBegunLeavesNoEmptyDirectory() throws IOException {
        Path fresh = output.resolve("fresh");
        Files.createDirectories(fresh.resolve("_temporary/" + EPOCH + "/_temporary"));
        assertTrue(WrittenFiles.undoSave(files, new org.apache.hadoop.fs.Path(fresh.toUri()), SAVE, EPOCH));
        assertFalse(Files.exists(fresh));
    }

    @Test
    void whatASaveIsAboutToShowIsAllThatIsShownThen() throws IOException {
        Job job = job();
        FileOutputCommitter committer = save(job);
        WrittenFiles before = WrittenFiles.ofCommittedTasks(root(), job);
        assertEquals(3, before.count());
        committer.commitJob(job);
        assertEquals(before, WrittenFiles.shown(files, root(), WrittenFiles.ALL));
        assertFalse(Files.exists(output.resolve("_temporary")));
        assertFalse(WrittenFiles.undoSave(files, root(), SAVE, EPOCH));
        assertEquals(before, WrittenFiles.shown(files, root(), WrittenFiles.ALL));
        write(output.resolve("part-00009"), "of somebody else");
        assertNotEquals(before, WrittenFiles.shown(files, root(), WrittenFiles.ALL));
        Files.delete(output.resolve("part-00009"));
        assertEquals(before, WrittenFiles.shown(files, root(), WrittenFiles.ALL));
        // Another save's have the same names, and may be as long.
        Path one;
        try (Stream<Path> all = Files.walk(output)) {
            one = all.filter(each -> each.getFileName().toString().startsWith("part-"))
                    .findFirst()
                    .get();
        }
        Files.setLastModifiedTime(one, FileTime.fromMillis(1_000));
        assertNotEquals(before, WrittenFiles.shown(files, root(), WrittenFiles.ALL));
    }
}
