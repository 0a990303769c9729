import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.Reader;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.yarnspec.channel.NegotiatorWatch;
import org.yarnspec.channel.Outbox;
import py4j.CallbackClient;
import py4j.GatewayServer;

/**
 * A driver without Spark: it wants the executors that the submit names, and tells the negotiator which have come.
 *
 * <p>It is started with the real driver's command line and speaks the same bridge. Executors of hollow hosts announce
 * themselves and their end at its address, with a line each: {@code here ID HOST} or {@code gone ID HOST}.
 */
public final class StubDriver {
    private static final int CORES = 1;
    private static final int TIMEOUT_MS = 60_000;

    private final Outbox outbox = new Outbox();
    private final Map<String, String> executors = new HashMap<>();
    private final NegotiatorWatch watch;

    private StubDriver(NegotiatorWatch watch) {
        this.watch = watch;
    }

    public static void main(String[] arguments) throws Exception {
        Properties conf = new Properties();
        int at = Arrays.asList(arguments).indexOf("--properties-file");
        try (Reader reader = Files.newBufferedReader(Path.of(arguments[at + 1]))) {
            conf.load(reader);
        }
        NegotiatorWatch watch =
                new NegotiatorWatch(Long.valueOf(conf.getProperty("spark.yarnspec.negotiator.pid")), TIMEOUT_MS);
        StubDriver driver = new StubDriver(watch);
        String host = conf.getProperty("spark.driver.host");
        int port = Integer.parseInt(conf.getProperty("spark.driver.port"));
        try (ServerSocket door = new ServerSocket(port, 1, InetAddress.getByName(host))) {
            driver.announce(Path.of(conf.getProperty("spark.yarnspec.bridge.file")));
            watch.start();
            driver.outbox.add(
                    "backend_started",
                    event -> event.put("driver_url", "spark://CoarseGrainedScheduler@" + host + ":" + port)
                            .putNull("ui_url")
                            .put("context", 1));
            int wanted = Integer.parseInt(conf.getProperty("spark.yarnspec.executors"));
            driver.outbox.add(
                    "target_executors", event -> event.put("count", wanted).putArray("profiles"));
            while (true) {
                Socket socket = door.accept();
                new Thread(() -> driver.listen(socket)).start();
            }
        }
    }

    private void announce(Path file) throws IOException, InterruptedException {
        String token = UUID.randomUUID().toString();
        InetAddress loopback = InetAddress.getByName("127.0.0.1");
        GatewayServer server = new GatewayServer.GatewayServerBuilder(this)
                .javaAddress(loopback)
                .javaPort(0)
                .callbackClient(
                        new CallbackClient(GatewayServer.DEFAULT_PYTHON_PORT, loopback, 0, TimeUnit.SECONDS))
                .authToken(token)
                .build();
        server.start();
        Map<String, Object> told = Map.of(
                "port", server.getListeningPort(),
                "token", token,
                "pid", ProcessHandle.current().pid());
        Path beside = file.resolveSibling(file.getFileName() + ".new");
        Files.writeString(beside, new ObjectMapper().writeValueAsString(told));
        Files.move(beside, file, StandardCopyOption.ATOMIC_MOVE);
    }

    private void listen(Socket socket) {
        try (BufferedReader lines =
                new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8))) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                String[] words = line.split(" ");
                if (words[0].equals("here")) {
                    came(words[1], words[2]);
                } else {
                    broke(words[1]);
                }
            }
        } catch (IOException end) {
            throw new UncheckedIOException(end);
        }
    }

    private synchronized void came(String executor, String host) {
        executors.put(executor, host);
        outbox.add("executor_registered", event -> event.put("executor_id", executor)
                .put("host", host)
                .put("cores", CORES));
    }

    private synchronized void broke(String executor) {
        if (executors.containsKey(executor)) {
            outbox.add("executor_disconnected", event -> event.put("executor_id", executor));
        }
    }

    // what the negotiator calls (org.yarnspec.driver.Bridge)

    public String poll(long afterSeq, int timeoutMs) throws InterruptedException {
        watch.callBegins();
        try {
            return outbox.poll(afterSeq, timeoutMs);
        } finally {
            watch.callEnds();
        }
    }

    public synchronized void removeExecutor(String executor, int exitCode, boolean causedByApp, String reason) {
        if (executors.remove(executor) != null) {
            outbox.add("executor_removed", event -> event.put("executor_id", executor)
                    .put("reason", reason));
        }
    }

    public void setBlocks(String blocksJson) {}

    public void declareReady() {}

    public int heldBlocks(String executor) {
        return 0;
    }

    public void hostGone(String host) {}

    public String progress() {
        return "{\"tasks_running\": 0}";
    }
}
