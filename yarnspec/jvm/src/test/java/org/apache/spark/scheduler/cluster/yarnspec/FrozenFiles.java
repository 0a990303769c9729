package org.apache.spark.scheduler.cluster.yarnspec;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.net.URI;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;

/** Local files that are renamed as HDFS does it, under the scheme {@code viewfs}; who does something to them may be frozen. */
public final class FrozenFiles extends RawLocalFileSystem {
    static final String ROOT = "viewfs://frozen";

    /** What happens while somebody is frozen, once. */
    private record Freeze(String operation, String path, Runnable meanwhile) {}

    private static volatile Freeze next;
    /** Whether what is not there is told of as by local files. */
    static volatile boolean isLocal;

    /** @param operation {@code take} (rename or delete it), {@code list}, {@code listed} (at the end of that), {@code mkdirs} */
    static void freeze(String operation, Path path, Runnable meanwhile) {
        next = new Freeze(operation, path.toUri().getPath(), meanwhile);
    }

    /** Whether somebody was. */
    static boolean hasFrozen() {
        return next == null;
    }

    private static void at(String operation, Path path) {
        Freeze freeze = next;
        if (freeze != null && freeze.operation().equals(operation) && path.toUri().getPath().equals(freeze.path())) {
            next = null;
            freeze.meanwhile().run();
        }
    }

    @Override
    public URI getUri() {
        return URI.create(ROOT);
    }

    @Override
    public boolean rename(Path from, Path to) throws IOException {
        at("take", from);
        Path target = exists(to) && getFileStatus(to).isDirectory() ? new Path(to, from.getName()) : to;
        if (!exists(from) && isLocal) {
            throw new FileNotFoundException(from + " is not there, as local files say it");
        }
        return exists(from) && !exists(target) && exists(target.getParent()) && super.rename(from, target);
    }

    @Override
    public boolean delete(Path path, boolean recursive) throws IOException {
        at("take", path);
        return super.delete(path, recursive);
    }

    @Override
    public FileStatus[] listStatus(Path directory) throws IOException {
        at("list", directory);
        FileStatus[] all = super.listStatus(directory);
        at("listed", directory);
        return all;
    }

    @Override
    public boolean mkdirs(Path directory, FsPermission permission) throws IOException {
        return mkdirs(directory);
    }

    @Override
    public boolean mkdirs(Path directory) throws IOException {
        at("mkdirs", directory);
        return super.mkdirs(directory);
    }
}
