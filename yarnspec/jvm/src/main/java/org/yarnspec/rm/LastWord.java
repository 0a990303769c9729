package org.yarnspec.rm;

import java.io.IOException;
import org.apache.hadoop.yarn.api.ApplicationMasterProtocol;
import org.apache.hadoop.yarn.api.protocolrecords.AllocateRequest;
import org.apache.hadoop.yarn.api.protocolrecords.AllocateResponse;
import org.apache.hadoop.yarn.api.protocolrecords.FinishApplicationMasterRequest;
import org.apache.hadoop.yarn.api.protocolrecords.FinishApplicationMasterResponse;
import org.apache.hadoop.yarn.exceptions.YarnException;
import org.yarnspec.placement.DesiredPlacement.Finish;
import org.yarnspec.placement.RmEvents;

/**
 * Ends the application for good when the negotiator says so, and keeps Skein from saying otherwise afterwards.
 *
 * <p>Skein only unregisters when it succeeded or has no attempt left: YARN would run a program that fails once more. Said
 * by us, FAILED is final. Skein is told that the application succeeded, whatever its result, so that it says a last word
 * and cleans up after itself; that word is replaced by ours, or swallowed when ours was said before.
 */
final class LastWord {
    private static final long POLL_MS = 100;
    private static final long POLLS_PER_CALL = 50;

    private final RmEvents events;
    private boolean said;

    LastWord(RmEvents events) {
        this.events = events;
    }

    synchronized boolean said() {
        return said;
    }

    /** Says it, unless it was said; returns the answer to Skein's allocate call. The ResourceManager's errors pass. */
    AllocateResponse insteadOf(AllocateRequest allocate, Finish finish, ApplicationMasterProtocol resourceManager)
            throws YarnException, IOException {
        say(finish, resourceManager);
        return AllocateResponse.newBuilder()
                .responseId(allocate.getResponseId())
                .build();
    }

    /** Skein's own last word: swallowed when ours was said, replaced when ours is waiting, passed on otherwise. */
    synchronized FinishApplicationMasterResponse insteadOf(
            FinishApplicationMasterRequest skeins, Finish written, ApplicationMasterProtocol resourceManager)
            throws YarnException, IOException {
        Finish finish = written != null ? written : Finish.carriedBy(skeins.getDiagnostics());
        if (finish != null) {
            say(finish, resourceManager);
        }
        if (said) {
            return FinishApplicationMasterResponse.newInstance(true);
        }
        if (finish != null) {
            return FinishApplicationMasterResponse.newInstance(false);
        }
        FinishApplicationMasterResponse response = resourceManager.finishApplicationMaster(skeins);
        if (response.getIsUnregistered()) {
            said = true;
            events.finished(String.valueOf(skeins.getFinalApplicationStatus()));
        }
        return response;
    }

    private synchronized void say(Finish finish, ApplicationMasterProtocol resourceManager)
            throws YarnException, IOException {
        // The ResourceManager saves the end first and says "not yet" meanwhile; after a while the next heartbeat goes
        // on.
        for (int poll = 0; !said && poll < POLLS_PER_CALL; poll++) {
            FinishApplicationMasterResponse response =
                    resourceManager.finishApplicationMaster(FinishApplicationMasterRequest.newInstance(
                            finish.status(), finish.diagnostics(), finish.trackingUrl()));
            if (response.getIsUnregistered()) {
                said = true;
                events.finished(String.valueOf(finish.status()));
                return;
            }
            try {
                wait(POLL_MS);
            } catch (InterruptedException interrupted) {
                Thread.currentThread().interrupt();
                return;
            }
        }
    }
}
