package org.yarnspec.mapoutputs;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.storage.BlockManagerId;
import org.yarnspec.executor.Messages;
import org.yarnspec.executor.Messages.Verdict;
import org.yarnspec.executor.OutputName;
import org.yarnspec.mapoutputs.SavedOutputs.OutputKey;
import org.yarnspec.mapoutputs.SavedOutputs.Saved;

/**
 * Which executor may take over which output. The first that asks has it, until it is done, refuses it or is lost.
 */
final class Claims {
    /** Spark's own knowledge of a shuffle of this driver. */
    interface Shuffles {
        /** Whether Spark has not dropped it, or has it at all. */
        boolean exists(int shuffle);

        /** Whether executors that live have all of its outputs. */
        boolean isComplete(int shuffle);
    }

    private final int epoch;
    private final SavedOutputs saved;
    private final Shuffles shuffles;
    private final boolean served;
    private final LiveAdoption live;
    private final Map<OutputKey, String> claims = new HashMap<>();
    private final Set<RefusedClaim> refusals = new HashSet<>();

    private record RefusedClaim(OutputKey key, String executor) {}

    /**
     * @param served whether shuffle services give out what executors that are gone have left
     * @param live what waits of executors that died while this driver lives; null when nothing does
     */
    Claims(int epoch, SavedOutputs saved, Shuffles shuffles, boolean served, LiveAdoption live) {
        this.epoch = epoch;
        this.saved = saved;
        this.shuffles = shuffles;
        this.served = served;
        this.live = live;
    }

    /** Decides about each output that a gone executor left. */
    synchronized List<Verdict> judge(Messages.Inventory inventory) {
        List<Verdict> verdicts = new ArrayList<>();
        for (OutputName name : inventory.outputs()) {
            verdicts.add(judge(inventory, name));
        }
        return verdicts;
    }

    private Verdict judge(Messages.Inventory inventory, OutputName name) {
        OutputKey key = key(name);
        if (live != null && inventory.ownerEpoch() == epoch && live.wants(inventory.ownerExecutor(), key)) {
            return claim(inventory, key);
        }
        Saved output = saved.find(key.shuffle(), key.mapId());
        if (output == null) {
            return notWanted(inventory.ownerEpoch(), key);
        }
        BlockManagerId place = saved.placeOf(key);
        if (place != null && place.executorId().equals(inventory.ownerExecutor())) {
            return Verdict.SERVED; // its host's shuffle service gives it out
        } else if (saved.isAsked(key)) {
            return Verdict.WAIT;
        } else if (!mayHold(inventory, output)) {
            return Verdict.SPARE;
        }
        if (place != null) {
            return Verdict.GARBAGE;
        }
        return claim(inventory, key);
    }

    private Verdict claim(Messages.Inventory inventory, OutputKey key) {
        String executor = inventory.where().executorId();
        if (refusals.contains(new RefusedClaim(key, executor))) {
            return Verdict.KEEP; // for others: it does not try again
        }
        return claims.computeIfAbsent(key, any -> executor).equals(executor) ? Verdict.ADOPT : Verdict.WAIT;
    }

    /**
     * Whether an executor can have an output: it wrote it, or has taken it over in a later epoch; where executors take over
     * in the same epoch, in that.
     */
    private boolean mayHold(Messages.Inventory inventory, Saved output) {
        return inventory.ownerEpoch() > output.epoch()
                || inventory.ownerEpoch() == output.epoch()
                        && (live != null || inventory.ownerExecutor().equals(output.executorId()));
    }

    private Verdict notWanted(int ownerEpoch, OutputKey key) {
        if (ownerEpoch == epoch || saved.knows(key)) {
            // Of this driver's own, or too late. Until their maps have run again a next driver could want them.
            return inUse(key.shuffle(), served && ownerEpoch == epoch);
        }
        // Without a file of the past the journal may just not have been readable.
        return saved.isKnown() ? Verdict.GARBAGE : Verdict.KEEP;
    }

    private Verdict inUse(int shuffle, boolean given) {
        if (!shuffles.exists(shuffle)) {
            return Verdict.GARBAGE;
        }
        if (given) {
            return Verdict.SERVED;
        }
        return shuffles.isComplete(shuffle) ? Verdict.SPARE : Verdict.KEEP;
    }

    /** Whether outputs have the sizes that they were saved with. What has not is refused. */
    synchronized List<Boolean> compare(Messages.Sizes sizes) {
        List<Boolean> fits = new ArrayList<>();
        for (int i = 0; i < sizes.outputs().size(); i++) {
            OutputKey key = key(sizes.outputs().get(i));
            long[] found = sizes.sizes().get(i);
            if (live != null && live.wants(key)) {
                fits.add(live.fits(key, found));
                continue;
            }
            Saved output = saved.find(key.shuffle(), key.mapId());
            fits.add(output != null
                    && found.length == saved.shuffle(key.shuffle()).reduces()
                    && output.fits(found));
        }
        return fits;
    }

    /** An executor has verified some of what it claimed; what it refuses is free for others. */
    synchronized void settle(Messages.Adopted outcome) {
        String executor = outcome.where().executorId();
        List<OutputKey> adopted = new ArrayList<>();
        for (OutputName name : outcome.outputs()) {
            if (claims.remove(key(name), executor) && (live == null || !live.adopted(outcome.where(), key(name)))) {
                adopted.add(key(name));
            }
        }
        if (!adopted.isEmpty()) {
            saved.adopted(outcome.where(), adopted);
        }
        outcome.refused().forEach((name, why) -> {
            if (why.equals(Messages.UNREADABLE)) { // of what is damaged there may be another copy on the same host
                refusals.add(new RefusedClaim(key(name), executor));
            }
            if (claims.remove(key(name), executor) && (live == null || !live.refused(key(name)))) {
                saved.refused(outcome.where().host(), key(name), why);
            }
        });
        if (live != null) {
            live.settled();
        }
    }

    /** Frees the outputs that a lost executor had claimed. */
    synchronized void lost(String executor) {
        claims.values().removeIf(executor::equals);
        refusals.removeIf(each -> each.executor().equals(executor));
    }

    private static OutputKey key(OutputName name) {
        return new OutputKey(name.shuffle(), name.mapId());
    }
}
