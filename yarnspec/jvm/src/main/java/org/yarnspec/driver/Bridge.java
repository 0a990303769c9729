package org.yarnspec.driver;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.SecureRandom;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.apache.spark.SparkConf;
import org.yarnspec.channel.NegotiatorWatch;
import org.yarnspec.channel.Outbox;
import org.yarnspec.feed.Progress;
import org.yarnspec.feed.TaskFeed;
import org.yarnspec.mapoutputs.HeldBlocks;
import org.yarnspec.recovery.Recovery;
import org.yarnspec.scheduler.Blocks;
import org.yarnspec.scheduler.ContainerBackend;
import org.yarnspec.scheduler.HostBlockingScheduler;
import org.yarnspec.scheduler.WatchedTaskSet;
import py4j.CallbackClient;
import py4j.GatewayServer;

/**
 * The calls that the negotiator may make in the driver: the entry point of a py4j gateway of our own, on loopback,
 * behind a token.
 *
 * <p>A JVM has one bridge. The bridge outlives a SparkContext, because a program may stop one and make another.
 */
public final class Bridge {
    private static final int TIMEOUT_MS = 60_000;
    private static final int LAST_EVENTS_TIMEOUT_MS = 2_000;
    private static final int TOKEN_BYTES = 32;
    private static final int LOOK_MS = 20;
    private static Bridge opened;

    private final ObjectMapper json = new ObjectMapper();
    private final Outbox outbox = new Outbox();
    private final NegotiatorWatch watch;
    private int contexts;
    private TaskFeed tasks;
    private Recovery recovery;
    private Blocks blocks = Blocks.NONE;
    private HostBlockingScheduler scheduler;
    private ContainerBackend backend;
    private Progress progress = new Progress();

    private Bridge(NegotiatorWatch watch) {
        this.watch = watch;
    }

    /** Opens the gateway and announces it in {@code spark.yarnspec.bridge.file}; later calls give the same bridge. */
    static synchronized Bridge open(SparkConf conf) {
        if (opened == null) {
            Path announcement = Path.of(required(conf, "spark.yarnspec.bridge.file"));
            required(conf, "spark.yarnspec.app.id");
            required(conf, "spark.yarnspec.epoch");
            Long pid = conf.contains("spark.yarnspec.negotiator.pid")
                    ? Long.valueOf(conf.get("spark.yarnspec.negotiator.pid"))
                    : null;
            NegotiatorWatch watch =
                    new NegotiatorWatch(pid, conf.getInt("spark.yarnspec.bridge.timeoutMs", TIMEOUT_MS));
            Bridge bridge = new Bridge(watch);
            try {
                bridge.serve(conf, announcement);
            } catch (IOException | InterruptedException e) {
                throw new IllegalStateException("The driver's bridge cannot be announced in " + announcement + ".", e);
            }
            watch.start();
            Runtime.getRuntime().addShutdownHook(new Thread(bridge::close, "yarnspec-bridge-close"));
            opened = bridge;
        }
        return opened;
    }

    private static String required(SparkConf conf, String key) {
        if (!conf.contains(key)) {
            throw new IllegalStateException(
                    key + " is not set: this master only works in a driver that yarnspec submit started.");
        }
        return conf.get(key);
    }

