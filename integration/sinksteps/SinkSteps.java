package yarnspec.sinksteps;

import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.spark.TaskContext;

/**
 * What becomes of an attempt at partition 0 that comes to the step which its job names: its executor dies, or the step
 * fails, or the attempt is held there until it is let go, whoever wants to kill it. Once for each job: the file that says
 * so has the stage's id and the attempt's task id in it.
 */
final class SinkSteps {
    private static final String WRITING = ".writing";
    private static final long LONGEST_MS = 60_000;
    private static final long POLL_MS = 20;

    private SinkSteps() {}

    static void reached(String step) throws IOException {
        TaskContext task = TaskContext.get();
        if (task == null || task.partitionId() != 0 || !step.equals(task.getLocalProperty("sinksteps.step"))) {
            return;
        }
        Path hit = Path.of(task.getLocalProperty("sinksteps.hit"));
        Path whole = Files.writeString(
                hit.resolveSibling(hit.getFileName() + "." + task.taskAttemptId()),
                task.stageId() + " " + task.taskAttemptId());
        try {
            Files.createLink(hit, whole); // only one comes first, and the file is whole at once
        } catch (FileAlreadyExistsException e) {
            return;
        }
        switch (task.getLocalProperty("sinksteps.way")) {
            case "killed" -> Runtime.getRuntime().halt(137);
            case "failed" -> throw new IOException("failed at " + step);
            default -> hold(hit.resolveSibling(hit.getFileName() + "-go"));
        }
    }

    private static void hold(Path go) throws IOException {
        long deadline = System.nanoTime() + LONGEST_MS * 1_000_000;
        while (!Files.exists(go)) {
            if (System.nanoTime() > deadline) {
                throw new IOException("nobody made " + go);
            }
            try {
                Thread.sleep(POLL_MS);
            } catch (InterruptedException e) {
                // Spark would kill it, and a slow loser does not hear of that at once.
            }
        }
    }

    /** How a file system makes a file. */
    interface Creation {
        FSDataOutputStream create() throws IOException;
    }

    /** Makes a file; that of an attempt comes to steps, as it is written as well. */
    static FSDataOutputStream created(org.apache.hadoop.fs.Path path, Creation creation) throws IOException {
        if (!isAttempt(path)) {
            return creation.create();
        }
        reached("create");
        FSDataOutputStream out = creation.create();
        reached("created");
        return watched(out);
    }

    /** A file was renamed, or was not. */
    static boolean renamed(org.apache.hadoop.fs.Path source, boolean done) throws IOException {
        if (isAttempt(source)) {
            reached("renamed");
        }
        return done;
    }

    private static boolean isAttempt(org.apache.hadoop.fs.Path path) {
        return path.getName().endsWith(WRITING);
    }

    /** The file of an attempt, which comes to steps as it is written. */
    private static FSDataOutputStream watched(FSDataOutputStream out) throws IOException {
        return new FSDataOutputStream(out, null) {
            private boolean closed;

            @Override
            public void write(byte[] piece) throws IOException {
                super.write(piece);
                reached("written");
            }

            @Override
            public void close() throws IOException {
                if (closed) {
                    return;
                }
                closed = true;
                reached("close");
                super.close();
                reached("closed");
            }
        };
    }
}
