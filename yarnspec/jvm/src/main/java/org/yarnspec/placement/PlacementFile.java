package org.yarnspec.placement;

import com.fasterxml.jackson.core.JsonProcessingException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Arrays;

/**
 * The negotiator's {@code placement.json}, read before and after each allocate call.
 *
 * <p>A file that cannot be read changes nothing: the last good state stays in force, and each new reason is reported
 * once.
 */
public final class PlacementFile {
    private final Path path;
    private final RmEvents events;
    private byte[] content;
    private DesiredPlacement placement = DesiredPlacement.NONE;
    private String reported = "";

    public PlacementFile(Path path, RmEvents events) {
        this.path = path;
        this.events = events;
    }

    /** The state in force; never null, never throws. */
    public synchronized DesiredPlacement read() {
        try {
            byte[] now = Files.readAllBytes(path);
            if (!Arrays.equals(now, content)) {
                DesiredPlacement parsed = DesiredPlacement.parse(now);
                if (parsed.version() < placement.version()) {
                    throw new IOException(
                            "version " + parsed.version() + " is older than version " + placement.version());
                }
                placement = parsed;
                content = now;
            }
            reported = "";
        } catch (NoSuchFileException absent) {
            if (content != null) {
                report("it is gone");
            }
        } catch (JsonProcessingException malformed) {
            report(malformed.getOriginalMessage());
        } catch (IOException | RuntimeException unreadable) {
            report(String.valueOf(unreadable.getMessage()));
        }
        return placement;
    }

    private void report(String reason) {
        if (!reason.equals(reported)) {
            reported = reason;
            events.error(path.getFileName() + " cannot be used (" + reason + "); version " + placement.version()
                    + " stays in force");
        }
    }
}
