package org.yarnspec.recovery;

import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkConf;
import org.apache.spark.shuffle.ShuffleHandle;
import org.apache.spark.shuffle.sort.SortShuffleManager;

/**
 * Spark's own shuffle manager, which in the driver lets a shuffle begin with the map outputs that an earlier driver of the
 * application left behind. Executors have the stock one: {@code ClusterManager} sees to it.
 */
public final class ResumingShuffleManager extends SortShuffleManager {
    private static final String KEY = "spark.shuffle.manager";
    private static final String STOCK = "sort";

    public ResumingShuffleManager(SparkConf conf) {
        super(conf);
    }

    /** Has executors, which ask for the driver's configuration, take Spark's own. */
    public static void keepFromExecutors(SparkConf conf) {
        if (conf.get(KEY, STOCK).equals(ResumingShuffleManager.class.getName())) {
            conf.set(KEY, STOCK);
        }
    }

    /** Runs in the constructor of the dependency, before anybody has asked for its number. */
    @Override
    public <K, V, C> ShuffleHandle registerShuffle(int shuffleId, ShuffleDependency<K, V, C> dependency) {
        Recovery recovery = Recovery.current();
        return super.registerShuffle(
                recovery == null ? shuffleId : recovery.register(shuffleId, dependency), dependency);
    }

    /** Runs when Spark forgets the shuffle everywhere. */
    @Override
    public boolean unregisterShuffle(int shuffleId) {
        Recovery recovery = Recovery.current();
        if (recovery != null) {
            recovery.dropped(shuffleId);
        }
        return super.unregisterShuffle(shuffleId);
    }
}
