package org.yarnspec.rm;

import java.io.IOException;
import java.nio.file.Path;
import java.util.function.IntUnaryOperator;
import org.apache.hadoop.yarn.api.ApplicationMasterProtocol;
import org.apache.hadoop.yarn.api.protocolrecords.AllocateRequest;
import org.apache.hadoop.yarn.api.protocolrecords.AllocateResponse;
import org.apache.hadoop.yarn.api.protocolrecords.FinishApplicationMasterRequest;
import org.apache.hadoop.yarn.api.protocolrecords.FinishApplicationMasterResponse;
import org.apache.hadoop.yarn.api.protocolrecords.RegisterApplicationMasterRequest;
import org.apache.hadoop.yarn.api.protocolrecords.RegisterApplicationMasterResponse;
import org.apache.hadoop.yarn.api.records.FinalApplicationStatus;
import org.apache.hadoop.yarn.exceptions.InvalidResourceRequestException;
import org.apache.hadoop.yarn.exceptions.YarnException;
import org.yarnspec.placement.AllocateRewriter;
import org.yarnspec.placement.DesiredPlacement;
import org.yarnspec.placement.DesiredPlacement.Finish;
import org.yarnspec.placement.PlacementFile;
import org.yarnspec.placement.RmEvents;

/**
 * The application master's calls to the ResourceManager, with the desired placement put into them.
 *
 * <p>Nothing of ours is ever thrown at the caller: Skein's allocator ends the application on any exception. What goes
 * wrong here is reported, and the call goes through as it came. The ResourceManager's own exceptions pass untouched, as
 * Hadoop's retry policies above decide by them.
 */
final class AmCallInterceptor {

    private final RmEvents events;
    private final PlacementFile file;
    private final AllocateRewriter rewriter;
    private final AnswerEvents answers;
    private final LastWord lastWord;
    private final SkeinPatch patch;
    private final SkeinHeartbeats heartbeats;
    private boolean cured;
    private Finish incurable;

    AmCallInterceptor(Path directory, SkeinPatch patch, IntUnaryOperator profiles, SkeinHeartbeats heartbeats) {
        this.events = new RmEvents(directory.resolve("yarnspec-rm-events.jsonl"));
        this.file = new PlacementFile(directory.resolve("yarnspec-placement.json"), events);
        this.rewriter = new AllocateRewriter(events, profiles);
        this.answers = new AnswerEvents(events, rewriter);
        this.lastWord = new LastWord(events);
        this.patch = patch;
        this.heartbeats = heartbeats;
    }

    RegisterApplicationMasterResponse register(
            RegisterApplicationMasterRequest request, ApplicationMasterProtocol resourceManager)
            throws YarnException, IOException {
        RegisterApplicationMasterResponse response = resourceManager.registerApplicationMaster(request);
        guarded("registration", () -> {
            synchronized (this) {
                rewriter.registered(request.getTrackingUrl(), response);
                answers.registered(response);
            }
        });
        return response;
    }

    AllocateResponse allocate(AllocateRequest request, ApplicationMasterProtocol resourceManager)
            throws YarnException, IOException {
        cureOnce();
        DesiredPlacement placement = file.read();
        Finish finish = incurable != null ? incurable : placement.finish();
        if (finish != null || lastWord.said()) {
            return lastWord.insteadOf(request, finish, resourceManager);
        }
        AllocateResponse response = accepted(request, placement, resourceManager);
        guarded("answer", () -> {
            // Read again: a host that was blocked while the call was under way gets no container either.
            DesiredPlacement now = file.read();
            synchronized (this) {
                rewriter.succeeded();
                rewriter.filter(response, now);
                answers.allocated(response);
            }
        });
        return response;
    }

    FinishApplicationMasterResponse finish(
            FinishApplicationMasterRequest request, ApplicationMasterProtocol resourceManager)
            throws YarnException, IOException {
        Finish finish = incurable != null ? incurable : file.read().finish();
        return lastWord.insteadOf(request, finish, resourceManager);
    }

    private AllocateResponse accepted(
            AllocateRequest request, DesiredPlacement placement, ApplicationMasterProtocol resourceManager)
            throws YarnException, IOException {
        while (true) {
            try {
                AllocateResponse response = resourceManager.allocate(rewritten(request, placement));
                guarded("heartbeat", () -> heartbeats.called(isNews(request, response)));
                return response;
            } catch (InvalidResourceRequestException refusal) {
                // It would end the application; what was asked beyond Skein's own request is rather given up, and said
                // so.
                boolean[] again = {false};
                guarded("refusal", () -> again[0] = refused(refusal));
                if (!again[0]) {
                    throw refusal;
                }
            }
        }
    }

    /**
     * Looks at what Skein itself asks. Other hosts for a waiting request are no news: they change often, and the calls would
     * never slow down.
     */
    private static boolean isNews(AllocateRequest request, AllocateResponse response) {
        return !request.getAskList().isEmpty()
                || !request.getReleaseList().isEmpty()
                || !response.getAllocatedContainers().isEmpty()
                || !response.getCompletedContainersStatuses().isEmpty();
    }

    private synchronized boolean refused(InvalidResourceRequestException refusal) {
        String why = String.valueOf(refusal.getMessage());
        return rewriter.refused(why.lines().findFirst().orElse("the ResourceManager refuses it"));
    }

    private synchronized AllocateRequest rewritten(AllocateRequest request, DesiredPlacement placement) {
        AllocateRequest[] sent = {request};
        guarded("request", () -> sent[0] = rewriter.rewrite(request, placement));
        if (sent[0] == request) {
            guarded("request passed through", () -> rewriter.passedThrough(request));
        }
        return sent[0];
    }

    private void cureOnce() {
        if (cured) {
            return;
        }
        cured = true;
        try {
            patch.apply();
        } catch (ReflectiveOperationException | RuntimeException | LinkageError failure) {
            String message =
                    "this is not the Skein that yarnspec knows: container requests could get lost, so the application ends ("
                            + failure
                            + ")";
            System.err.println("yarnspec: " + message);
            events.error(message);
            incurable = new Finish(FinalApplicationStatus.FAILED, message);
        }
    }

    private void guarded(String part, Runnable work) {
        try {
            work.run();
        } catch (VirtualMachineError fatal) {
            throw fatal;
        } catch (Throwable failure) {
            failure.printStackTrace();
            events.error("the " + part + " of a call to the ResourceManager was left as it is: " + failure);
        }
    }
}
