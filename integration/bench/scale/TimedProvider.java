import java.io.IOException;
import java.io.PrintWriter;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.api.ApplicationMasterProtocol;
import org.apache.hadoop.yarn.api.protocolrecords.AllocateRequest;
import org.apache.hadoop.yarn.api.protocolrecords.AllocateResponse;
import org.apache.hadoop.yarn.client.DefaultNoHARMFailoverProxyProvider;
import org.apache.hadoop.yarn.client.RMProxy;

/**
 * Hadoop's own provider with a clock: how long each allocate call takes with the ResourceManager, and how long around
 * that.
 *
 * <p>It stands below yarnspec's provider, or alone where there is none. The first call puts a second clock into Hadoop's
 * client, above everything. The difference of both is what yarnspec's provider adds, with Hadoop's retries, which are
 * there in both cases. The file that {@code yarnspec.bench.calls} names gets a line for each call: milliseconds,
 * microseconds around the ResourceManager ({@code -} for the first call), microseconds in it, requests sent, and
 * containers received.
 *
 * @param <T> the protocol
 */
public final class TimedProvider<T> extends DefaultNoHARMFailoverProxyProvider<T> {
    private static final int NS_PER_US = 1_000;

    private PrintWriter lines;
    private boolean above;
    private long insideNs;
    private int sent;
    private int received;

    @Override
    public void init(Configuration conf, RMProxy<T> factory, Class<T> type) {
        super.init(conf, factory, type);
        if (type != ApplicationMasterProtocol.class) {
            return;
        }
        try {
            lines = new PrintWriter(conf.get("yarnspec.bench.calls"), StandardCharsets.UTF_8);
        } catch (IOException unwritable) {
            throw new IllegalStateException(unwritable);
        }
        T resourceManager = proxy;
        proxy = timed(type, (self, method, args) -> inside(resourceManager, method, args));
    }

    private static <P> P timed(Class<P> type, InvocationHandler handler) {
        return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, handler));
    }

    private Object inside(Object resourceManager, Method method, Object[] args) throws Throwable {
        if (!method.getName().equals("allocate")) {
            return call(resourceManager, method, args);
        }
        boolean first = !above;
        if (first) {
            above = true;
            watchFromAbove();
        }
        long began = System.nanoTime();
        try {
            AllocateRequest request = (AllocateRequest) args[0];
            sent += request.getAskList().size() + request.getSchedulingRequests().size();
            AllocateResponse response = (AllocateResponse) call(resourceManager, method, args);
            received += response.getAllocatedContainers().size();
            return response;
        } finally {
            insideNs += System.nanoTime() - began;
            if (first) {
                write("-");
            }
        }
    }

    private Object around(Object client, Method method, Object[] args) throws Throwable {
        if (!method.getName().equals("allocate")) {
            return call(client, method, args);
        }
        insideNs = 0;
        sent = 0;
        received = 0;
        long began = System.nanoTime();
        Object response = call(client, method, args);
        long ns = System.nanoTime() - began;
        write(Long.toString((ns - insideNs) / NS_PER_US));
        return response;
    }

    private void write(String aroundUs) {
        lines.println(System.currentTimeMillis() + " " + aroundUs + " " + insideNs / NS_PER_US + " " + sent + " " + received);
        lines.flush();
    }

    private static Object call(Object target, Method method, Object[] args) throws Throwable {
        try {
            return method.invoke(target, args);
        } catch (InvocationTargetException wrapper) {
            throw wrapper.getCause();
        }
    }

    /** Runs in Skein's allocator thread, which leads to its application master, its client, and the client's proxy. */
    private void watchFromAbove() throws ReflectiveOperationException {
        Object master = value(Thread.currentThread(), Thread.currentThread().getClass(), "this$0");
        Object client = value(master, master.getClass(), "rmClient");
        Class<?> type = client.getClass();
        while (!type.getSimpleName().equals("AMRMClientImpl")) {
            type = type.getSuperclass();
        }
        Field field = type.getDeclaredField("rmClient");
        field.setAccessible(true);
        Object before = field.get(client);
        field.set(
                client,
                timed(ApplicationMasterProtocol.class, (self, method, args) -> around(before, method, args)));
    }

    private static Object value(Object owner, Class<?> type, String name) throws ReflectiveOperationException {
        Field field = type.getDeclaredField(name);
        field.setAccessible(true);
        return field.get(owner);
    }
}
