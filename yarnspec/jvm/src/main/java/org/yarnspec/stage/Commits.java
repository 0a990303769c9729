package org.yarnspec.stage;

import java.lang.invoke.SerializedLambda;
import java.lang.reflect.Method;
import java.util.Set;
import org.apache.spark.internal.io.FileCommitProtocol;
import org.yarnspec.spark.Fields;

/**
 * Whether a commit of files is one that shows nothing of an attempt before the driver has let it commit.
 *
 * <p>Two parts have a say: Spark's protocol, and the committer of Hadoop's that it calls. A "direct" committer writes each
 * file where it shall stay and has nothing to commit, so Spark does not even ask the driver (SparkHadoopMapRedUtil); two
 * attempts of a task would write the same file, and the one that loses may delete it.
 */
final class Commits {
    private static final Set<String> PROTOCOLS = Set.of(
            "org.apache.spark.internal.io.HadoopMapRedCommitProtocol",
            "org.apache.spark.internal.io.HadoopMapReduceCommitProtocol",
            "org.apache.spark.internal.io.cloud.PathOutputCommitProtocol",
            "org.apache.spark.sql.execution.datasources.SQLHadoopMapReduceCommitProtocol");
    /** They stand for the committer in their field of that name, which the file system of the output has chosen. */
    private static final Set<String> BINDINGS = Set.of(
            "org.apache.hadoop.mapreduce.lib.output.BindingPathOutputCommitter",
            "org.apache.spark.internal.io.cloud.BindingParquetOutputCommitter");

    private static final String COMMITTER = "committer";
    private static final String HADOOP = "org.apache.hadoop.";
    private static final int DEPTH_MAX = 3;

    private Commits() {}

    /** The protocol that a function holds, be it inside the functions that it wraps; null when there is none. */
    static FileCommitProtocol protocolIn(Object function) {
        return protocolIn(function, 0);
    }

    private static FileCommitProtocol protocolIn(Object function, int depth) {
        SerializedLambda lambda = function == null || depth > DEPTH_MAX ? null : Fields.lambda(function);
        for (int i = 0; lambda != null && i < lambda.getCapturedArgCount(); i++) {
            Object held = lambda.getCapturedArg(i);
            FileCommitProtocol found =
                    held instanceof FileCommitProtocol protocol ? protocol : protocolIn(held, depth + 1);
            if (found != null) {
                return found;
            }
        }
        return null;
    }

    /** Whether protocol and committer are known. The job is set up by then: without a committer nothing is known. */
    static boolean known(FileCommitProtocol protocol) {
        if (!(protocol instanceof CoordinatedCommit)
                && (protocol == null || !PROTOCOLS.contains(protocol.getClass().getName()))) {
            return false;
        }
        Object committer = Fields.get(protocol, COMMITTER);
        while (committer != null && BINDINGS.contains(committer.getClass().getName())) {
            committer = Fields.get(committer, COMMITTER);
        }
        return committer != null && known(committer.getClass());
    }

    /** Hadoop's own committers of files, and those above them that leave it to Hadoop where an attempt writes. */
    private static boolean known(Class<?> committer) {
        Class<?> each = committer;
        for (; !each.getName().startsWith(HADOOP); each = each.getSuperclass()) {
            for (Method method : each.getDeclaredMethods()) {
                if (method.getName().endsWith("Path")) {
                    return false;
                }
            }
        }
        return org.apache.hadoop.mapred.FileOutputCommitter.class.isAssignableFrom(each)
                || org.apache.hadoop.mapreduce.lib.output.PathOutputCommitter.class.isAssignableFrom(each)
                        && each != org.apache.hadoop.mapreduce.lib.output.PathOutputCommitter.class;
    }
}
