package org.yarnspec.write;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Arrays;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsAction;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.security.UserGroupInformation;

/** Local files that are renamed and deleted as HDFS does it, under its scheme; who does something to them may be frozen. */
public final class FrozenFiles extends RawLocalFileSystem {
    static final String ROOT = "hdfs://frozen";

    /** What happens meanwhile, once; the operation fails when it does. */
    interface Happening {
        void happen() throws IOException;
    }

    private record Freeze(String operation, String path, Happening meanwhile) {}

    private static volatile Freeze next;
    /** What is not renamed, nor made. */
    static volatile Path stays;
    /** The key of a directory that is another user's, wherever it is moved to. */
    static volatile Object others;
    /** Whether what is not there is told of as by local files. */
    static volatile boolean isLocal;

    /** @param operation {@code take} (rename or delete it), {@code list}, {@code listed} (at the end of that), {@code mkdirs} */
    static void freeze(String operation, Path path, Happening meanwhile) {
        next = new Freeze(operation, path.toUri().getPath(), meanwhile);
    }

    /** Whether somebody was. */
    static boolean hasFrozen() {
        return next == null;
    }

    private static void at(String operation, Path path) throws IOException {
        Freeze freeze = next;
        if (freeze != null
                && freeze.operation().equals(operation)
                && path.toUri().getPath().equals(freeze.path())) {
            next = null;
            freeze.meanwhile().happen();
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
        return !from.equals(stays)
                && exists(from)
                && !exists(target)
                && exists(target.getParent())
                && super.rename(from, target);
    }

    @Override
    public boolean delete(Path path, boolean recursive) throws IOException {
        at("take", path);
        if (exists(path)) {
            checkRights(getFileStatus(path));
        }
        return super.delete(path, recursive);
    }

    /** Of all directories that are not empty somebody needs all rights to delete them; to move them none. */
    private void checkRights(FileStatus top) throws IOException {
        FileStatus[] all = top.isDirectory() ? listStatus(top.getPath()) : new FileStatus[0];
        if (all.length > 0) {
            access(top.getPath(), FsAction.ALL);
        }
        for (FileStatus each : all) {
            checkRights(each);
        }
    }

    @Override
    public FileStatus[] listStatus(Path directory) throws IOException {
        at("list", directory);
        access(directory, FsAction.READ);
        FileStatus[] all = super.listStatus(directory);
        Arrays.sort(all);
        for (int each = 0; each < all.length; each++) {
            all[each] = withRights(all[each]);
        }
        at("listed", directory);
        return all;
    }

    @Override
    public FileStatus getFileStatus(Path path) throws IOException {
        return withRights(super.getFileStatus(path));
    }

    static Object key(java.nio.file.Path file) throws IOException {
        return Files.readAttributes(file, BasicFileAttributes.class).fileKey();
    }

    /** The local one's own look for them by the scheme of local files. */
    private FileStatus withRights(FileStatus status) throws IOException {
        var file = pathToFile(status.getPath()).toPath();
        return new FileStatus(
                status.getLen(),
                status.isDirectory(),
                1,
                status.getBlockSize(),
                status.getModificationTime(),
                0,
                FsPermission.valueOf("-" + PosixFilePermissions.toString(Files.getPosixFilePermissions(file))),
                key(file).equals(others)
                        ? "somebody"
                        : UserGroupInformation.getCurrentUser().getShortUserName(),
                "",
                status.getPath());
    }

    @Override
    public boolean mkdirs(Path directory, FsPermission permission) throws IOException {
        return mkdirs(directory);
    }

    @Override
    public boolean mkdirs(Path directory) throws IOException {
        at("mkdirs", directory);
        return !directory.equals(stays) && super.mkdirs(directory);
    }
}
