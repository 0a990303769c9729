package org.apache.spark.scheduler.cluster.yarnspec;

import java.io.File;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsAction;
import org.apache.hadoop.security.AccessControlException;
import org.apache.hadoop.security.UserGroupInformation;

/**
 * Whether this user may delete directories, as Spark would. HDFS, and local files, let one move a directory of which one may
 * not delete what is in it: a write that moves what it overwrites has to ask for itself. What the sticky bit of a directory
 * forbids is not looked at.
 */
final class DeleteRights {
    private DeleteRights() {}

    /**
     * Of a directory without those in it: whoever deletes it needs all rights to it, unless it is empty (one that cannot be
     * listed counts as not empty).
     *
     * @throws AccessControlException it may not be deleted
     */
    static void check(FileSystem files, FileStatus directory) throws IOException {
        Path path = directory.getPath();
        try {
            if (!Overwritten.isLocal(files)) {
                if (!isOwn(directory)) {
                    files.access(path, FsAction.ALL);
                }
            } else if (!mayWrite(new File(path.toUri().getPath()))) { // Hadoop starts a process to know a local file's owner
                throw new AccessControlException("Permission denied: what is in " + path + " cannot be deleted");
            }
        } catch (FileNotFoundException e) {
            // somebody else has deleted it
        } catch (AccessControlException e) {
            if (WrittenFiles.list(files, path).length > 0) {
                throw e;
            }
        }
    }

    private static boolean isOwn(FileStatus directory) throws IOException {
        return directory.getPermission().getUserAction().implies(FsAction.ALL)
                && directory.getOwner().equals(UserGroupInformation.getCurrentUser().getShortUserName());
    }

    private static boolean mayWrite(File directory) {
        return !directory.exists() || directory.canRead() && directory.canWrite() && directory.canExecute();
    }

    /** Of several directories, as far as these are there, with all in them. */
    static void checkAll(FileSystem files, List<Path> places) throws IOException {
        List<FileStatus> tops = WrittenFiles.inParallel(places, each -> {
            try {
                FileStatus there = files.getFileStatus(each);
                return there.isDirectory() ? List.of(there) : List.of();
            } catch (FileNotFoundException e) {
                return List.of();
            }
        });
        WrittenFiles.walk(tops, each -> {
            check(files, each);
            return WrittenFiles.list(files, each.getPath());
        });
    }
}
