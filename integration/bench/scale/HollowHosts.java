import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.io.PrintWriter;
import java.io.Writer;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.ipc.Server;
import org.apache.hadoop.yarn.api.ContainerManagementProtocol;
import org.apache.hadoop.yarn.api.protocolrecords.GetContainerStatusesRequest;
import org.apache.hadoop.yarn.api.protocolrecords.GetContainerStatusesResponse;
import org.apache.hadoop.yarn.api.protocolrecords.StartContainerRequest;
import org.apache.hadoop.yarn.api.protocolrecords.StartContainersRequest;
import org.apache.hadoop.yarn.api.protocolrecords.StartContainersResponse;
import org.apache.hadoop.yarn.api.protocolrecords.StopContainersRequest;
import org.apache.hadoop.yarn.api.protocolrecords.StopContainersResponse;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ContainerExitStatus;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerState;
import org.apache.hadoop.yarn.api.records.ContainerStatus;
import org.apache.hadoop.yarn.api.records.NodeAttribute;
import org.apache.hadoop.yarn.api.records.NodeAttributeType;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceUtilization;
import org.apache.hadoop.yarn.api.records.SerializedException;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.exceptions.YarnException;
import org.apache.hadoop.yarn.ipc.YarnRPC;
import org.apache.hadoop.yarn.security.ContainerTokenIdentifier;
import org.apache.hadoop.yarn.server.api.ResourceTracker;
import org.apache.hadoop.yarn.server.api.ServerRMProxy;
import org.apache.hadoop.yarn.server.api.protocolrecords.NodeHeartbeatRequest;
import org.apache.hadoop.yarn.server.api.protocolrecords.NodeHeartbeatResponse;
import org.apache.hadoop.yarn.server.api.protocolrecords.RegisterNodeManagerRequest;
import org.apache.hadoop.yarn.server.api.protocolrecords.RegisterNodeManagerResponse;
import org.apache.hadoop.yarn.server.api.records.MasterKey;
import org.apache.hadoop.yarn.server.api.records.NodeAction;
import org.apache.hadoop.yarn.server.api.records.NodeHealthStatus;
import org.apache.hadoop.yarn.server.api.records.NodeStatus;
import org.apache.hadoop.yarn.server.utils.BuilderUtils;
import org.apache.hadoop.yarn.util.YarnVersionInfo;

/**
 * Hosts of a real ResourceManager that are one process: {@code HollowHosts COUNT MEMORY_MB VCORES RECORD}.
 *
 * <p>Each registers as a NodeManager of its own, sends heartbeats, and takes containers. A container is an entry in a
 * table. Nothing is downloaded and no process starts. An executor's container says at the driver's address that it is
 * there ({@code StubDriver}).
 *
 * <p>All hosts share one server without tokens, so a container's host is read from its token. RECORD gets a line for
 * what happens: milliseconds, what, host, container and executor. Commands come on stdin: {@code leave HOST…} (as if
 * their power failed) and {@code back HOST…}. The process ends with its stdin.
 */
public final class HollowHosts {
    private static final int HOSTS_PER_NETWORK = 250;
    private static final int SENDERS = 12;
    private static final int HANDLERS = 12;
    private static final long BEAT_MS = 1_000;
    private static final long RETRY_MS = 100;

    private final Map<String, Host> hosts = new LinkedHashMap<>();
    private final Map<String, Driver> drivers = new ConcurrentHashMap<>();
    private final ScheduledExecutorService senders = Executors.newScheduledThreadPool(SENDERS);
    private final Resource size;
    private final PrintWriter record;
    private final ResourceTracker tracker;

    private HollowHosts(Resource size, PrintWriter record, ResourceTracker tracker) {
        this.size = size;
        this.record = record;
        this.tracker = tracker;
    }

    public static void main(String[] arguments) throws Exception {
        YarnConfiguration conf = new YarnConfiguration();
        int count = Integer.parseInt(arguments[0]);
        HollowHosts hollow = new HollowHosts(
                Resource.newInstance(Long.parseLong(arguments[1]), Integer.parseInt(arguments[2])),
                new PrintWriter(arguments[3], StandardCharsets.UTF_8),
                ServerRMProxy.createRMProxy(conf, ResourceTracker.class));
        InvocationHandler answers = (self, method, args) -> hollow.answer(method.getName(), args[0]);
        Object service = Proxy.newProxyInstance(
                HollowHosts.class.getClassLoader(), new Class<?>[] {ContainerManagementProtocol.class}, answers);
        Server server = YarnRPC.create(conf)
                .getServer(
                        ContainerManagementProtocol.class,
                        service,
                        new InetSocketAddress("0.0.0.0", 0),
                        conf,
                        null,
                        HANDLERS);
        server.start();
        int port = server.getListenerAddress().getPort();
        for (int number = 0; number < count; number++) {
            String host = "127.0." + (1 + number / HOSTS_PER_NETWORK) + "." + (1 + number % HOSTS_PER_NETWORK);
            hollow.hosts.put(host, hollow.new Host(NodeId.newInstance(host, port)));
        }
        hollow.hosts.values().forEach(Host::come);
        try (BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            for (String line = commands.readLine(); line != null; line = commands.readLine()) {
                hollow.obey(line.split(" "));
            }
        }
        System.exit(0);
    }

