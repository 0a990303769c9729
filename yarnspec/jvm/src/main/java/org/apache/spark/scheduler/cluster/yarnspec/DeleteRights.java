package org.apache.spark.scheduler.cluster.yarnspec;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsAction;
import org.apache.hadoop.security.AccessControlException;
import org.apache.hadoop.security.UserGroupInformation;

/**
 * Whether this user may delete directories, as Spark would. HDFS lets one move a directory of which one may not delete what
 * is in it: a write that moves what it overwrites has to ask for itself.
 */
final class DeleteRights {
    private static final Set<String> HDFS = Set.of("hdfs", "viewfs");

    private DeleteRights() {}

    /**
     * Of a directory without those in it: whoever deletes it needs all rights to it, unless it is empty.
     *
     * @throws AccessControlException it may not be deleted
     */
    static void check(FileSystem files, FileStatus directory) throws IOException {
        if (!isAsked(files) || isOwn(directory)) {
            return;
        }
        try {
            files.access(directory.getPath(), FsAction.ALL);
        } catch (FileNotFoundException e) {
            // somebody else has deleted it
        } catch (AccessControlException e) {
            if (WrittenFiles.list(files, directory.getPath()).length > 0) {
                throw e;
            }
        }
    }

    /** Local files refuse the move as well. */
    private static boolean isAsked(FileSystem files) {
        return HDFS.contains(files.getUri().getScheme());
    }

    private static boolean isOwn(FileStatus directory) throws IOException {
        return directory.getPermission().getUserAction().implies(FsAction.ALL)
                && directory.getOwner().equals(UserGroupInformation.getCurrentUser().getShortUserName());
    }

    /** Of several directories, as far as these are there, with all in them; several at a time. */
    static void checkAll(FileSystem files, List<Path> places) throws IOException {
        if (isAsked(files)) {
            List<Callable<Boolean>> looks = new ArrayList<>();
            places.forEach(each -> looks.add(() -> checkBelow(files, each)));
            WrittenFiles.inParallel(looks);
        }
    }

    private static boolean checkBelow(FileSystem files, Path place) throws IOException {
        try {
            checkTree(files, files.getFileStatus(place));
            return true;
        } catch (FileNotFoundException e) {
            return false;
        }
    }

    private static void checkTree(FileSystem files, FileStatus top) throws IOException {
        if (top.isDirectory()) {
            check(files, top);
            for (FileStatus each : WrittenFiles.list(files, top.getPath())) {
                checkTree(files, each);
            }
        }
    }
}
