package org.yarnspec.executor;

import java.io.IOException;
import java.io.Serializable;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.apache.spark.storage.BlockManagerId;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.yarnspec.executor.Messages.Verdict;

/**
 * Looks after the map outputs that executors of this application left on this host: what the driver wants is verified
 * and taken over, what nobody needs is deleted, the rest is kept within its budget.
 *
 * <p>Nothing is touched of an executor that lives, of another application, or without the driver's answer.
 */
final class Sweep {
    private static final Logger LOG = LoggerFactory.getLogger(Sweep.class);

    private static final int OUTPUTS_PER_QUESTION = 10_000;
    private static final int SIZES_PER_QUESTION = 1_000_000;
    private static final long TELL_EVERY_NS = TimeUnit.MILLISECONDS.toNanos(500);

    /** The driver's half. An exception means that it cannot be reached. */
    @FunctionalInterface
    interface Driver {
        Object ask(Serializable message) throws Exception;
    }

    /** An output that stays where it is. */
    private record KeptOutput(GoneExecutor of, MapOutput output, Verdict why) {}

    private final Settings settings;
    private final NewHome home;
    private final BlockManagerId where;
    private final Driver driver;
    private final Set<OutputName> seen = new HashSet<>();
    private final Set<OutputName> unusable = new HashSet<>();
    private final Map<String, Integer> refusals = new TreeMap<>();
    private final Set<OutputName> garbage = new HashSet<>();
    private final Set<Owner> unreadable = new HashSet<>();
    private int adopted;
    private long adoptedBytes;
    private Messages.Kept lastKept;

    Sweep(Settings settings, NewHome home, BlockManagerId where, Driver driver) {
        this.settings = settings;
        this.home = home;
        this.where = where;
        this.driver = message -> {
            try {
                return driver.ask(message);
            } catch (IOException e) { // not one of a disk
                throw new IllegalStateException("the driver cannot be reached", e);
            }
        };
    }

    /**
     * Goes once through everything.
     *
     * @param verifyUntilNs when to stop reading data; what is not verified by then waits for the next time
     * @return whether nothing is left for which a next time could bring more
     */
    boolean run(long verifyUntilNs) throws Exception {
        GoneExecutor.Found found = find();
        if (!found.listed()) {
            return false; // a later epoch may have been here
        } else if (isOutdated(found)) {
            return true;
        }
        home.deleteUnlinked();
        boolean settled = found.all();
        List<KeptOutput> kept = new ArrayList<>();
        for (GoneExecutor gone : found.executors()) {
            settled &= look(gone, verifyUntilNs, kept);
        }
        keepWithinBudget(kept);
        return settled;
    }

    /** A disk that does not answer may do so in a moment; until then others have theirs elsewhere. */
    private boolean look(GoneExecutor gone, long verifyUntilNs, List<KeptOutput> kept) throws Exception {
        try (GoneExecutor.Hold hold = gone.tryTake()) {
            if (hold != null) {
                return treat(gone, hold, verifyUntilNs, kept);
            }
            // Executors of this epoch live; one of an earlier epoch ends soon, or somebody is at its outputs.
            return gone.owner().epoch() == settings.epoch();
        } catch (IOException e) {
            if (unreadable.add(gone.owner())) {
                LOG.warn("What executor {} has left cannot be read; again in a moment.", gone.owner(), e);
            }
            return false;
        }
    }

    /** How many outputs all runs together have taken over. */
    int adopted() {
        return adopted;
    }

    /** The sum of all runs. */
    Messages.Report report(long durationMs) {
        return new Messages.Report(
                where, seen.size(), adopted, garbage.size(), Map.copyOf(refusals), adoptedBytes, durationMs);
    }

