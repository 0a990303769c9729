package yarnspec.commitsteps;

import java.io.IOException;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.hdfs.DistributedFileSystem;
import org.apache.hadoop.util.Progressable;

/** HDFS for a driver that is held when it is about to show the first file of a job, and when it has shown them all. */
public class GatedHdfs extends DistributedFileSystem {
    private static final String HIDDEN = "/_temporary/";

    @Override
    public boolean rename(Path source, Path target) throws IOException {
        if (isHidden(source) && !isHidden(target)) {
            CommitSteps.hold(getConf(), "commitJob");
        }
        return super.rename(source, target);
    }

    @Override
    public FSDataOutputStream create(
            Path path,
            FsPermission permission,
            boolean overwrite,
            int buffer,
            short replication,
            long block,
            Progressable progress)
            throws IOException {
        FSDataOutputStream out = super.create(path, permission, overwrite, buffer, replication, block, progress);
        if (path.getName().equals("_SUCCESS")) {
            CommitSteps.hold(getConf(), "shown");
        }
        return out;
    }

    private static boolean isHidden(Path path) {
        return path.toString().contains(HIDDEN);
    }
}
