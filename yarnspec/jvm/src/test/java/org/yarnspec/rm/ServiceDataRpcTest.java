package org.yarnspec.rm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.Closeable;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.yarn.api.ContainerManagementProtocol;
import org.apache.hadoop.yarn.api.protocolrecords.StartContainerRequest;
import org.apache.hadoop.yarn.api.protocolrecords.StartContainersRequest;
import org.apache.hadoop.yarn.api.protocolrecords.impl.pb.StartContainersRequestPBImpl;
import org.apache.hadoop.yarn.api.records.ContainerLaunchContext;
import org.apache.hadoop.yarn.api.records.Token;
import org.apache.hadoop.yarn.exceptions.YarnException;
import org.junit.jupiter.api.Test;

class ServiceDataRpcTest {
    private final List<Object> heard = new ArrayList<>();

    /** A NodeManager that takes everything down, and fails every other call. */
    private Object told(String secret) {
        Object raw = Proxy.newProxyInstance(
                getClass().getClassLoader(),
                new Class<?>[] {ContainerManagementProtocol.class, Closeable.class},
                (self, method, args) -> {
                    heard.add(args == null ? method.getName() : args[0]);
                    if (method.getName().equals("stopContainers")) {
                        throw new YarnException("no");
                    }
                    return null;
                });
        return ServiceDataRpc.told(raw, "spark_shuffle", secret.getBytes(StandardCharsets.UTF_8));
    }

    private static StartContainersRequest starting(Map<String, ByteBuffer> data) {
        ContainerLaunchContext context =
                ContainerLaunchContext.newInstance(Map.of(), Map.of("A", "b"), List.of("run"), data, null, Map.of());
        Token token = Token.newInstance(new byte[] {1}, "kind", new byte[] {2}, "service");
        return StartContainersRequest.newInstance(List.of(StartContainerRequest.newInstance(context, token)));
    }

    private ContainerLaunchContext started() {
        // As it goes over the wire.
        StartContainersRequestPBImpl sent = (StartContainersRequestPBImpl) heard.get(0);
        return new StartContainersRequestPBImpl(sent.getProto())
                .getStartContainerRequests()
                .get(0)
                .getContainerLaunchContext();
    }

    private static String text(ByteBuffer data) {
        return StandardCharsets.UTF_8.decode(data.duplicate()).toString();
    }

    @Test
    void eachContainerBringsTheSecretAlongWithWhatItHad() throws Exception {
        ContainerManagementProtocol manager = (ContainerManagementProtocol) told("s3cret");
        manager.startContainers(starting(Map.of("other", ByteBuffer.wrap(new byte[] {65}))));
        assertEquals("s3cret", text(started().getServiceData().get("spark_shuffle")));
        assertEquals("A", text(started().getServiceData().get("other")));
        assertEquals(Map.of("A", "b"), started().getEnvironment());
        assertEquals(List.of("run"), started().getCommands());
    }

    @Test
    void anApplicationWithoutASecretIsToldOfAllTheSame() throws Exception {
        ((ContainerManagementProtocol) told("")).startContainers(starting(null));
        assertEquals("", text(started().getServiceData().get("spark_shuffle")));
    }

    @Test
    void everythingElseGoesThroughAndSoDoErrors() throws Exception {
        ContainerManagementProtocol manager = (ContainerManagementProtocol) told("s3cret");
        assertTrue(assertThrows(YarnException.class, () -> manager.stopContainers(null))
                .getMessage()
                .contains("no"));
        ((Closeable) manager).close();
        assertSame("close", heard.get(1));
    }
}
