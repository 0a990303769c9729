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
            Path path,
            FsPermission permission,
            EnumSet<CreateFlag> flags,
            int buffer,
            short replication,
            long block,
            Progressable progress)
            throws IOException {
        return SinkSteps.created(
                path, () -> super.createNonRecursive(path, permission, flags, buffer, replication, block, progress));
    }

    @Override
    public boolean rename(Path source, Path target) throws IOException {
        return SinkSteps.renamed(source, super.rename(source, target));
    }
}
