package org.yarnspec.feed;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.LinkedHashMap;
import java.util.Map;

/** How far the application is, counted from Spark's events: running, finished and failed tasks, by stage and in all. */
public final class Progress {
    private static final int STAGES_KEPT_MAX = 1_000;

    private final Map<String, Stage> stages = new LinkedHashMap<>();
    private long tasksTotal;
    private long tasksFinished;
    private long tasksFailed;
    private int tasksRunning;
    private int activeJobs;

    private static final class Stage {
        private final int id;
        private final int attempt;
        private final String name;
        private final int tasks;
        private int running;
        private int finished;
        private int failed;
        private String state = "running";

        private Stage(int id, int attempt, String name, int tasks) {
            this.id = id;
            this.attempt = attempt;
            this.name = name;
            this.tasks = tasks;
        }
    }

    synchronized void jobStarted() {
        activeJobs++;
    }

    synchronized void jobEnded() {
        activeJobs--;
    }

    synchronized void stageStarted(int id, int attempt, String name, int tasks) {
        stages.put(key(id, attempt), new Stage(id, attempt, name, tasks));
        tasksTotal += tasks;
        if (stages.size() > STAGES_KEPT_MAX) {
            stages.values().stream()
                    .filter(stage -> !stage.state.equals("running"))
                    .findFirst()
                    .ifPresent(oldest -> stages.remove(key(oldest.id, oldest.attempt)));
        }
    }

    synchronized void stageFinished(int id, int attempt, boolean failed) {
        Stage stage = stages.get(key(id, attempt));
        if (stage != null) {
            stage.state = failed ? "failed" : "finished";
            // A stage attempt that failed leaves tasks that nobody will run any more under its number.
            tasksTotal -= failed ? stage.tasks - stage.finished : 0;
        }
    }

    synchronized void taskStarted(int stageId, int stageAttempt) {
        tasksRunning++;
        Stage stage = stages.get(key(stageId, stageAttempt));
        if (stage != null) {
            stage.running++;
        }
    }

    synchronized void taskEnded(int stageId, int stageAttempt, String state) {
        boolean finished = state.equals("SUCCESS");
        boolean failed = state.equals("FAILED");
        tasksRunning--;
        tasksFinished += finished ? 1 : 0;
        tasksFailed += failed ? 1 : 0;
        Stage stage = stages.get(key(stageId, stageAttempt));
        if (stage != null) {
            stage.running--;
            stage.finished += finished ? 1 : 0;
            stage.failed += failed ? 1 : 0;
        }
    }

    /** A task that was finished has to run again, as its map output was lost with its executor. */
    synchronized void outputLost(int stageId, int stageAttempt) {
        tasksFinished--;
        Stage stage = stages.get(key(stageId, stageAttempt));
        if (stage != null) {
            stage.finished--;
        }
    }

    private static String key(int stageId, int stageAttempt) {
        return stageId + "." + stageAttempt;
    }

    /** The counts as the bridge's {@code progress()} answers them; the caller may add to the object. */
    public synchronized ObjectNode toJson(ObjectMapper json) {
        ObjectNode progress = json.createObjectNode();
        progress.put("active_jobs", activeJobs);
        progress.put(
                "active_stages",
                stages.values().stream().filter(s -> s.state.equals("running")).count());
        progress.put("tasks_running", tasksRunning);
        progress.put("tasks_finished", tasksFinished);
        progress.put("tasks_failed", tasksFailed);
        progress.put("tasks_total", tasksTotal);
        ArrayNode list = progress.putArray("stages");
        for (Stage stage : stages.values()) {
            list.addObject()
                    .put("stage", stage.id)
                    .put("stage_attempt", stage.attempt)
                    .put("name", stage.name)
                    .put("tasks", stage.tasks)
                    .put("running", stage.running)
                    .put("finished", stage.finished)
                    .put("failed", stage.failed)
                    .put("state", stage.state);
        }
        return progress;
    }
}
