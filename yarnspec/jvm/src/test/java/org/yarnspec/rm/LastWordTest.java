package org.yarnspec.rm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.List;
import org.apache.hadoop.yarn.api.protocolrecords.FinishApplicationMasterRequest;
import org.apache.hadoop.yarn.api.protocolrecords.FinishApplicationMasterResponse;
import org.apache.hadoop.yarn.api.records.FinalApplicationStatus;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.yarnspec.placement.DesiredPlacement.Finish;
import org.yarnspec.placement.RmEvents;

class LastWordTest {
    private static final Finish FAILED = new Finish(FinalApplicationStatus.FAILED, "boom");

    @TempDir
    Path directory;

    private final FakeResourceManager rm = new FakeResourceManager();
    private LastWord lastWord;

    @BeforeEach
    void nothingSaid() {
        lastWord = new LastWord(new RmEvents(directory.resolve("events.jsonl")));
    }

    private FinishApplicationMasterResponse skeinSays(String diagnostics, Finish written) throws Exception {
        return lastWord.insteadOf(
                FinishApplicationMasterRequest.newInstance(FinalApplicationStatus.SUCCEEDED, diagnostics, ""),
                written,
                rm);
    }

    private List<FinalApplicationStatus> heard() {
        return rm.ends.stream()
                .map(FinishApplicationMasterRequest::getFinalApplicationStatus)
                .toList();
    }

    @Test
    void aSuccessOfSkeinsIsOurFailureWhenTheFileSaysSo() throws Exception {
        assertTrue(skeinSays("completed", FAILED).getIsUnregistered());
        assertEquals(List.of(FinalApplicationStatus.FAILED), heard());
        assertEquals("boom", rm.ends.get(0).getDiagnostics());
        assertTrue(lastWord.said());
    }

    @Test
    void whatTheNegotiatorCouldNotWriteComesInSkeinsDiagnostics() throws Exception {
        String carried = "yarnspec-finish:{\"status\":\"FAILED\",\"diagnostics\":\"no \\\"space\\\"\"}";
        assertTrue(skeinSays(carried, null).getIsUnregistered());
        assertEquals(List.of(FinalApplicationStatus.FAILED), heard());
        assertEquals("no \"space\"", rm.ends.get(0).getDiagnostics());
    }

    @Test
    void whatIsCarriedAndCannotBeReadIsAFailure() {
        for (String unreadable : List.of("", "{", "[]", "{\"status\":\"DONE\"}")) {
            Finish finish = Finish.carriedBy("yarnspec-finish:" + unreadable);
            assertEquals(FinalApplicationStatus.FAILED, finish.status(), unreadable);
        }
        assertNull(Finish.carriedBy(null));
        assertNull(Finish.carriedBy("Application driver completed successfully."));
    }

    @Test
    void whatWasSaidIsNotSaidAgain() throws Exception {
        rm.notYet = 2;
        assertTrue(skeinSays("completed", FAILED).getIsUnregistered());
        assertTrue(skeinSays("completed", FAILED).getIsUnregistered());
        assertEquals(List.of(FAILED.status(), FAILED.status(), FAILED.status()), heard());
    }
}
