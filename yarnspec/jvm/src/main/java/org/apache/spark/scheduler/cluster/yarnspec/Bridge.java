package org.apache.spark.scheduler.cluster.yarnspec;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.SecureRandom;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.apache.spark.SparkConf;
import py4j.CallbackClient;
import py4j.GatewayServer;

/**
 * What the negotiator may ask of the driver: the entry point of a py4j gateway of our own, on loopback, behind a token.
 *
 * <p>One per JVM. It outlives a SparkContext, as a program may stop one and make another.
 */
public final class Bridge {
    private static final int TIMEOUT_MS = 60_000;
    private static final int LAST_EVENTS_TIMEOUT_MS = 2_000;
    private static final int TOKEN_BYTES = 32;
    private static Bridge opened;

    private final ObjectMapper json = new ObjectMapper();
    private final Outbox outbox = new Outbox();
    private final NegotiatorWatch watch;
    private int contexts;
    private Set<String> blockedHosts = Set.of();
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
            NegotiatorWatch watch = new NegotiatorWatch(pid, conf.getInt("spark.yarnspec.bridge.timeoutMs", TIMEOUT_MS));
            Bridge bridge = new Bridge(watch);
            try {
                bridge.serve(announcement);
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

    private void serve(Path announcement) throws IOException, InterruptedException {
        byte[] random = new byte[TOKEN_BYTES];
        new SecureRandom().nextBytes(random);
        String token = HexFormat.of().formatHex(random);
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
                .put("token", token)
                .put("pid", ProcessHandle.current().pid());
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
            outbox.awaitAcknowledged(LAST_EVENTS_TIMEOUT_MS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        NegotiatorWatch.killProgram();
    }

    Outbox outbox() {
        return outbox;
    }

    synchronized int nextContextNumber() {
        return ++contexts;
    }

    /** Makes a SparkContext the one that the negotiator's calls act on; hosts that are blocked already stay so. */
    synchronized void attach(HostBlockingScheduler newScheduler, ContainerBackend newBackend, Progress newProgress) {
        scheduler = newScheduler;
        backend = newBackend;
        progress = newProgress;
        scheduler.block(blockedHosts);
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

    /** Starts no task on these hosts once this returns, and offers the others again; the list replaces the last one. */
    public void setBlockedHosts(String hostsJson) throws JsonProcessingException {
        Set<String> hosts = Set.copyOf(Arrays.asList(json.readValue(hostsJson, String[].class)));
        HostBlockingScheduler currentScheduler;
        ContainerBackend currentBackend;
        synchronized (this) {
            blockedHosts = hosts;
            currentScheduler = scheduler;
            currentBackend = backend;
        }
        if (currentScheduler == null) {
            return;
        }
        boolean unblocked = currentScheduler.block(hosts);
        if (currentBackend.stopping()) {
            return;
        }
        currentBackend.awaitLaunches();
        if (unblocked) {
            currentBackend.reviveOffers();
        }
    }

    /** Tells Spark that an executor's container ended and whether its tasks shall pay for it. */
    public synchronized void removeExecutor(String executorId, int exitCode, boolean causedByApp, String reason) {
        if (backend != null && !backend.stopping()) {
            backend.containerEnded(executorId, exitCode, causedByApp, reason);
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
                .put("task_events_dropped", outbox.droppedTaskEvents())
                .toString();
    }

    /** Ends the user's program and this JVM at once, with exit code 143. */
    public void exit() {
        NegotiatorWatch.halt();
    }
}
