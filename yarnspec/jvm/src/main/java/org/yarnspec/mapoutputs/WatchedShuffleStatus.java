package org.yarnspec.mapoutputs;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.ShuffleStatus;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.storage.BlockManagerId;
import org.yarnspec.spark.Scala;
import scala.Function1;
import scala.Option;

/**
 * Spark's own list of a shuffle's map outputs, which tells what is put into it and what is taken out.
 *
 * <p>What Spark's scheduler refuses (a result of an executor that is lost by then) never gets here; so what is recorded is
 * what the tracker has.
 */
public final class WatchedShuffleStatus extends ShuffleStatus {
    private static final int NONE = -1;
    private static final MapStatus[] NOWHERE = {};
    private static final String TRACKER = "org.apache.spark.MapOutputTrackerMaster";
    private static final String COALESCER = "org.apache.spark.rdd.DefaultPartitionCoalescer";

    private final int shuffle;
    private final int reduces;
    private final ShuffleWatcher watcher;

    /** Hears of a shuffle's map outputs; may not wait. */
    public interface ShuffleWatcher {
        void added(int shuffle, int index, MapStatus status);

        /** By Spark's checksums a map that ran again has not given the same records. */
        void differs(int shuffle);

        /** At least one output is gone, or is somewhere else. */
        void lost(int shuffle);

        /** Whether what an executor had waits for a new one on its host, although Spark takes it for lost. */
        boolean keeps(String executorId);

        /** Spark is about to look how many outputs there are: a job needs the shuffle. */
        void used(int shuffle);
    }

    public WatchedShuffleStatus(int shuffle, int maps, int reduces, boolean migrations, ShuffleWatcher watcher) {
        super(maps, -1, migrations); // -1: nothing is merged by shuffle services
        this.shuffle = shuffle;
        this.reduces = reduces;
        this.watcher = watcher;
    }

    int shuffle() {
        return shuffle;
    }

    int reduces() {
        return reduces;
    }

    /** Puts in an output of an earlier driver, which need not be told. */
    public void restore(int index, MapStatus status) {
        super.addMapOutput(index, status);
    }

    @Override
    public boolean addMapOutput(int index, MapStatus status) {
        boolean mismatch = super.addMapOutput(index, status);
        if (mismatch) {
            watcher.differs(shuffle);
        }
        watcher.added(shuffle, index, status);
        return mismatch;
    }

    /** Takes all outputs back: they were made of rows that are no more, and run again. */
    public void takeBack() {
        removeOutputsByFilter(place -> true);
    }

    @Override
    public void removeMapOutput(int index, BlockManagerId place) {
        // That a dead executor gives out nothing says nothing of its files.
        if (!watcher.keeps(place.executorId())) {
            int before = super.numAvailableMapOutputs();
            super.removeMapOutput(index, place);
            tellLost(before);
        }
    }

    @Override
    public void removeOutputsByFilter(Function1<BlockManagerId, Object> filter) {
        int before = super.numAvailableMapOutputs();
        super.removeOutputsByFilter(filter);
        tellLost(before);
    }

    /** Keeps outputs that wait for a new executor until nobody waits any more. */
    @Override
    public void removeOutputsOnExecutor(String executorId) {
        if (!watcher.keeps(executorId)) {
            super.removeOutputsOnExecutor(executorId);
        }
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

    /**
     * To whom puts partitions together by the hosts of what they read these have none: the next driver, which knows outputs
     * from the start, or on other hosts, would put others together, and nothing above could be the same.
     */
    @Override
    public <T> T withMapStatuses(Function1<MapStatus[], T> function) {
        return isToPutTogether() ? function.apply(NOWHERE) : super.withMapStatuses(function);
    }

    /** Shuffles are made by the way, too; whoever looks at outputs for that has to see them. */
    private static boolean isToPutTogether() {
        return StackWalker.getInstance().walk(frames -> {
            Iterator<StackWalker.StackFrame> each = frames.skip(2).iterator(); // this, and the look itself
            if (!each.hasNext() || !each.next().getClassName().equals(TRACKER)) {
                return false;
            }
            while (each.hasNext()) {
                if (each.next().getClassName().startsWith(COALESCER)) {
                    return true;
                }
            }
            return false;
        });
    }

    /** The outputs that an executor gives out, or gave out when it lived. */
    List<MapStatus> at(String executorId) {
        return withMapStatuses(all -> {
            List<MapStatus> found = new ArrayList<>();
            for (MapStatus each : all) {
                if (each != null && each.location().executorId().equals(executorId)) {
                    found.add(each);
                }
            }
            return found;
        });
    }

    /** The output of that number; null when there is none. */
    MapStatus of(long mapId) {
        return Scala.orNull(super.getMapStatus(mapId));
    }

    /** Where the output of a map is; null when there is none. */
    BlockManagerId placeOf(int index) {
        return withMapStatuses(all -> all[index] == null ? null : all[index].location());
    }

    /**
     * Another executor of the same host gives an output out: the same file, so that nothing is lost. False when it has been
     * taken out: Spark's own method would put it in again.
     */
    boolean moved(long mapId, BlockManagerId place) {
        boolean there = super.withMapStatuses(all -> {
            int index = indexOf(mapId, all);
            if (index != NONE) {
                all[index].updateLocation(place);
            }
            return index != NONE;
        });
        if (there) {
            super.invalidateSerializedMapOutputStatusCache();
        }
        return there;
    }

    /** Spark knows where an output was also when it has been taken out, or another one is there. */
    private int indexOf(long mapId, MapStatus[] all) {
        Option<Object> known = mapIdToMapIndex().get(mapId);
        int index = known.isDefined() ? (int) known.get() : NONE;
        return index != NONE && all[index] != null && all[index].mapId() == mapId ? index : NONE;
    }

    /** An output is lost, whoever waits for it. */
    void gone(long mapId) {
        int before = super.numAvailableMapOutputs();
        int index = withMapStatuses(all -> indexOf(mapId, all));
        if (index != NONE) {
            super.removeMapOutput(index, placeOf(index));
        }
        tellLost(before);
    }

    @Override
    public int numAvailableMapOutputs() {
        watcher.used(shuffle);
        return super.numAvailableMapOutputs();
    }
}