    /**
     * Deletes everything that gone executors of this application left here.
     *
     * @return false, and nothing is deleted, when a later driver may need it: the one that asks for this is a left-over, or
     *     nobody can tell
     */
    boolean deleteAll() throws IOException {
        GoneExecutor.Found found = find();
        if (!found.all() || isOutdated(found)) {
            return false;
        }
        for (GoneExecutor gone : found.executors()) {
            try (GoneExecutor.Hold hold = gone.tryTake()) {
                if (hold != null) {
                    hold.delete();
                }
            }
        }
        return true;
    }

    private boolean isOutdated(GoneExecutor.Found found) {
        boolean outdated =
                found.executors().stream().anyMatch(each -> each.owner().epoch() > settings.epoch());
        if (outdated) {
            LOG.warn("A later epoch than {} has been on this host: this executor touches nothing.", settings.epoch());
        }
        return outdated;
    }

    private GoneExecutor.Found find() {
        List<Path> own = home.directories();
        List<Path> roots = own.stream().map(Path::getParent).distinct().toList();
        return GoneExecutor.find(roots, Set.copyOf(own), settings.application());
    }

    private boolean treat(GoneExecutor gone, GoneExecutor.Hold hold, long verifyUntilNs, List<KeptOutput> kept)
            throws Exception {
        boolean settled = true;
        int left = 0;
        List<MapOutput> wanted = new ArrayList<>();
        List<MapOutput> outputs = hold.outputs();
        List<Verdict> verdicts = verdicts(gone.owner(), outputs);
        for (int i = 0; i < outputs.size(); i++) {
            MapOutput output = outputs.get(i);
            Verdict verdict = verdicts.get(i);
            if (gone.owner().epoch() < settings.epoch()) {
                seen.add(output.name());
            }
            if (verdict == Verdict.GARBAGE) {
                if (deleted(output)) {
                    garbage.add(output.name());
                } else {
                    left++;
                }
            } else if (verdict == Verdict.ADOPT && !unusable.contains(output.name())) {
                wanted.add(output);
            } else if (verdict == Verdict.WAIT) {
                settled = false;
                left++;
            } else {
                left++;
                kept.add(new KeptOutput(gone, output, verdict));
            }
        }
        int notTaken = adopt(wanted, verifyUntilNs);
        left += (int)
                wanted.stream().filter(each -> unusable.contains(each.name())).count();
        if (left + notTaken == 0) {
            hold.delete();
        }
        return settled && notTaken == 0;
    }

    @SuppressWarnings("unchecked")
    private List<Verdict> verdicts(Owner owner, List<MapOutput> outputs) throws Exception {
        List<Verdict> verdicts = new ArrayList<>();
        for (int from = 0; from < outputs.size(); from += OUTPUTS_PER_QUESTION) {
            List<MapOutput> some = outputs.subList(from, Math.min(outputs.size(), from + OUTPUTS_PER_QUESTION));
            verdicts.addAll((List<Verdict>)
                    driver.ask(new Messages.Inventory(where, owner.epoch(), owner.executorId(), names(some))));
        }
        return verdicts;
    }

    /** Takes over what is whole, the largest first; returns how many outputs the time was too short for. */
    private int adopt(List<MapOutput> wanted, long verifyUntilNs) throws Exception {
        wanted.sort(Comparator.comparingLong(MapOutput::bytes).reversed());
        int done = 0;
        while (done < wanted.size() && System.nanoTime() - verifyUntilNs < 0) {
            done += adoptSome(wanted.subList(done, wanted.size()), verifyUntilNs);
        }
        return wanted.size() - done;
    }

