package org.yarnspec.executor;

import org.apache.spark.SparkConf;

/**
 * The driver's configuration for kept map outputs. Values of options always come with it: their defaults are in Python.
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
                Long.parseLong(conf.get("spark.yarnspec.recovery.window_ms")),
                Boolean.parseBoolean(conf.get("spark.yarnspec.recovery.verify_checksums")),
                conf.getBoolean("spark.shuffle.checksum.enabled", true),
                Long.parseLong(conf.get("spark.yarnspec.recovery.keep_bytes")),
                conf.getLong("spark.yarnspec.recovery.sweep_ms", 30_000));
    }
}
