package org.yarnspec.minicluster;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.server.api.ApplicationInitializationContext;
import org.apache.hadoop.yarn.server.api.ApplicationTerminationContext;
import org.apache.hadoop.yarn.server.api.AuxiliaryService;
import org.apache.spark.network.TransportContext;
import org.apache.spark.network.crypto.AuthServerBootstrap;
import org.apache.spark.network.sasl.ShuffleSecretManager;
import org.apache.spark.network.server.TransportServer;
import org.apache.spark.network.server.TransportServerBootstrap;
import org.apache.spark.network.shuffle.ExternalBlockHandler;
import org.apache.spark.network.util.JavaUtils;
import org.apache.spark.network.util.MapConfigProvider;
import org.apache.spark.network.util.TransportConf;

/**
 * Spark's external shuffle service as an auxiliary service of a mini cluster's NodeManagers.
 *
 * <p>Spark's own class for this ({@code YarnShuffleService}) is neither in pyspark nor in Maven's repository, and listens
 * on all addresses, of which the hosts of a mini cluster have one each. What it is made of is in pyspark: the handler of
 * blocks, the server, and what knows the applications' secrets; so is what it does with an application.
 */
public final class ShuffleService extends AuxiliaryService {
    private ShuffleSecretManager secrets;
    private ExternalBlockHandler blocks;
    private TransportContext context;
    private TransportServer server;

    public ShuffleService() {
        super("spark_shuffle");
    }

    @Override
    protected void serviceInit(Configuration conf) throws Exception {
        TransportConf transport = new TransportConf("shuffle", new MapConfigProvider(Map.of()));
        List<TransportServerBootstrap> bootstraps = List.of();
        if (conf.getBoolean("spark.authenticate", false)) {
            secrets = new ShuffleSecretManager();
            bootstraps = List.of(new AuthServerBootstrap(transport, secrets));
        }
        blocks = new ExternalBlockHandler(transport, null); // knows its executors as long as it runs
        context = new TransportContext(transport, blocks, true);
        server = context.createServer(
                conf.get("yarn.nodemanager.hostname"), conf.getInt("spark.shuffle.service.port", 0), bootstraps);
        super.serviceInit(conf);
    }

    @Override
    public void initializeApplication(ApplicationInitializationContext application) {
        if (secrets != null) {
            // Each attempt may bring another one.
            ByteBuffer data = application.getApplicationDataForService();
            secrets.registerApp(application.getApplicationId().toString(), JavaUtils.bytesToString(data));
        }
    }

    @Override
    public void stopApplication(ApplicationTerminationContext application) {
        String id = application.getApplicationId().toString();
        if (secrets != null) {
            secrets.unregisterApp(id);
        }
        blocks.applicationRemoved(id, false); // the NodeManager deletes the files
    }

    @Override
    public ByteBuffer getMetaData() {
        return ByteBuffer.allocate(0);
    }

    @Override
    protected void serviceStop() throws Exception {
        for (AutoCloseable each : new AutoCloseable[] {server, blocks == null ? null : blocks::close, context}) {
            if (each != null) {
                try {
                    each.close();
                } catch (IOException e) {
                    // The NodeManager ends.
                }
            }
        }
        super.serviceStop();
    }
}
