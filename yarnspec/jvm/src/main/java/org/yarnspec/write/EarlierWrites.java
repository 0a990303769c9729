package org.yarnspec.write;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.Supplier;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.yarnspec.files.Overwritten;
import org.yarnspec.files.WrittenFiles;
import org.yarnspec.spark.Failures;

/** The remains of the writes of earlier drivers, as the negotiator tells of them. */
final class EarlierWrites {
    /** The mode of RDDs that are saved: all in their directory is their own. */
    static final String SAVE = "save";

    private final Supplier<Configuration> conf;

    EarlierWrites(Supplier<Configuration> conf) {
        this.conf = conf;
    }

    /** Finishes or undoes what was left half done; to be called before the program does anything. */
    void resume(WriteQuestions questions) {
        List<JsonNode> newestFirst = new ArrayList<>();
        questions.ask("writes_asked", event -> {}).path("unfinished").forEach(each -> newestFirst.add(0, each));
        for (JsonNode each : newestFirst) { // what one of them has taken may be another one's
            SettledAs outcome;
            String why = "";
            try {
                outcome = settle(each);
            } catch (IOException | RuntimeException e) {
                outcome = SettledAs.FAILED;
                why = Failures.shortened(e.toString());
            }
            if (outcome == SettledAs.COMMITTED || outcome == SettledAs.UNDONE) {
                forget(each);
            }
            SettledAs said = outcome;
            String reason = why;
            questions.ask("write_resolved", event -> event.put(
                            "ordinal", each.path("ordinal").asInt())
                    .put("outcome", said.name().toLowerCase(Locale.ROOT))
                    .put("why", reason));
            if (outcome == SettledAs.RESTORED) { // without it nobody could tell the next time what had been overwritten
                forget(each);
                removeIfNew(each);
            }
        }
    }

    private void forget(JsonNode write) {
        try {
            Path output = new Path(write.path("path").asText());
            Overwritten.forget(
                    output.getFileSystem(conf.get()), output, write.path("job").asText());
        } catch (IOException e) {
            tell(e);
        }
    }

    /** Of an output that was not there when its write began nothing is left. */
    private void removeIfNew(JsonNode write) {
        try {
            Path output = new Path(write.path("path").asText());
            if (!write.path("existed").asBoolean()) {
                WrittenFiles.removeIfEmpty(output.getFileSystem(conf.get()), output);
            }
        } catch (IOException e) {
            tell(e);
        }
    }

    private static void tell(IOException e) {
        System.err.println("yarnspec: what is left of a write that is settled is not deleted: " + e);
    }

    /** RESTORED: undone, and what it had overwritten is there again. */
    private enum SettledAs {
        COMMITTED,
        UNDONE,
        RESTORED,
        FAILED
    }

    private SettledAs settle(JsonNode write) throws IOException {
        Path output = new Path(write.path("path").asText());
        FileSystem files = output.getFileSystem(conf.get());
        String job = write.path("job").asText();
        int epoch = write.path("epoch").asInt();
        boolean committing = write.path("state").asText().equals("committing");
        // A shorter name could be a part of the name of somebody else's file.
        boolean known = WrittenFiles.JOB.matcher(job).matches();
        if (known) {
            Overwritten.shutOut(files, output, job); // first: its driver may be alive
        }
        if (!known) {
            throw new IOException("it is not known which files are its own");
        }
        if (committing && write.path("digest").asText().isEmpty()) {
            if (Overwritten.isLeft(files, output, job) && Overwritten.isAllBelow(files, output, job)) {
                WrittenFiles.undo(files, output, job, epoch);
                Overwritten.putBack(files, output, job);
            }
            throw new IOException("it is not known which files are its own");
        }
        if (committing && isThere(write) && !(hasNone(write) && Overwritten.isLeft(files, output, job))) {
            WrittenFiles.finish(files, output, job, epoch, conf.get());
            return SettledAs.COMMITTED;
        }
        if (isSave(write)) {
            if (!WrittenFiles.undoSave(files, output, job, epoch) && committing) {
                throw new IOException("there are others than the files that it was about to show");
            }
            return SettledAs.UNDONE;
        }
        WrittenFiles.undo(files, output, job, epoch);
        boolean restored = Overwritten.putBack(files, output, job);
        if (!write.path("existed").asBoolean()) {
            WrittenFiles.removeIfEmpty(files, output);
        }
        return restored ? SettledAs.RESTORED : SettledAs.UNDONE;
    }

    /** Whether the output has the files that were recorded. */
    boolean isThere(JsonNode write) throws IOException {
        Path output = new Path(write.path("path").asText());
        String job = isSave(write) ? WrittenFiles.ALL : write.path("job").asText();
        WrittenFiles recorded = new WrittenFiles(
                write.path("files").asInt(), write.path("digest").asText());
        return WrittenFiles.shown(output.getFileSystem(conf.get()), output, job).equals(recorded);
    }

    /** Of these nobody sees whether they are shown. */
    private static boolean hasNone(JsonNode write) {
        return write.path("files").asInt() == 0;
    }

    private static boolean isSave(JsonNode write) {
        return write.path("mode").asText().equals(SAVE);
    }
}
