package org.yarnspec.scheduler;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.Random;

/**
 * The order in which free slots are offered to tasks, so that executors and hosts stay evenly loaded.
 *
 * <p>Spark gives one task to each offer in turn, wherever the executors stand: those with 0 and 3 of 4 slots in use get 2
 * and 4 of three more tasks. Here every free slot is an offer of its own, in the order of the load that its executor would
 * have then, and of its host's. Loads are shares of all slots, so that executors of unequal size are comparable.
 */
final class OfferOrder {

    /**
     * An executor with so many slots in use and free.
     *
     * @param whole whether it is one offer, however many of its slots are free
     */
    record Executor(String id, String host, int running, int free, boolean whole) {
        int slots() {
            return running + free;
        }
    }

    private static final class Entry implements Comparable<Entry> {
        private final Executor executor;
        private final double tie;
        private int given;
        private double load;
        private double hostLoad;

        Entry(Executor executor, double tie) {
            this.executor = executor;
            this.tie = tie;
        }

        @Override
        public int compareTo(Entry other) {
            int byExecutor = Double.compare(load, other.load);
            int byHost = byExecutor != 0 ? byExecutor : Double.compare(hostLoad, other.hostLoad);
            return byHost != 0 ? byHost : Double.compare(tie, other.tie);
        }
    }

    private static final class Host {
        private int running;
        private int slots;
    }

    private final Random ties;
    private final Map<String, Host> hosts = new HashMap<>();

    /**
     * @param ties decides between equals; the same seed gives the same order
     */
    OfferOrder(Random ties) {
        this.ties = ties;
    }

    /** Tasks that run on a host in executors that are not offered. */
    void alsoRunning(String host, int running) {
        Host one = hosts.computeIfAbsent(host, name -> new Host());
        one.running += running;
        one.slots += running;
    }

    /** One number of an executor for each slot to offer, the first to be offered first. */
    List<Integer> of(List<Executor> executors) {
        for (Executor each : executors) {
            Host host = hosts.computeIfAbsent(each.host(), name -> new Host());
            host.running += each.running();
            host.slots += each.slots();
        }
        Map<Entry, Integer> numbers = new HashMap<>();
        PriorityQueue<Entry> queue = new PriorityQueue<>();
        for (int number = 0; number < executors.size(); number++) {
            Executor executor = executors.get(number);
            if (executor.free() > 0) {
                Entry entry = new Entry(executor, ties.nextDouble());
                numbers.put(entry, number);
                weigh(entry);
                queue.add(entry);
            }
        }
        List<Integer> order = new ArrayList<>();
        while (!queue.isEmpty()) {
            Entry entry = queue.poll();
            double before = entry.hostLoad;
            weigh(entry);
            if (entry.hostLoad > before) {
                queue.add(entry); // another executor of this host was given a slot since
                continue;
            }
            order.add(numbers.get(entry));
            hosts.get(entry.executor.host()).running++;
            entry.given++;
            if (!entry.executor.whole() && entry.given < entry.executor.free()) {
                weigh(entry);
                queue.add(entry);
            }
        }
        return order;
    }

    private void weigh(Entry entry) {
        Host host = hosts.get(entry.executor.host());
        entry.load = (entry.executor.running() + entry.given + 1.0) / entry.executor.slots();
        entry.hostLoad = (host.running + 1.0) / host.slots;
    }
}
