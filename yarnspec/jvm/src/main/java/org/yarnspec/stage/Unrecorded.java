package org.yarnspec.stage;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.scheduler.ResultStage;
import org.apache.spark.scheduler.Stage;
import org.yarnspec.channel.Outbox;
import org.yarnspec.spark.Failures;

/** Tells the negotiator, once each, of what the program does that no next driver can go on with. */
public final class Unrecorded {
    private static final String WRITES = "writes";
    private static final String CACHED = "cached";
    private static final String STREAM = "stream";
    private static final int WRITES_MAX = 20;

    private final Outbox outbox;
    private final Set<String> writes = ConcurrentHashMap.newKeySet();
    private final Set<String> others = ConcurrentHashMap.newKeySet();

    public Unrecorded(Outbox outbox) {
        this.outbox = outbox;
    }

    /** A stage is about to get its tasks. Of stages that use cached data, and of those of streams, the first is told. */
    public void begins(Stage stage, int flags) {
        String name = stage.name().replaceFirst(" at .*/", " at "); // Python's names have whole paths
        if ((flags & StageFlags.STREAM) != 0) {
            tellFirst(STREAM, name);
            return;
        }
        if ((flags & StageFlags.CACHED) != 0) {
            tellFirst(CACHED, name);
        }
        boolean onlySuspected = (flags & StageFlags.PYTHON) != 0 && StageFlags.marksGoAstray();
        if (stage instanceof ResultStage && (flags & StageFlags.WRITES) != 0 && !onlySuspected) {
            write(name + " writes by itself");
        }
    }

    /** Something is written or committed in a way of which nobody can tell later what it has written. */
    public void write(String why) {
        if (writes.size() < WRITES_MAX && writes.add(why)) {
            tell(WRITES, why);
        }
    }

    private void tellFirst(String kind, String stage) {
        if (others.add(kind)) {
            tell(kind, stage);
        }
    }

    private void tell(String kind, String why) {
        outbox.add("unrecorded", event -> event.put("kind", kind).put("why", Failures.shortened(why)));
    }
}
