package org.yarnspec.fingerprint;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.WeakHashMap;
import java.util.regex.Pattern;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.HdfsConfiguration;
import org.apache.hadoop.io.DataInputBuffer;
import org.apache.hadoop.io.DataOutputBuffer;
import org.apache.hadoop.mapred.JobConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.broadcast.TorrentBroadcast$;
import org.apache.spark.io.CompressionCodec;
import org.apache.spark.rdd.HadoopRDD;
import org.apache.spark.rdd.RDD;
import org.apache.spark.storage.BlockData;
import org.apache.spark.storage.BlockManager;
import org.apache.spark.storage.BroadcastBlockId;
import org.apache.spark.util.SerializableConfiguration;
import org.yarnspec.spark.Fields;
import scala.Option;
import scala.reflect.ClassTag$;

/**
 * The settings of Hadoop that an RDD's input format can read: all that the program has set differently from the
 * cluster's own files. Nobody knows which keys a format looks at.
 *
 * <p>The configuration is looked at as tasks get it. It was written when the RDD was made; the driver's own object is often
 * the context's, and the program may have changed that since, or changed it for this RDD only.
 */
public final class HadoopSettings {
    /** These are of Hadoop's own formats, and count also where they are the cluster's. */
    private static final List<String> KEYS = List.of(
            "mapreduce.input.",
            "mapred.input.",
            "mapred.min.split",
            "mapred.max.split",
            "textinputformat.",
            "key.value.separator",
            "io.compression.",
            "io.serializations",
            "parquet.",
            "avro.",
            "orc.");

    /** Of these the paths, and what is counted of them, are of the input that asked last, which may be another one. */
    private static final Pattern OF_ONE_INPUT = Pattern.compile(".*(inputdir|input\\.dir|numinputfiles).*");

    /** How a file system is let in to, which may be by something new in each driver epoch, and not which bytes it gives. */
    private static final Pattern SECRET = Pattern.compile(
            "(fs|dfs\\.adls)\\..*(key|secret|token|password|credential|oauth|sas).*", Pattern.CASE_INSENSITIVE);

    /**
     * The number of each driver's own tree of uncommitted output, what Spark's SQL sets as soon as it is first used, and
     * where secrets are.
     */
    private static final Set<String> OF_ONE_LIFE = Set.of(
            "mapreduce.job.application.attempt.id", "hive.metastore.warehouse.dir",
            "mapreduce.job.credentials.binary", "hadoop.security.credential.provider.path");

    /** HDFS's client sets these in the first configuration by which it is asked for a file system. */
    private static final String SET_BY_CLIENTS = "rpc.engine.";

    private final Map<RDD<?>, Map<String, String>> known = Collections.synchronizedMap(new WeakHashMap<>());
    private Map<String, String> cluster;

    /** An RDD's settings never change once it is there. */
    Map<String, String> of(RDD<?> rdd) {
        Map<String, String> chosen = known.get(rdd);
        if (chosen == null) {
            String field = rdd instanceof HadoopRDD<?, ?> ? "broadcastedConf" : "confBroadcast";
            if (!(Fields.get(rdd, field) instanceof Broadcast<?> conf)) {
                throw Unknown.kind("the configuration of an input", rdd);
            }
            try {
                chosen = chosen(entries(written(conf)));
            } catch (IOException | RuntimeException e) {
                throw new Unknown("the configuration of an input cannot be read in the driver");
            }
            known.put(rdd, chosen);
        }
        return chosen;
    }

    /** The settings that a configuration of the driver's has now. */
    Map<String, String> of(Configuration conf) {
        try {
            cluster(); // the first of these adds to every configuration
            return chosen(entries(copied(conf)));
        } catch (IOException e) {
            throw new Unknown("a configuration cannot be read in the driver");
        }
    }

    /**
     * The settings that Hadoop's own formats look at, and nothing of the inputs that were there before.
     *
     * <p>Whether the files of MapReduce's settings had been read when the RDD was made says nothing: formats read them.
     */
    Map<String, String> ofFormats(RDD<?> rdd) {
        Map<String, String> chosen = new TreeMap<>(of(rdd));
        try {
            cluster().forEach(chosen::putIfAbsent);
        } catch (IOException e) {
            throw new Unknown("the cluster's configuration cannot be read in the driver");
        }
        chosen.keySet()
                .removeIf(key ->
                        OF_ONE_INPUT.matcher(key).matches() || KEYS.stream().noneMatch(key::startsWith));
        return chosen;
    }

    private Map<String, String> chosen(Map<String, String> settings) throws IOException {
        Map<String, String> ofCluster = cluster();
        Map<String, String> chosen = new TreeMap<>();
        Set<String> keys = new TreeSet<>(settings.keySet());
        keys.addAll(ofCluster.keySet());
        for (String key : keys) {
            String value = settings.get(key);
            boolean differs = !Objects.equals(value, ofCluster.get(key)) && !isOfOneLife(key);
            if (value != null && (differs || KEYS.stream().anyMatch(key::startsWith))) {
                chosen.put(key, value);
            } else if (differs) {
                chosen.put("without " + key, "");
            }
        }
        return chosen;
    }

    /** Whether a setting may be another one in each driver epoch, and changes no bytes. */
    public static boolean isOfOneLife(String key) {
        return OF_ONE_LIFE.contains(key)
                || key.startsWith(SET_BY_CLIENTS)
                || SECRET.matcher(key).matches();
    }

    private synchronized Map<String, String> cluster() throws IOException {
        if (cluster == null) {
            HdfsConfiguration.init(); // which adds files to those of every configuration, as the first JobConf does
            cluster = entries(copied(new JobConf()));
        }
        return cluster;
    }

    /** A copy as a task would have it: reading sets some keys under their older names as well. */
    private static Configuration copied(Configuration conf) throws IOException {
        DataOutputBuffer bytes = new DataOutputBuffer();
        conf.write(bytes);
        DataInputBuffer again = new DataInputBuffer();
        again.reset(bytes.getData(), bytes.getLength());
        Configuration read = new Configuration(false);
        read.readFields(again);
        return read;
    }

    private static Map<String, String> entries(Configuration conf) {
        Map<String, String> entries = new HashMap<>();
        conf.forEach(each -> entries.put(each.getKey(), each.getValue()));
        return entries;
    }

    /** The broadcast variable's pieces, put together as an executor does it. */
    private static Configuration written(Broadcast<?> conf) throws IOException {
        SparkEnv env = SparkEnv.get();
        InputStream[] pieces = pieces(env.blockManager(), conf.id());
        Option<CompressionCodec> codec = env.conf().getBoolean("spark.broadcast.compress", true)
                ? Option.apply(CompressionCodec.createCodec(env.conf()))
                : Option.empty();
        return TorrentBroadcast$.MODULE$
                .<SerializableConfiguration>unBlockifyObject(
                        pieces, env.serializer(), codec, ClassTag$.MODULE$.apply(SerializableConfiguration.class))
                .value();
    }

    private static InputStream[] pieces(BlockManager blocks, long broadcast) throws IOException {
        List<InputStream> pieces = new ArrayList<>();
        while (true) {
            BroadcastBlockId name = new BroadcastBlockId(broadcast, "piece" + pieces.size());
            Option<BlockData> piece = blocks.getLocalBytes(name);
            if (piece.isEmpty()) {
                return pieces.toArray(new InputStream[0]);
            }
            try (InputStream bytes = piece.get().toInputStream()) {
                pieces.add(new ByteArrayInputStream(bytes.readAllBytes()));
            } finally {
                blocks.releaseLock(name, Option.empty());
            }
        }
    }
}
