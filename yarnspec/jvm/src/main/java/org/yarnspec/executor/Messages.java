package org.yarnspec.executor;

import java.io.Serializable;
import java.util.List;
import java.util.Map;
import org.apache.spark.storage.BlockManagerId;

/** The messages between executors and the driver's half about map outputs. Executors ask, the driver answers. */
public final class Messages {
    /** The name under which the driver's half can be reached. */
    public static final String ENDPOINT = "yarnspec-kept-outputs";

    /** Why an output is refused that may be whole: it cannot be read, or not be moved. */
    public static final String UNREADABLE = "unreadable";

    private Messages() {}

    /** The verdict on an output that an executor left behind. */
    public enum Verdict {
        /** Verify it and take it over. */
        ADOPT,
        /** Another executor is at it: it may come back to this one. */
        WAIT,
        /** A later driver may need it. */
        KEEP,
        /** Keep it like KEEP, but as its data exist elsewhere too, it goes first when space is short. */
        SPARE,
        /** Its host's shuffle service gives it out: it stays where it is, whatever it takes. */
        SERVED,
        /** Nobody will ever need it. */
        GARBAGE
    }

    /** The order to an executor that ends, about its files. */
    public enum End {
        KEEP,
        /** Delete its own files, as Spark does. */
        DELETE,
        /** The application has finished: delete what others left on this host too. */
        DELETE_ALL
    }

    /** Says which outputs of a gone executor were found; answered with a List of a Verdict for each. */
    public record Inventory(BlockManagerId where, int ownerEpoch, String ownerExecutor, List<OutputName> outputs)
            implements Serializable {}

    /**
     * Says how large the parts of some outputs to be adopted are, by their index files; answered with a List of a
     * Boolean for each: whether the driver knows it as such.
     */
    public record Sizes(BlockManagerId where, List<OutputName> outputs, List<long[]> sizes) implements Serializable {}

    /** Says which outputs are served here from now on, and which cannot be, and why; answered with true. */
    public record Adopted(BlockManagerId where, List<OutputName> outputs, Map<OutputName, String> refused)
            implements Serializable {}

    /** Says that all there was on this host has been dealt with, and what it was; answered with true. */
    public record Report(
            BlockManagerId where,
            int found,
            int adopted,
            int garbage,
            Map<String, Integer> refused,
            long adoptedBytes,
            long durationMs)
            implements Serializable {}

    /** Says how much of gone executors' outputs lies on this host, and what was dropped of it; answered with true. */
    public record Kept(BlockManagerId where, int outputs, long bytes, int dropped, long droppedBytes)
            implements Serializable {}

    /** Says that this executor cannot keep or find anything, and why; answered with true. */
    public record Unable(BlockManagerId where, String why) implements Serializable {}

    /** Says that this executor ends now; answered with an End. */
    public record Leaving(String executorId) implements Serializable {}
}
