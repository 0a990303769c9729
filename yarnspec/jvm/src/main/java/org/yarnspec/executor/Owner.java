package org.yarnspec.executor;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;

/**
 * The writer of a block manager's directory. Kept beside the files, because their names say only shuffle and task.
 *
 * @param processId for people who look; whether the executor lives is told by its {@link DirectoryLock}
 */
public record Owner(String application, int epoch, String executorId, long processId) {
    static final String FILE = "yarnspec-owner.json";

    private static final int VERSION = 1;
    private static final ObjectMapper JSON = new ObjectMapper();

    /** The record of a directory; null where there is none that can be understood: such a directory is not ours. */
    static Owner read(Path directory) throws IOException {
        try {
            JsonNode json = JSON.readTree(Files.readAllBytes(directory.resolve(FILE)));
            if (json.path("version").asInt() != VERSION) {
                return null;
            }
            return new Owner(
                    json.required("application").asText(),
                    json.required("epoch").asInt(),
                    json.required("executor").asText(),
                    json.path("process").asLong());
        } catch (NoSuchFileException | JsonProcessingException | IllegalArgumentException e) {
            return null;
        }
    }

    /** Puts the record into a directory in one step: a reader sees all of it or nothing. */
    void write(Path directory) throws IOException {
        byte[] bytes = JSON.writeValueAsBytes(JSON.createObjectNode()
                .put("version", VERSION)
                .put("application", application)
                .put("epoch", epoch)
                .put("executor", executorId)
                .put("process", processId));
        Path fresh = directory.resolve(FILE + ".new");
        Files.write(fresh, bytes);
        Files.move(fresh, directory.resolve(FILE), StandardCopyOption.ATOMIC_MOVE);
    }
}