    private void serve(SparkConf conf, Path announcement) throws IOException, InterruptedException {
        byte[] random = new byte[TOKEN_BYTES];
        new SecureRandom().nextBytes(random);
        String token = HexFormat.of().formatHex(random);
        tasks = TaskFeed.open(token, dropped -> outbox.add("feed_dropped", event -> event.put("count", dropped)));
        recovery = Recovery.open(conf, outbox, token);
        Recovery.set(recovery);
        InetAddress loopback = InetAddress.getByAddress("localhost", new byte[] {127, 0, 0, 1});
        // We never call Python back, but py4j wants a client for it. With 0 seconds of idle time it starts no cleaning
        // thread, which would keep the JVM alive after the program's end.
        CallbackClient unused = new CallbackClient(GatewayServer.DEFAULT_PYTHON_PORT, loopback, 0, TimeUnit.SECONDS);
        GatewayServer server = new GatewayServer.GatewayServerBuilder(this)
                .javaAddress(loopback)
                .javaPort(0)
                .callbackClient(unused)
                .authToken(token)
                .build();
        // py4j's threads inherit being a daemon from the one that starts them; else they would keep the JVM alive.
        Thread starter = new Thread(server::start, "yarnspec-bridge");
        starter.setDaemon(true);
        starter.start();
        starter.join();
        ObjectNode text = json.createObjectNode()
                .put("port", server.getListeningPort())
                .put("feed_port", tasks.port())
                .put("token", token)
                .put("pid", ProcessHandle.current().pid());
        if (recovery != null) {
            text.put("outputs_port", recovery.frames().port());
        }
        Path beside = announcement.resolveSibling(announcement.getFileName() + ".new");
        Files.deleteIfExists(beside);
        Files.createFile(beside, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
        Files.writeString(beside, text.toString());
        Files.move(beside, announcement, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    }

    /**
     * Runs when the JVM ends in order: gives the negotiator a moment to fetch the last events, and takes the user's
     * program along, which would live on when it was the JVM that got a signal.
     */
    private void close() {
        try {
            awaitContextEnd();
            tasks.finish(LAST_EVENTS_TIMEOUT_MS);
            if (recovery != null) {
                recovery.frames().finish(LAST_EVENTS_TIMEOUT_MS);
            }
            outbox.awaitAcknowledged(LAST_EVENTS_TIMEOUT_MS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        NegotiatorWatch.killProgram();
    }

    /** Spark stops a context that the program left running while this JVM ends, and its last events come then. */
    private void awaitContextEnd() throws InterruptedException {
        long deadlineNs = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(LAST_EVENTS_TIMEOUT_MS);
        HostBlockingScheduler current = current();
        while (current != null
                && !current.sc().listenerBus().activeQueues().isEmpty()
                && System.nanoTime() < deadlineNs) {
            Thread.sleep(LOOK_MS);
        }
    }

    private synchronized HostBlockingScheduler current() {
        return scheduler;
    }

    Outbox outbox() {
        return outbox;
    }

    /** The feed of stages and tasks, for all contexts of this JVM. */
    TaskFeed tasks() {
        return tasks;
    }

    synchronized int nextContextNumber() {
        return ++contexts;
    }

    /** Makes a SparkContext the one that the negotiator's calls act on; hosts that are blocked already stay so. */
    synchronized void attach(HostBlockingScheduler newScheduler, ContainerBackend newBackend, Progress newProgress) {
        scheduler = newScheduler;
        backend = newBackend;
        progress = newProgress;
        blocks = blocks.withoutStages();
        scheduler.block(blocks);
    }

    /**
     * Gives the events after {@code afterSeq} as a JSON array and forgets the others.
     *
     * @param timeoutMs how long to wait for a first event when there is none
     */
    public String poll(long afterSeq, int timeoutMs) throws InterruptedException {
        watch.callBegins();
        try {
            return outbox.poll(afterSeq, timeoutMs);
        } finally {
            watch.callEnds();
        }
    }

    /**
     * Starts no task where these blocks say so once this returns, and offers freed places again; the blocks replace the
     * last ones.
     *
     * @param blocksJson {@code {"hosts": […], "executors": […], "stages": [{"stage": 3, "index": null, "hosts": […],
     *     "executors": […]}]}}
     */
    public void setBlocks(String blocksJson) throws JsonProcessingException {
        Blocks newBlocks = Blocks.of(json.readTree(blocksJson));
        HostBlockingScheduler currentScheduler;
        ContainerBackend currentBackend;
        synchronized (this) {
            blocks = newBlocks;
            currentScheduler = scheduler;
            currentBackend = backend;
        }
        if (currentScheduler == null) {
            return;
        }
        currentScheduler.block(newBlocks);
        if (!currentBackend.stopping()) {
            currentBackend.awaitLaunches();
            currentBackend.reviveOffers();
        }
    }

    /** Lets the SparkContext go on, which waits for executors: there are enough. */
    public synchronized void declareReady() {
        if (backend != null) {
            backend.declareReady();
        }
    }

    /**
     * Asks for another attempt of each of these tasks, to start as soon as a slot fits.
     *
     * @param copiesJson {@code [{"stage": 3, "stage_attempt": 0, "index": 7, "not_hosts": […], "attempts_max": 2}]}
     * @return a JSON array with a text for each: empty when it was accepted, else why there will be no copy. One that is
     *     accepted and cannot start later is told as an event.
     */
    public String launchCopies(String copiesJson) throws JsonProcessingException {
        HostBlockingScheduler currentScheduler = current();
        ArrayNode answers = json.createArrayNode();
        boolean asked = false;
        for (JsonNode each : json.readTree(copiesJson)) {
            Set<String> notHosts = new HashSet<>();
            each.path("not_hosts").forEach(host -> notHosts.add(host.asText()));
            String why = currentScheduler == null
                    ? "no SparkContext runs"
                    : currentScheduler.askForCopy(
                            each.path("stage").intValue(),
                            each.path("stage_attempt").intValue(),
                            each.path("index").intValue(),
                            new WatchedTaskSet.Copy(
                                    notHosts, each.path("attempts_max").asInt(2)));
            asked |= why.isEmpty();
            answers.add(why);
        }
        if (asked) {
            reviveOffers();
        }
        return answers.toString();
    }

    /** Forgets copies that were asked for and have not started: {@code [{"stage", "stage_attempt", "index"}]}. */
    public void withdrawCopies(String copiesJson) throws JsonProcessingException {
        HostBlockingScheduler currentScheduler = current();
        for (JsonNode each : json.readTree(copiesJson)) {
            if (currentScheduler != null) {
                currentScheduler.withdrawCopy(
                        each.path("stage").intValue(),
                        each.path("stage_attempt").intValue(),
                        each.path("index").intValue());
            }
        }
    }

    /**
     * Says what to do with a shuffle that was declared: {@code {"shuffle": id of the saved one or null, "restore": …,
     * "record": …, "whole": …}}.
     */
    public void answerShuffle(int question, String answerJson) throws JsonProcessingException {
        if (recovery != null) {
            recovery.answer(question, answerJson);
        }
    }

    /** Says whether the driver goes on with what the program writes or reads. */
    public void answerWrite(int question, String answerJson) throws JsonProcessingException {
        if (recovery != null && recovery.writes() != null) {
            recovery.writes().answer(question, answerJson);
        }
    }

    /** YARN takes a host out of service: Spark decommissions its executors there. */
    public synchronized void decommissionHost(String host) {
        if (backend != null && !backend.stopping()) {
            backend.decommissionExecutorsOnHost(host);
        }
    }

    /** No map output that an earlier driver left on that host will be found in time. */
    public void hostGone(String host) {
        if (recovery != null) {
            recovery.hostGone(host);
        }
    }

    /** The blocks that only this executor may have, as {@link HeldBlocks#of} counts them; -1 if nobody can say. */
    public int heldBlocks(String executorId) {
        HostBlockingScheduler currentScheduler = current();
        return currentScheduler == null || currentScheduler.sc().isStopped()
                ? -1
                : HeldBlocks.of(currentScheduler.sc().env(), executorId);
    }

    /** Ends one attempt of a task; false when it does not run. It costs the task no failure. */
    public boolean killAttempt(long taskId, String reason) {
        HostBlockingScheduler currentScheduler = current();
        return currentScheduler != null && currentScheduler.killTaskAttempt(taskId, true, reason);
    }

    private void reviveOffers() {
        ContainerBackend currentBackend;
        synchronized (this) {
            currentBackend = backend;
        }
        if (currentBackend != null && !currentBackend.stopping()) {
            currentBackend.reviveOffers();
        }
    }

    /** Tells Spark that an executor has gone, or is about to go, and whether its tasks shall pay for it. */
    public synchronized void removeExecutor(String executorId, int exitCode, boolean causedByApp, String reason) {
        if (backend != null && !backend.stopping()) {
            backend.executorGone(executorId, exitCode, causedByApp, reason);
        }
    }

    /** True once Spark stops in order: executors that end now need no replacement. */
    public synchronized boolean stopping() {
        return backend != null && backend.stopping();
    }

    /** How far the application is, as a JSON object. */
    public synchronized String progress() {
        return progress.toJson(json)
                .put("events_waiting", outbox.waitingEvents())
                .put("rows_waiting", tasks.rowsWaiting())
                .put("rows_dropped", tasks.rowsDropped())
                .toString();
    }

    /** Ends the user's program and this JVM at once, with exit code 143. */
    public void exit() {
        NegotiatorWatch.halt();
    }
}
