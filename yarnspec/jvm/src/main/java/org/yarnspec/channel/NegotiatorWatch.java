package org.yarnspec.channel;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Ends the driver, the user's program included, when its negotiator is gone.
 *
 * <p>A driver that nobody looks after must not live on beside the one that the next attempt starts.
 */
public final class NegotiatorWatch {
    static final int EXIT_CODE = 143; // as after SIGTERM: ended from outside, not by its own fault
    private static final int TICK_MS = 200;

    private final Long negotiatorPid;
    private final int timeoutMs;
    private int silentMs;
    private int openCalls;

    /**
     * @param negotiatorPid the negotiator's process, or null when only its silence shall count
     * @param timeoutMs how long no call may come before the negotiator counts as gone
     */
    public NegotiatorWatch(Long negotiatorPid, int timeoutMs) {
        this.negotiatorPid = negotiatorPid;
        this.timeoutMs = timeoutMs;
    }

    public void start() {
        Thread thread = new Thread(this::run, "yarnspec-negotiator-watch");
        thread.setDaemon(true);
        thread.start();
    }

    public synchronized void callBegins() {
        openCalls++;
        silentMs = 0;
    }

    public synchronized void callEnds() {
        openCalls--;
        silentMs = 0;
    }

    private void run() {
        ProcessHandle negotiator =
                negotiatorPid == null ? null : ProcessHandle.of(negotiatorPid).orElse(null);
        while (true) {
            if (negotiatorPid != null && (negotiator == null || !negotiator.isAlive() || isZombie(negotiatorPid))) {
                end("its negotiator (process " + negotiatorPid + ") is gone");
            }
            if (silentTooLong()) {
                end("its negotiator has not called for " + timeoutMs + " ms");
            }
            try {
                Thread.sleep(TICK_MS);
            } catch (InterruptedException e) {
                return;
            }
        }
    }

    /** Counts ticks, not time: a JVM that was stopped for a while must not take its own absence for the other's. */
    private synchronized boolean silentTooLong() {
        silentMs = openCalls > 0 ? 0 : silentMs + TICK_MS;
        return silentMs > timeoutMs;
    }

    /** A killed process whose parent has not fetched its exit status still counts as alive for Java. */
    private static boolean isZombie(long pid) {
        try {
            String stat = Files.readString(Path.of("/proc/" + pid + "/stat"), StandardCharsets.ISO_8859_1);
            return stat.startsWith("Z", stat.lastIndexOf(')') + 2);
        } catch (IOException e) {
            return false; // no /proc on this system, or the process is just gone: isAlive will say so
        }
    }

    private static void end(String why) {
        System.err.println("yarnspec: the driver ends because " + why + ".");
        halt();
    }

    /** Kills the user's program, which outlives its JVM otherwise, and then this JVM; no shutdown hook runs. */
    public static void halt() {
        killProgram();
        Runtime.getRuntime().halt(EXIT_CODE);
    }

    public static void killProgram() {
        ProcessHandle.current().descendants().forEach(ProcessHandle::destroyForcibly);
    }
}
