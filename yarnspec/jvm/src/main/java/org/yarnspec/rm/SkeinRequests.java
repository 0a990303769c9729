package org.yarnspec.rm;

import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.Map;
import java.util.function.IntUnaryOperator;
import org.apache.hadoop.yarn.api.records.Priority;

/**
 * The executors for which Skein's requests are: what the negotiator put into the environment of their containers.
 *
 * <p>A request that Skein sends says nothing of this. Executors of different sizes need containers of their own, and
 * Skein starts the executor whose request has the container's priority.
 */
final class SkeinRequests implements IntUnaryOperator {
    private static final String PROFILE = "YARNSPEC_PROFILE"; // yarnspec/spark/executor.py

    private Map<?, ?> services;
    private Field requested;
    private Method environment;

    /** Fails when this is not the Skein that we know. */
    void find(Object applicationMaster) throws ReflectiveOperationException {
        services = (Map<?, ?>)
                SkeinMaster.field(applicationMaster.getClass(), "priorities").get(applicationMaster);
        ClassLoader loader = applicationMaster.getClass().getClassLoader();
        requested = SkeinMaster.field(
                Class.forName(applicationMaster.getClass().getName() + "$ServiceTracker", false, loader), "requested");
        String container = applicationMaster.getClass().getPackageName() + ".Model$Container";
        environment = Class.forName(container, false, loader).getMethod("getEnv");
    }

    /** The number of the resource profile whose executor the request with this priority is for; 0: the usual one. */
    @Override
    public int applyAsInt(int priority) {
        Priority key = Priority.newInstance(priority);
        Object service;
        synchronized (services) {
            service = services.get(key);
        }
        if (service == null) {
            return 0;
        }
        // Skein holds this lock from before it takes a priority until the container is among those that are requested.
        synchronized (service) {
            try {
                Object container = ((Map<?, ?>) requested.get(service)).get(key);
                Map<?, ?> variables = container == null ? null : (Map<?, ?>) environment.invoke(container);
                Object profile = variables == null ? null : variables.get(PROFILE);
                return profile == null ? 0 : Integer.parseInt(profile.toString());
            } catch (ReflectiveOperationException unknown) {
                throw new IllegalStateException("Skein's requests cannot be read.", unknown);
            }
        }
    }
}
