package org.yarnspec.write;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.util.function.Supplier;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;

/** Names of files and directories: always the same for the same one, with the port of its NameNode or without. */
final class QualifiedPaths {
    private static final String HDFS = "hdfs";
    private static final int HDFS_PORT = 8020;

    private final Supplier<Configuration> conf;

    QualifiedPaths(Supplier<Configuration> conf) {
        this.conf = conf;
    }

    /** @throws UncheckedIOException its file system is not there */
    String of(Path path) {
        try {
            Path whole = path.getFileSystem(conf.get()).makeQualified(path);
            URI uri = whole.toUri();
            boolean bare = HDFS.equals(uri.getScheme())
                    && uri.getPort() < 0
                    && conf.get().get("dfs.ha.namenodes." + uri.getHost()) == null;
            return bare ? new Path(HDFS, uri.getHost() + ":" + HDFS_PORT, uri.getPath()).toString() : whole.toString();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