    private void obey(String[] words) {
        for (int i = 1; i < words.length; i++) {
            Host host = hosts.get(words[i]);
            if (words[0].equals("leave")) {
                host.leave();
            } else {
                host.come();
            }
        }
    }

    private Object answer(String call, Object request) throws YarnException, IOException {
        return switch (call) {
            case "startContainers" -> start((StartContainersRequest) request);
            case "stopContainers" -> stop((StopContainersRequest) request);
            case "getContainerStatuses" -> statuses((GetContainerStatusesRequest) request);
            default -> throw new YarnException("hollow hosts do not answer " + call);
        };
    }

    private StartContainersResponse start(StartContainersRequest request) throws IOException {
        List<ContainerId> started = new ArrayList<>();
        Map<ContainerId, SerializedException> failed = new HashMap<>();
        for (StartContainerRequest each : request.getStartContainerRequests()) {
            ContainerTokenIdentifier token = BuilderUtils.newContainerTokenIdentifier(each.getContainerToken());
            String address = token.getNmHostAddress();
            Host host = hosts.get(address.substring(0, address.lastIndexOf(':')));
            Map<String, String> environment = each.getContainerLaunchContext().getEnvironment();
            if (host != null && host.start(token, environment)) {
                started.add(token.getContainerID());
            } else {
                failed.put(
                        token.getContainerID(),
                        SerializedException.newInstance(new YarnException("there is no such host now: " + address)));
            }
        }
        return StartContainersResponse.newInstance(Map.of(), started, failed);
    }

    private StopContainersResponse stop(StopContainersRequest request) {
        for (ContainerId id : request.getContainerIds()) {
            hosts.values().forEach(host -> host.end(id, ContainerExitStatus.KILLED_BY_APPMASTER));
        }
        return StopContainersResponse.newInstance(request.getContainerIds(), Map.of());
    }

    private GetContainerStatusesResponse statuses(GetContainerStatusesRequest request) {
        List<ContainerStatus> found = new ArrayList<>();
        for (ContainerId id : request.getContainerIds()) {
            hosts.values().forEach(host -> host.find(id, found));
        }
        return GetContainerStatusesResponse.newInstance(found, Map.of());
    }

    private void record(String what, String host, Object container, String executor) {
        synchronized (record) {
            record.println(System.currentTimeMillis() + " " + what + " " + host + " " + container + " " + executor);
            record.flush();
        }
    }

    /** An executor in a container. {@code driver} is null where none waits for it. */
    private record Executor(String id, String driver, Resource size) {}

    /** One host. It has a new life each time that it comes, and nothing of an earlier life goes on. */
    private final class Host {
        private final NodeId id;
        private final Map<ContainerId, Executor> running = new LinkedHashMap<>();
        private final Map<ContainerId, ContainerStatus> ended = new LinkedHashMap<>();
        private int life;
        private boolean present;
        private int answered;
        private MasterKey containerKey;
        private MasterKey nodeKey;

        Host(NodeId id) {
            this.id = id;
        }

        synchronized void come() {
            if (!present) {
                present = true;
                int now = ++life;
                senders.execute(() -> register(now));
            }
        }

        synchronized void leave() {
            present = false;
            life++;
            record("left", id.getHost(), "-", "-");
            running.forEach((container, executor) -> tell(executor, "gone"));
            running.clear();
            ended.clear();
        }

        private synchronized boolean lives(int then) {
            return then == life;
        }

        private void register(int now) {
            if (!lives(now)) {
                return;
            }
            try {
                RegisterNodeManagerRequest request = RegisterNodeManagerRequest.newInstance(
                        id, id.getPort(), size, YarnVersionInfo.getVersion(), List.of(), List.of(), null);
                request.setNodeAttributes(Set.of(NodeAttribute.newInstance(
                        NodeAttribute.PREFIX_DISTRIBUTED, "host", NodeAttributeType.STRING, id.getHost())));
                request.setPhysicalResource(size);
                request.setNodeStatus(status(0, List.of()));
                RegisterNodeManagerResponse response = tracker.registerNodeManager(request);
                if (response.getNodeAction() == NodeAction.SHUTDOWN) {
                    throw new YarnException(response.getDiagnosticsMessage());
                }
                synchronized (this) {
                    answered = 0;
                    containerKey = response.getContainerTokenMasterKey();
                    nodeKey = response.getNMTokenMasterKey();
                }
                record("came", id.getHost(), "-", "-");
                senders.execute(() -> beat(now));
            } catch (YarnException | IOException | RuntimeException failure) {
                System.err.println(id + " cannot register: " + failure);
                senders.schedule(() -> register(now), BEAT_MS, TimeUnit.MILLISECONDS);
            }
        }

