package org.yarnspec.rm;

import java.io.IOException;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.util.IdentityHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.util.ReflectionUtils;
import org.apache.hadoop.yarn.api.ApplicationClientProtocol;
import org.apache.hadoop.yarn.api.ApplicationMasterProtocol;
import org.apache.hadoop.yarn.api.protocolrecords.AllocateRequest;
import org.apache.hadoop.yarn.api.protocolrecords.FinishApplicationMasterRequest;
import org.apache.hadoop.yarn.api.protocolrecords.RegisterApplicationMasterRequest;
import org.apache.hadoop.yarn.api.protocolrecords.SubmitApplicationRequest;
import org.apache.hadoop.yarn.client.ConfiguredRMFailoverProxyProvider;
import org.apache.hadoop.yarn.client.DefaultNoHARMFailoverProxyProvider;
import org.apache.hadoop.yarn.client.RMFailoverProxyProvider;
import org.apache.hadoop.yarn.client.RMProxy;
import org.apache.hadoop.yarn.conf.HAUtil;

/**
 * Hadoop's extension point through which yarnspec takes part in the calls to the ResourceManager.
 *
 * <p>It is named by {@code yarn.client.failover-no-ha-proxy-provider} and {@code yarn.client.failover-proxy-provider}.
 * The proxies themselves come from the provider that would have been used otherwise (fail-over included): the user's
 * own, carried over in {@code yarnspec.delegate.*}, or Hadoop's.
 *
 * @param <T> the protocol: the application master's or the client's; any other is left alone
 */
public final class PlacementProxyProvider<T> implements RMFailoverProxyProvider<T> {
    static final String DELEGATE_WITHOUT_HA = "yarnspec.delegate.failover-no-ha-proxy-provider";
    static final String DELEGATE_WITH_HA = "yarnspec.delegate.failover-proxy-provider";
    static final String DIRECTORY = "yarnspec.directory";
    static final String SUBMISSION = "yarnspec.submission";

    private RMFailoverProxyProvider<T> delegate;
    private Rewrite rewrite;
    private final Map<T, ProxyInfo<T>> wrapped = new IdentityHashMap<>();
    private final Map<T, T> delegates = new IdentityHashMap<>();

    /** The change of a call on its way to a ResourceManager's proxy; null leaves all calls alone. */
    private interface Rewrite {
        Object call(Object resourceManager, Method method, Object[] args) throws Throwable;
    }

    @Override
    public void init(Configuration configuration, RMProxy<T> proxy, Class<T> protocol) {
        delegate = delegate(configuration);
        delegate.init(configuration, proxy, protocol);
        if (protocol == ApplicationMasterProtocol.class) {
            Path directory = Path.of(configuration.get(DIRECTORY, "")).toAbsolutePath();
            SkeinRequests requests = new SkeinRequests();
            SkeinHeartbeats heartbeats = new SkeinHeartbeats(() -> TimeUnit.NANOSECONDS.toMillis(System.nanoTime()));
            SkeinPatch patch = () -> {
                Object skein = SkeinMaster.ofThisThread();
                SkeinPriorities.cure(skein);
                requests.find(skein);
                heartbeats.find(skein);
            };
            rewrite = master(new AmCallInterceptor(directory, patch, requests, heartbeats));
        } else if (protocol == ApplicationClientProtocol.class && System.getProperty(SUBMISSION) != null) {
            rewrite = client(Path.of(System.getProperty(SUBMISSION)));
        }
    }

    @SuppressWarnings("unchecked")
    private static <T> RMFailoverProxyProvider<T> delegate(Configuration conf) {
        boolean failover = HAUtil.isHAEnabled(conf)
                || (HAUtil.isFederationEnabled(conf) && HAUtil.isFederationFailoverEnabled(conf));
        String key = failover ? DELEGATE_WITH_HA : DELEGATE_WITHOUT_HA;
        Class<?> usual = failover ? ConfiguredRMFailoverProxyProvider.class : DefaultNoHARMFailoverProxyProvider.class;
        Class<?> type = conf.getClass(key, usual);
        if (type.equals(PlacementProxyProvider.class)) {
            throw new IllegalArgumentException(key + " must name another class than " + type.getName());
        }
        return (RMFailoverProxyProvider<T>)
                ReflectionUtils.newInstance(type.asSubclass(RMFailoverProxyProvider.class), conf);
    }

    private static Rewrite master(AmCallInterceptor master) {
        return (resourceManager, method, args) -> {
            ApplicationMasterProtocol protocol = (ApplicationMasterProtocol) resourceManager;
            return switch (method.getName()) {
                case "registerApplicationMaster" ->
                    master.register((RegisterApplicationMasterRequest) args[0], protocol);
                case "allocate" -> master.allocate((AllocateRequest) args[0], protocol);
                case "finishApplicationMaster" -> master.finish((FinishApplicationMasterRequest) args[0], protocol);
                default -> direct(resourceManager, method, args);
            };
        };
    }

    private static Rewrite client(Path submission) {
        return (resourceManager, method, args) -> {
            if (method.getName().equals("submitApplication")) {
                SubmissionRewriter.read(submission)
                        .rewrite(((SubmitApplicationRequest) args[0]).getApplicationSubmissionContext());
            }
            return direct(resourceManager, method, args);
        };
    }

    /** Calls as if we were not there: the exception that comes out is the ResourceManager's own. */
    private static Object direct(Object target, Method method, Object[] args) throws Throwable {
        try {
            return method.invoke(target, args);
        } catch (InvocationTargetException wrapper) {
            throw wrapper.getCause();
        }
    }

    @Override
    public synchronized ProxyInfo<T> getProxy() {
        ProxyInfo<T> info = delegate.getProxy();
        if (rewrite == null || info.proxy == null) {
            return info;
        }
        return wrapped.computeIfAbsent(info.proxy, raw -> new ProxyInfo<>(wrap(raw), info.proxyInfo));
    }

    private T wrap(T raw) {
        InvocationHandler handler = (self, method, args) -> method.getDeclaringClass() == Object.class
                ? direct(raw, method, args)
                : rewrite.call(raw, method, args);
        Class<T> protocol = getInterface();
        T proxy = protocol.cast(Proxy.newProxyInstance(protocol.getClassLoader(), new Class<?>[] {protocol}, handler));
        delegates.put(proxy, raw);
        return proxy;
    }

    @Override
    public synchronized void performFailover(T currentProxy) {
        delegate.performFailover(delegates.getOrDefault(currentProxy, currentProxy));
    }

    @Override
    public Class<T> getInterface() {
        return delegate.getInterface();
    }

    @Override
    public void close() throws IOException {
        delegate.close();
    }
}
