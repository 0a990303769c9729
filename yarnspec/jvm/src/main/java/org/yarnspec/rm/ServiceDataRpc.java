package org.yarnspec.rm;

import java.io.Closeable;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.api.ContainerManagementProtocol;
import org.apache.hadoop.yarn.api.protocolrecords.StartContainerRequest;
import org.apache.hadoop.yarn.api.protocolrecords.StartContainersRequest;
import org.apache.hadoop.yarn.api.records.ContainerLaunchContext;
import org.apache.hadoop.yarn.exceptions.YarnRuntimeException;
import org.apache.hadoop.yarn.ipc.HadoopYarnProtoRPC;

/**
 * Tells the host of each container that starts about the application's shuffle service: without it the service does not
 * know the application, and lets none of its executors in.
 *
 * <p>Skein builds the launch contexts and has no word for this. So it is added on the way to the NodeManager, by the
 * extension point through which Hadoop makes its proxies ({@code yarn.ipc.rpc.class}). What is told is the
 * application's secret, or nothing where it has none; it stands in no configuration, argument or environment.
 */
public final class ServiceDataRpc extends HadoopYarnProtoRPC {
    static final String SERVICE = "yarnspec.shuffle-service.name";
    static final String SECRET_FILE = "yarnspec.shuffle-service.secret-file";

    @Override
    @SuppressWarnings("rawtypes")
    public Object getProxy(Class protocol, InetSocketAddress address, Configuration conf) {
        Object proxy = super.getProxy(protocol, address, conf);
        String service = conf.get(SERVICE);
        if (protocol != ContainerManagementProtocol.class || service == null) {
            return proxy;
        }
        return told(proxy, service, secret(Path.of(conf.get(SECRET_FILE, ""))));
    }

    private static byte[] secret(Path file) {
        try {
            return Files.readAllBytes(file);
        } catch (NoSuchFileException e) {
            return new byte[0]; // the application has none
        } catch (IOException e) {
            throw new YarnRuntimeException("The application's secret cannot be read.", e);
        }
    }

    /** A proxy around this one, whose containers bring the service's data along. */
    static Object told(Object proxy, String service, byte[] secret) {
        // Hadoop closes its proxies by this interface.
        Class<?>[] types = {ContainerManagementProtocol.class, Closeable.class};
        return Proxy.newProxyInstance(ServiceDataRpc.class.getClassLoader(), types, (self, method, args) -> {
            if (method.getName().equals("startContainers")) {
                args = new Object[] {withData((StartContainersRequest) args[0], service, secret)};
            }
            try {
                return method.invoke(proxy, args);
            } catch (InvocationTargetException wrapper) {
                throw wrapper.getCause();
            }
        });
    }

    private static StartContainersRequest withData(StartContainersRequest request, String service, byte[] secret) {
        List<StartContainerRequest> all = new ArrayList<>();
        for (StartContainerRequest each : request.getStartContainerRequests()) {
            ContainerLaunchContext context = each.getContainerLaunchContext();
            Map<String, ByteBuffer> data = new HashMap<>();
            if (context.getServiceData() != null) {
                data.putAll(context.getServiceData());
            }
            data.put(service, ByteBuffer.wrap(secret));
            context.setServiceData(data);
            all.add(StartContainerRequest.newInstance(context, each.getContainerToken()));
        }
        return StartContainersRequest.newInstance(all);
    }
}
