package org.yarnspec.rm;

import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.EnumSet;
import java.util.List;
import org.apache.hadoop.yarn.api.ApplicationMasterProtocol;
import org.apache.hadoop.yarn.api.protocolrecords.AllocateRequest;
import org.apache.hadoop.yarn.api.protocolrecords.AllocateResponse;
import org.apache.hadoop.yarn.api.protocolrecords.FinishApplicationMasterRequest;
import org.apache.hadoop.yarn.api.protocolrecords.FinishApplicationMasterResponse;
import org.apache.hadoop.yarn.api.protocolrecords.RegisterApplicationMasterRequest;
import org.apache.hadoop.yarn.api.protocolrecords.RegisterApplicationMasterResponse;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerState;
import org.apache.hadoop.yarn.api.records.ContainerStatus;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.api.records.ResourceTypeInfo;
import org.apache.hadoop.yarn.exceptions.YarnException;
import org.apache.hadoop.yarn.proto.YarnServiceProtos.SchedulerResourceTypes;

/** The other end of the protocol: keeps what it is sent and answers what the test put in. */
final class FakeResourceManager implements ApplicationMasterProtocol {
    final List<AllocateRequest> calls = new ArrayList<>();
    final List<FinishApplicationMasterRequest> ends = new ArrayList<>();
    final Deque<Object> answers = new ArrayDeque<>();
    Runnable whileAnswering = () -> {};
    List<ResourceTypeInfo> types = List.of();
    EnumSet<SchedulerResourceTypes> counted = EnumSet.of(SchedulerResourceTypes.MEMORY);
    int notYet;
    private int containers;

    AllocateRequest last() {
        return calls.get(calls.size() - 1);
    }

    @Override
    public RegisterApplicationMasterResponse registerApplicationMaster(RegisterApplicationMasterRequest request) {
        RegisterApplicationMasterResponse response = RegisterApplicationMasterResponse.newInstance(
                Resource.newInstance(0, 0), Resource.newInstance(4096, 4), null, null, List.of(), "default", List.of());
        response.setResourceTypes(types);
        response.setSchedulerResourceTypes(counted);
        return response;
    }

    @Override
    public AllocateResponse allocate(AllocateRequest request) throws IOException, YarnException {
        calls.add(request);
        whileAnswering.run();
        Object answer = answers.poll();
        if (answer instanceof IOException failure) {
            throw failure;
        }
        if (answer instanceof YarnException refusal) {
            throw refusal;
        }
        AllocateResponse response = AllocateResponse.newBuilder()
                .responseId(request.getResponseId() + 1)
                .build();
        if (answer instanceof Container container) {
            response.setAllocatedContainers(List.of(container));
        }
        if (answer instanceof ContainerStatus ended) {
            response.setCompletedContainersStatuses(List.of(ended));
        }
        return response;
    }

    @Override
    public FinishApplicationMasterResponse finishApplicationMaster(FinishApplicationMasterRequest request) {
        ends.add(request);
        return FinishApplicationMasterResponse.newInstance(notYet-- <= 0);
    }

    Container container(String host, int priority, long allocationRequestId, int memoryMb) {
        Container container = Container.newInstance(
                ContainerId.newContainerId(
                        ApplicationAttemptId.newInstance(ApplicationId.newInstance(1, 1), 1), ++containers),
                NodeId.newInstance(host, 1234),
                host + ":8042",
                Resource.newInstance(memoryMb, 1),
                Priority.newInstance(priority),
                null);
        container.setAllocationRequestId(allocationRequestId);
        return container;
    }

    static ContainerStatus ended(Container container) {
        return ContainerStatus.newInstance(container.getId(), ContainerState.COMPLETE, "", 0);
    }

    /** A call by which Skein gives a container up. */
    static AllocateRequest gives(Container container) {
        AllocateRequest request = asks(1);
        request.setReleaseList(List.of(container.getId()));
        return request;
    }

    /** What Hadoop's client makes of Skein's requests: one line for each priority. */
    static AllocateRequest asks(int count, int... priorities) {
        List<ResourceRequest> lines = new ArrayList<>();
        for (int priority : priorities) {
            lines.add(ResourceRequest.newBuilder()
                    .priority(Priority.newInstance(priority))
                    .resourceName(ResourceRequest.ANY)
                    .capability(Resource.newInstance(512, 1))
                    .numContainers(count)
                    .relaxLocality(true)
                    .build());
        }
        return AllocateRequest.newBuilder()
                .responseId(0)
                .progress(0.1f)
                .askList(lines)
                .releaseList(List.of())
                .build();
    }
}
