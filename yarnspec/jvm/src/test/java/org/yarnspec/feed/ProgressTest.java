package org.yarnspec.feed;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import org.junit.jupiter.api.Test;

class ProgressTest {
    private final Progress progress = new Progress();

    private JsonNode counts() {
        return progress.toJson(new ObjectMapper());
    }

    @Test
    void countsTasksInAllAndByStage() {
        progress.stageStarted(3, 0, "collect", 2);
        progress.taskStarted(3, 0);
        progress.taskStarted(3, 0);
        progress.taskEnded(3, 0, "SUCCESS");
        progress.taskEnded(3, 0, "KILLED");
        assertEquals(0, counts().get("tasks_running").asInt());
        assertEquals(1, counts().get("tasks_finished").asInt());
        assertEquals(2, counts().get("tasks_total").asInt());
        JsonNode stage = counts().get("stages").get(0);
        assertEquals(1, stage.get("finished").asInt());
        assertEquals(0, stage.get("failed").asInt());
    }

    @Test
    void aTaskWhoseOutputWasLostIsToDoAgain() {
        progress.stageStarted(3, 0, "map", 2);
        progress.taskStarted(3, 0);
        progress.taskEnded(3, 0, "SUCCESS");
        progress.outputLost(3, 0);
        assertEquals(0, counts().get("tasks_running").asInt());
        assertEquals(0, counts().get("tasks_finished").asInt());
        assertEquals(0, counts().get("stages").get(0).get("finished").asInt());
    }

    @Test
    void tasksThatAFailedStageAttemptNeverRanAreNoLongerToDo() {
        progress.stageStarted(0, 0, "map", 10);
        progress.taskStarted(0, 0);
        progress.taskEnded(0, 0, "SUCCESS");
        progress.stageFinished(0, 0, true);
        progress.stageStarted(0, 1, "map", 9);
        assertEquals(10, counts().get("tasks_total").asInt());
        assertEquals(1, counts().get("active_stages").asInt());
    }
}
