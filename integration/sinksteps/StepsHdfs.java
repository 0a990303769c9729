package yarnspec.sinksteps;

import java.io.IOException;
import java.util.EnumSet;
import org.apache.hadoop.fs.CreateFlag;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.hdfs.DistributedFileSystem;
import org.apache.hadoop.util.Progressable;

/** HDFS for the executors of a sink's job. */
public class StepsHdfs extends DistributedFileSystem {
    @Override
    public FSDataOutputStream createNonRecursive(
            Path path, FsPermission permission, EnumSet<CreateFlag> flags, int buffer, short replication, long block,
            Progressable progress) throws IOException {
        if (!Steps.isAttempt(path)) {
            return super.createNonRecursive(path, permission, flags, buffer, replication, block, progress);
        }
        Steps.reached("create");
        FSDataOutputStream out =
                super.createNonRecursive(path, permission, flags, buffer, replication, block, progress);
        Steps.reached("created");
        return Steps.watched(out);
    }

    @Override
    public boolean rename(Path source, Path target) throws IOException {
        boolean done = super.rename(source, target);
        if (Steps.isAttempt(source)) {
            Steps.reached("renamed");
        }
        return done;
    }
}
