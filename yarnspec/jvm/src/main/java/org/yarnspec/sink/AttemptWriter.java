package org.yarnspec.sink;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.EnumSet;
import java.util.Iterator;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.CreateFlag;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.function.FlatMapFunction;
import org.apache.spark.util.SerializableConfiguration;

/**
 * One attempt at a partition: writes the pieces that come from Python to a file of the attempt's own, and gives its name.
 *
 * <p>The file is created in a directory that has to be there: once the driver has moved it away, an attempt that comes late
 * cannot write anything that somebody would find. The name says that the file is whole, and comes last.
 */
public final class AttemptWriter implements FlatMapFunction<Iterator<byte[]>, byte[]> {
    static final String WRITING = ".writing";
    private static final long serialVersionUID = 1;

    private final String attempts;
    private final int epoch;
    private final SerializableConfiguration conf;

    AttemptWriter(String attempts, int epoch, SerializableConfiguration conf) {
        this.attempts = attempts;
        this.epoch = epoch;
        this.conf = conf;
    }

    /** Returns to the driver the file's name, its size, and the stage attempt that it was written in. */
    @Override
    public Iterator<byte[]> call(Iterator<byte[]> chunks) throws IOException {
        TaskContext task = TaskContext.get();
        String name = name(task.partitionId(), epoch, task.taskAttemptId());
        Path directory = new Path(attempts);
        long size = write(files(directory, conf.value()), directory, name, chunks);
        String told = name + " " + size + " " + task.stageId() + " " + task.stageAttemptNumber();
        return Collections.singleton(told.getBytes(StandardCharsets.UTF_8)).iterator();
    }

    /** The name of an attempt's file once it is whole. */
    static String name(int partition, int epoch, long task) {
        return String.format("%05d.e%d.t%d", partition, epoch, task);
    }

    static long write(FileSystem files, Path directory, String name, Iterator<byte[]> chunks) throws IOException {
        boolean some = chunks.hasNext(); // The user's writer has ended: what fails before leaves nothing here.
        Path writing = new Path(directory, name + WRITING);
        long size = 0;
        try {
            try (OutputStream out = create(files, writing)) {
                while (some) {
                    byte[] chunk = chunks.next();
                    out.write(chunk);
                    size += chunk.length;
                    some = chunks.hasNext();
                }
            }
            if (!files.rename(writing, new Path(directory, name))) {
                throw new IOException("cannot rename " + writing + ": the output has been published or given up");
            }
        } catch (IOException | RuntimeException e) {
            try {
                files.delete(writing, false);
            } catch (IOException also) {
                e.addSuppressed(also); // The driver deletes the directory.
            }
            throw e;
        }
        return size;
    }

    /** Not by the method that takes a boolean: for local files that one makes missing directories. */
    static OutputStream create(FileSystem files, Path path) throws IOException {
        // Null: the process's own; Hadoop would start a `chmod` to set another one.
        FsPermission permission = files instanceof RawLocalFileSystem ? null : FsPermission.getFileDefault();
        return files.createNonRecursive(
                path,
                permission,
                EnumSet.of(CreateFlag.CREATE),
                files.getConf().getInt("io.file.buffer.size", 4096),
                files.getDefaultReplication(path),
                files.getDefaultBlockSize(path),
                null);
    }

    /** Local files without the checksums that Hadoop puts beside them. */
    static FileSystem files(Path directory, Configuration conf) throws IOException {
        FileSystem files = directory.getFileSystem(conf);
        return files instanceof LocalFileSystem local ? local.getRawFileSystem() : files;
    }
}
