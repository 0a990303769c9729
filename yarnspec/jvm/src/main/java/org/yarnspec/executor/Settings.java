package org.yarnspec.executor;

import org.apache.spark.SparkConf;

/**
 * The driver's configuration for kept map outputs.
 *
 * @param epoch the number of the driver epoch
 * @param windowMs how long after its start an executor may take over outputs of earlier epochs
 * @param checksums whether data is read and compared before it is taken over
 * @param checksumsWritten whether Spark writes checksums
 * @param keepBytes how much of gone executors' outputs may lie on a host; 0 for any amount
 * @param sweepMs how often an executor looks after what lies on its host
 */
record Settings(
        String application,
        int epoch,
        long windowMs,
        boolean checksums,
        boolean checksumsWritten,
        long keepBytes,
        long sweepMs) {
    static Settings of(SparkConf conf) {
        return new Settings(
                conf.get("spark.yarnspec.app.id"),
                conf.getInt("spark.yarnspec.epoch", 1),
                conf.getLong("spark.yarnspec.recovery.window_ms", 30_000),
                conf.getBoolean("spark.yarnspec.recovery.verify_checksums", true),
                conf.getBoolean("spark.shuffle.checksum.enabled", true),
                conf.getLong("spark.yarnspec.recovery.keep_bytes", 50L << 30),
                conf.getLong("spark.yarnspec.recovery.sweep_ms", 30_000));
    }
}
