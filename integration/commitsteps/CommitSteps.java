package yarnspec.commitsteps;

import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.TaskContext;

/**
 * Holds a second attempt of partition 0 where it comes to the step of the commit that its job names, until it is killed.
 * Once for each job: the file that says so has the stage's id and the attempt's task id in it.
 *
 * <p>And holds the driver where it commits a job, when it is told a directory for that: it makes at-STEP there and goes
 * on when there is go-STEP.
 */
final class CommitSteps {
    private static final long LONGEST_MS = 60_000;
    private static final long POLL_MS = 20;

    private CommitSteps() {}

    static void reached(String step) throws IOException {
        TaskContext task = TaskContext.get();
        if (task == null || task.partitionId() != 0 || task.attemptNumber() == 0) {
            return;
        }
        if (!step.equals(task.getLocalProperty("commitsteps.step"))) {
            return;
        }
        Path hit = Path.of(task.getLocalProperty("commitsteps.hit"));
        Path whole = Files.writeString(
                hit.resolveSibling(hit.getFileName() + "." + task.taskAttemptId()),
                task.stageId() + " " + task.taskAttemptId());
        try {
            Files.createLink(hit, whole); // only one comes first, and the file is whole at once
        } catch (FileAlreadyExistsException e) {
            return;
        }
        try {
            Thread.sleep(LONGEST_MS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("killed at " + step, e);
        }
        throw new IOException("nobody killed the attempt at " + step);
    }

    static void hold(Configuration conf, String step) throws IOException {
        String directory = conf.get("commitsteps.directory");
        if (directory == null) {
            return;
        }
        Files.write(Path.of(directory, "at-" + step), new byte[0]);
        long deadline = System.nanoTime() + LONGEST_MS * 1_000_000;
        while (!Files.exists(Path.of(directory, "go-" + step))) {
            if (System.nanoTime() > deadline) {
                throw new IOException("nobody let the driver go on at " + step);
            }
            try {
                Thread.sleep(POLL_MS);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IOException("interrupted at " + step, e);
            }
        }
    }
}
