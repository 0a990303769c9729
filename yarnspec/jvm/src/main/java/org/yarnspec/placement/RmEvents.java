package org.yarnspec.placement;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerStatus;

/**
 * The negotiator's news of the ResourceManager: {@code rm-events.jsonl}, one JSON object a line.
 *
 * <p>Each line is one write to a file opened for appending, so a reader never sees half of one. Writing never throws:
 * an application goes on without its events.
 */
public final class RmEvents {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final int MAX_DIAGNOSTICS_CHARS = 16_384;

    private final Path path;
    private FileOutputStream out;
    private long count;
    private boolean broken;

    public RmEvents(Path path) {
        this.path = path;
    }

    public void registered(
            boolean again, Collection<String> keptContainers, long maxMemoryMb, long maxVcores, boolean countsCores) {
        ObjectNode event = event("registered");
        event.put("reregistration", again);
        event.set("kept_containers", JSON.valueToTree(keptContainers));
        event.put("max_memory_mb", maxMemoryMb);
        event.put("max_vcores", maxVcores);
        event.put("counts_cores", countsCores);
        write(event);
    }

    void acknowledged(long version) {
        write(event("acknowledged").put("version", version));
    }

    void bound(String wantedId, int priority) {
        write(event("bound").put("wanted_id", wantedId).put("priority", priority));
    }

    void unbound(String wantedId, int priority) {
        write(event("unbound").put("wanted_id", wantedId).put("priority", priority));
    }

    void allocated(Container container, String wantedId) {
        ObjectNode event = event("allocated");
        event.put("wanted_id", wantedId);
        event.put("container_id", container.getId().toString());
        event.put("host", container.getNodeId().getHost());
        event.put("memory_mb", container.getResource().getMemorySize());
        event.put("vcores", container.getResource().getVirtualCores());
        write(event);
    }

    void dropped(Container container, String wantedId) {
        ObjectNode event = event("dropped");
        event.put("container_id", container.getId().toString());
        event.put("host", container.getNodeId().getHost());
        event.put("wanted_id", wantedId);
        write(event);
    }

    public void completed(ContainerStatus status) {
        String diagnostics = status.getDiagnostics() == null ? "" : status.getDiagnostics();
        ObjectNode event = event("completed");
        event.put("container_id", status.getContainerId().toString());
        event.put("exit_code", status.getExitStatus());
        event.put("diagnostics", diagnostics.substring(0, Math.min(diagnostics.length(), MAX_DIAGNOSTICS_CHARS)));
        write(event);
    }

    public void preemption(Collection<String> containerIds, boolean strict) {
        ObjectNode event = event("preemption");
        event.set("container_ids", JSON.valueToTree(containerIds));
        event.put("strict", strict);
        write(event);
    }

    public void nodes(int nodeCount, List<Map<String, String>> updated) {
        ObjectNode event = event("nodes");
        event.put("count", nodeCount);
        event.set("updated", JSON.valueToTree(updated));
        write(event);
    }

    void rejected(String wantedId, String why) {
        write(event("rejected").put("wanted_id", wantedId).put("why", why));
    }

    public void error(String message) {
        write(event("error").put("message", message));
    }

    public void finished(String status) {
        write(event("finished").put("status", status));
    }

    private static ObjectNode event(String type) {
        return JSON.createObjectNode()
                .put("n", 0)
                .put("time_ms", System.currentTimeMillis())
                .put("type", type);
    }

    private synchronized void write(ObjectNode event) {
        try {
            if (out == null) {
                out = new FileOutputStream(path.toFile(), true);
            }
            event.put("n", count + 1);
            out.write((JSON.writeValueAsString(event) + "\n").getBytes(StandardCharsets.UTF_8));
            count++;
        } catch (IOException | RuntimeException unwritable) {
            if (!broken) {
                broken = true;
                System.err.println("yarnspec: cannot write " + path + ": " + unwritable);
            }
        }
    }
}
