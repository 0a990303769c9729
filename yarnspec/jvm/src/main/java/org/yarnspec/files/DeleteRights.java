package org.yarnspec.files;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.file.Files;
import java.util.List;
import java.util.stream.Stream;
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
public final class DeleteRights {
    private DeleteRights() {}

    /**
     * Checks a directory without those in it. To delete it, all rights to it are needed, unless it is empty. A
     * directory that cannot be listed counts as not empty.
     *
     * @throws AccessControlException it may not be deleted
     */
    static void check(FileSystem files, FileStatus directory) throws IOException {
        Path path = directory.getPath();
        if (isLink(files, path)) {
            return;
        }
        try {
            if (!Overwritten.isLocal(files)) {
                if (!isOwn(directory)) {
                    files.access(path, FsAction.ALL);
                }
            } else if (!mayWrite(local(path))) { // Hadoop starts a process to know a local file's owner
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

    /** Whether it is another user's directory, in which, and below which, this one sees nothing and can put nothing. */
    static boolean isClosed(FileSystem files, FileStatus directory) throws IOException {
        if (isUsers(directory)) {
            return false;
        }
        try {
            files.access(directory.getPath(), FsAction.EXECUTE);
            return false;
        } catch (AccessControlException e) {
            return true;
        }
    }

    /** Of which only the name is deleted, whatever it leads to: one of local files. */
    public static boolean isLink(FileSystem files, Path path) {
        return Overwritten.isLocal(files) && Files.isSymbolicLink(local(path));
    }

    /** Finds also links that lead nowhere, which Hadoop does not list. */
    public static boolean holdsLink(FileSystem files, Path directory) throws IOException {
        if (!Overwritten.isLocal(files)) {
            return false;
        }
        try (Stream<java.nio.file.Path> all = Files.list(local(directory))) {
            return all.anyMatch(Files::isSymbolicLink);
        }
    }

    private static java.nio.file.Path local(Path path) {
        return java.nio.file.Path.of(path.toUri().getPath());
    }

    private static boolean isOwn(FileStatus directory) throws IOException {
        return directory.getPermission().getUserAction().implies(FsAction.ALL) && isUsers(directory);
    }

    private static boolean isUsers(FileStatus directory) throws IOException {
        return directory.getOwner().equals(UserGroupInformation.getCurrentUser().getShortUserName());
    }

    private static boolean mayWrite(java.nio.file.Path directory) {
        return !Files.exists(directory)
                || Files.isReadable(directory) && Files.isWritable(directory) && Files.isExecutable(directory);
    }

    /** Of the directories in one. */
    public static void checkIn(FileSystem files, Path directory) throws IOException {
        WrittenFiles.inParallel(List.of(WrittenFiles.list(files, directory)), each -> {
            if (each.isDirectory()) {
                check(files, each);
            }
            return List.of();
        });
    }

    /** Of several directories, as far as these are there, with all in them. */
    public static void checkAll(FileSystem files, List<Path> places) throws IOException {
        List<FileStatus> tops = WrittenFiles.inParallel(places, each -> {
            try {
                FileStatus there = files.getFileStatus(each);
                return there.isDirectory() ? List.of(there) : List.of();
            } catch (FileNotFoundException e) {
                return List.of();
            }
        });
        WrittenFiles.walk(tops, each -> list(files, each));
    }

    /** The entries of a directory that may be deleted; of a link, none. */
    static FileStatus[] list(FileSystem files, FileStatus directory) throws IOException {
        check(files, directory);
        Path path = directory.getPath();
        return isLink(files, path) ? new FileStatus[0] : WrittenFiles.list(files, path);
    }
}