        private void beat(int now) {
            long pauseMs = BEAT_MS;
            try {
                NodeHeartbeatRequest request;
                synchronized (this) {
                    if (!lives(now)) {
                        return;
                    }
                    request = NodeHeartbeatRequest.newInstance(
                            status(answered, statuses()), containerKey, nodeKey, null, null, Map.of());
                }
                NodeHeartbeatResponse response = tracker.nodeHeartbeat(request);
                if (response.getNodeAction() != NodeAction.NORMAL) {
                    System.err.println(id + " is told to " + response.getNodeAction());
                    register(now);
                    return;
                }
                heed(response, now);
                pauseMs = response.getNextHeartBeatInterval();
            } catch (YarnException | IOException | RuntimeException failure) {
                System.err.println(id + " had no answer: " + failure);
            }
            senders.schedule(() -> beat(now), pauseMs, TimeUnit.MILLISECONDS);
        }

        private synchronized void heed(NodeHeartbeatResponse response, int now) {
            if (!lives(now)) {
                return;
            }
            answered = response.getResponseId();
            containerKey = response.getContainerTokenMasterKey() == null
                    ? containerKey
                    : response.getContainerTokenMasterKey();
            nodeKey = response.getNMTokenMasterKey() == null ? nodeKey : response.getNMTokenMasterKey();
            ended.keySet().removeAll(response.getContainersToBeRemovedFromNM());
            response.getContainersToCleanup()
                    .forEach(container -> end(container, ContainerExitStatus.KILLED_BY_RESOURCEMANAGER));
            for (ApplicationId application : response.getApplicationsToCleanup()) {
                List.copyOf(running.keySet()).stream()
                        .filter(each -> of(each, application))
                        .forEach(each -> end(each, ContainerExitStatus.KILLED_AFTER_APP_COMPLETION));
                ended.keySet().removeIf(each -> of(each, application));
            }
        }

        private boolean of(ContainerId container, ApplicationId application) {
            return container.getApplicationAttemptId().getApplicationId().equals(application);
        }

        private NodeStatus status(int response, List<ContainerStatus> containers) {
            NodeHealthStatus healthy = NodeHealthStatus.newInstance(true, "", System.currentTimeMillis());
            ResourceUtilization none = ResourceUtilization.newInstance(0, 0, 0);
            return NodeStatus.newInstance(id, response, containers, List.of(), healthy, none, none, List.of());
        }

        private List<ContainerStatus> statuses() {
            List<ContainerStatus> all = new ArrayList<>(ended.values());
            running.forEach((container, executor) ->
                    all.add(status(container, executor, ContainerState.RUNNING, ContainerExitStatus.INVALID)));
            return all;
        }

        private static ContainerStatus status(
                ContainerId container, Executor executor, ContainerState state, int exitCode) {
            ContainerStatus status = ContainerStatus.newInstance(container, state, "", exitCode);
            status.setCapability(executor.size());
            return status;
        }

        synchronized boolean start(ContainerTokenIdentifier token, Map<String, String> environment) {
            if (!present) {
                return false;
            }
            Executor executor = new Executor(
                    environment.getOrDefault("YARNSPEC_EXECUTOR_ID", "-"),
                    environment.get("YARNSPEC_DRIVER_ADDRESS"),
                    token.getResource());
            running.put(token.getContainerID(), executor);
            record("start", id.getHost(), token.getContainerID(), executor.id());
            tell(executor, "here");
            return true;
        }

        synchronized void end(ContainerId container, int code) {
            Executor executor = running.remove(container);
            if (executor != null) {
                record("end", id.getHost(), container, executor.id());
                ended.put(container, status(container, executor, ContainerState.COMPLETE, code));
                tell(executor, "gone");
            }
        }

        synchronized void find(ContainerId container, List<ContainerStatus> found) {
            Executor executor = running.get(container);
            if (executor != null) {
                found.add(status(container, executor, ContainerState.RUNNING, ContainerExitStatus.INVALID));
            } else if (ended.containsKey(container)) {
                found.add(ended.get(container));
            }
        }

        private void tell(Executor executor, String what) {
            if (executor.driver() != null) {
                drivers.computeIfAbsent(executor.driver(), Driver::new)
                        .said
                        .add(what + " " + executor.id() + " " + id.getHost() + "\n");
            }
        }
    }

    /** The way to one driver: executors' words are sent in order, as soon as it listens. */
    private static final class Driver {
        private final String address;
        private final BlockingQueue<String> said = new LinkedBlockingQueue<>();

        Driver(String address) {
            this.address = address;
            Thread thread = new Thread(this::send, "driver-" + address);
            thread.setDaemon(true);
            thread.start();
        }

        private void send() {
            String[] parts = address.split(":");
            while (true) {
                try (Socket socket = new Socket(parts[0], Integer.parseInt(parts[1]))) {
                    Writer out = new OutputStreamWriter(socket.getOutputStream(), StandardCharsets.UTF_8);
                    while (true) {
                        String word = said.take();
                        out.write(word);
                        out.flush();
                    }
                } catch (IOException notYet) {
                    try {
                        Thread.sleep(RETRY_MS);
                    } catch (InterruptedException end) {
                        return;
                    }
                } catch (InterruptedException end) {
                    return;
                }
            }
        }
    }
}
