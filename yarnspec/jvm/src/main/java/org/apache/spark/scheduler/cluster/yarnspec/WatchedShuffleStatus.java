package org.apache.spark.scheduler.cluster.yarnspec;

import org.apache.spark.ShuffleStatus;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.storage.BlockManagerId;
import scala.Function1;

/**
 * Spark's own list of a shuffle's map outputs, which tells what is put into it and what is taken out.
 *
 * <p>What Spark's scheduler refuses (a result of an executor that is lost by then) never gets here; so what is recorded is
 * what the tracker has.
 */
final class WatchedShuffleStatus extends ShuffleStatus {
    private final int shuffle;
    private final Watcher watcher;

    /** Hears of a shuffle's map outputs; may not wait. */
    interface Watcher {
        void added(int shuffle, int index, MapStatus status);

        /** At least one output is gone, or is somewhere else. */
        void lost(int shuffle);

        /** Spark is about to look how many outputs there are: a job needs the shuffle. */
        void used(int shuffle);
    }

    WatchedShuffleStatus(int shuffle, int maps, boolean migrations, Watcher watcher) {
        super(maps, -1, migrations); // -1: nothing is merged by shuffle services
        this.shuffle = shuffle;
        this.watcher = watcher;
    }

    /** Puts in an output of an earlier driver, which need not be told. */
    void restore(int index, MapStatus status) {
        super.addMapOutput(index, status);
    }

    @Override
    public boolean addMapOutput(int index, MapStatus status) {
        boolean mismatch = super.addMapOutput(index, status);
        watcher.added(shuffle, index, status);
        return mismatch;
    }

    @Override
    public void removeMapOutput(int index, BlockManagerId place) {
        int before = super.numAvailableMapOutputs();
        super.removeMapOutput(index, place);
        tellLost(before);
    }

    @Override
    public void removeOutputsByFilter(Function1<BlockManagerId, Object> filter) {
        int before = super.numAvailableMapOutputs();
        super.removeOutputsByFilter(filter);
        tellLost(before);
    }

    private void tellLost(int before) {
        if (super.numAvailableMapOutputs() < before) {
            watcher.lost(shuffle);
        }
    }

    @Override
    public void updateMapOutput(long mapId, BlockManagerId place) {
        super.updateMapOutput(mapId, place);
        watcher.lost(shuffle);
    }

    @Override
    public int numAvailableMapOutputs() {
        watcher.used(shuffle);
        return super.numAvailableMapOutputs();
    }
}