    @SuppressWarnings("unchecked")
    private int adoptSome(List<MapOutput> wanted, long verifyUntilNs) throws Exception {
        SweepOutcome outcome = new SweepOutcome();
        List<MapOutput> whole = new ArrayList<>();
        List<long[]> sizes = new ArrayList<>();
        int looked = 0;
        for (int count = 0; looked < wanted.size() && count < SIZES_PER_QUESTION; looked++) {
            MapOutput output = wanted.get(looked);
            try {
                sizes.add(output.sizes());
                whole.add(output);
                count += sizes.get(sizes.size() - 1).length;
            } catch (Damage | IOException e) {
                outcome.refuse(output, e);
            }
        }
        List<Boolean> fits = whole.isEmpty()
                ? List.of()
                : (List<Boolean>) driver.ask(new Messages.Sizes(where, names(whole), sizes));
        for (int i = 0; i < whole.size(); i++) {
            MapOutput output = whole.get(i);
            if (System.nanoTime() - verifyUntilNs >= 0) {
                looked -= whole.size() - i;
                break;
            }
            try {
                if (!fits.get(i)) {
                    throw new Damage("sizes differ");
                }
                if (settings.checksums()) {
                    output.verify(sizes.get(i), settings.checksumsWritten());
                }
                home.take(output);
                outcome.take(output);
            } catch (Damage | IOException e) {
                outcome.refuse(output, e);
            }
        }
        outcome.tell();
        return looked;
    }

    /** The fate of some outputs that the driver was not told yet. */
    private final class SweepOutcome {
        private final List<OutputName> taken = new ArrayList<>();
        private final Map<OutputName, String> refused = new HashMap<>();
        private long toldNs = System.nanoTime();

        void take(MapOutput output) throws Exception {
            taken.add(output.name());
            adopted++;
            adoptedBytes += output.bytes();
            if (System.nanoTime() - toldNs > TELL_EVERY_NS) {
                tell();
            }
        }

        /** Deletes an output that is damaged. One that cannot be read or moved stays, and is not tried again. */
        void refuse(MapOutput output, Exception why) {
            boolean gone = why instanceof Damage && deleted(output);
            String reason = gone ? why.getMessage() : Messages.UNREADABLE;
            LOG.warn("A map output cannot be used again: {}: {}", output.name(), why.toString());
            refused.put(output.name(), reason);
            refusals.merge(reason, 1, Integer::sum);
            if (!gone) {
                unusable.add(output.name());
            }
        }

        void tell() throws Exception {
            if (!taken.isEmpty() || !refused.isEmpty()) {
                driver.ask(new Messages.Adopted(where, List.copyOf(taken), Map.copyOf(refused)));
            }
            taken.clear();
            refused.clear();
            toldNs = System.nanoTime();
        }
    }

    private boolean deleted(MapOutput output) {
        try {
            output.delete();
            return true;
        } catch (IOException e) {
            if (unusable.add(output.name())) {
                LOG.warn("A map output cannot be deleted: {}", output.name(), e);
            }
            return false;
        }
    }

    /** Deletes the oldest of what is kept until the rest fits; what exists elsewhere too goes first. */
    private void keepWithinBudget(List<KeptOutput> kept) throws Exception {
        long bytes = kept.stream().mapToLong(each -> each.output().bytes()).sum();
        int dropped = 0;
        long droppedBytes = 0;
        if (settings.keepBytes() > 0 && bytes > settings.keepBytes()) {
            Comparator<KeptOutput> needed = Comparator.comparing(each -> each.why() == Verdict.KEEP);
            List<KeptOutput> droppable = new ArrayList<>(kept);
            droppable.removeIf(each -> each.why() == Verdict.SERVED);
            droppable.sort(needed.thenComparing(each -> each.output().writtenMs()));
            for (KeptOutput each : droppable) {
                if (bytes - droppedBytes <= settings.keepBytes()) {
                    break;
                }
                try (GoneExecutor.Hold hold = each.of().tryTake()) {
                    if (hold != null && deleted(each.output())) {
                        dropped++;
                        droppedBytes += each.output().bytes();
                    }
                }
            }
        }
        Messages.Kept now =
                new Messages.Kept(where, kept.size() - dropped, bytes - droppedBytes, dropped, droppedBytes);
        boolean first = lastKept == null && kept.isEmpty();
        if (!first && !now.equals(lastKept)) {
            driver.ask(now);
            lastKept = now;
        }
    }

    private static List<OutputName> names(List<MapOutput> outputs) {
        return List.copyOf(outputs.stream().map(MapOutput::name).toList());
    }
}
