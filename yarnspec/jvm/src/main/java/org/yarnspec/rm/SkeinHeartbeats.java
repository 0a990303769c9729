package org.yarnspec.rm;

import java.lang.reflect.Field;
import java.util.function.LongSupplier;

/**
 * Lets Skein's application master call the ResourceManager more often for some seconds after news.
 *
 * <p>Skein calls once a second, as yarnspec configures it. A container that the ResourceManager gives waits for the next
 * call, and so does the news that one has ended. Spark's application master begins with shorter intervals as well
 * ({@code spark.yarn.scheduler.initial-allocation.interval}, 200 ms).
 */
final class SkeinHeartbeats {
    static final long QUICK_MS = 250;
    static final long QUICK_FOR_MS = 3_000;

    private final LongSupplier clockMs;
    private Object master;
    private Field pending;
    private Field idle;
    private long usualPendingMs;
    private long usualIdleMs;
    private long quickUntilMs = Long.MIN_VALUE;

    SkeinHeartbeats(LongSupplier clockMs) {
        this.clockMs = clockMs;
    }

    /** Fails when this is not the Skein that we know. */
    void find(Object applicationMaster) throws ReflectiveOperationException {
        pending = SkeinMaster.field(applicationMaster.getClass(), "pendingHeartbeat");
        idle = SkeinMaster.field(applicationMaster.getClass(), "idleHeartbeat");
        usualPendingMs = pending.getLong(applicationMaster);
        usualIdleMs = idle.getLong(applicationMaster);
        master = applicationMaster;
    }

    /**
     * Says when the next call is due. Skein looks at it after each call.
     *
     * @param news whether Skein asked for containers or gave some up, or the answer told of some that came or ended
     */
    void called(boolean news) {
        if (master == null) {
            return;
        }
        long nowMs = clockMs.getAsLong();
        if (news) {
            quickUntilMs = nowMs + QUICK_FOR_MS;
        }
        boolean quick = nowMs < quickUntilMs;
        try {
            pending.setLong(master, quick ? Math.min(QUICK_MS, usualPendingMs) : usualPendingMs);
            idle.setLong(master, quick ? Math.min(QUICK_MS, usualIdleMs) : usualIdleMs);
        } catch (IllegalAccessException refused) {
            throw new IllegalStateException("Skein's heartbeats cannot be set.", refused);
        }
    }
}
