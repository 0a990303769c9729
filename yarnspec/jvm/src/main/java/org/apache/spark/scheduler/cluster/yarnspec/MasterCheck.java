package org.apache.spark.scheduler.cluster.yarnspec;

import org.apache.spark.SparkConf;
import org.apache.spark.scheduler.SparkListener;

/**
 * Refuses a program whose code sets a master that is not ours, before any task runs.
 *
 * <p>With such a master Spark never asks {@link ClusterManager}. The launcher names this class in
 * {@code spark.extraListeners}; Spark makes it while a SparkContext starts, whatever the master, and an exception here
 * ends that start, so the program's traceback shows the line.
 */
public final class MasterCheck extends SparkListener {
    public MasterCheck(SparkConf conf) {
        String master = conf.get("spark.master", "");
        if (!ClusterManager.isOurs(master)) {
            throw new IllegalArgumentException("The program sets the master \"" + master
                    + "\" in its code, but it runs on YARN under yarnspec. Remove master(...), or say master(\"yarn\").");
        }
    }
}
