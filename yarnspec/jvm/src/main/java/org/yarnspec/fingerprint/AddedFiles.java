package org.yarnspec.fingerprint;

import java.io.IOException;
import java.net.URI;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkFiles;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The files that the program gives to its executors while it runs. Functions read and import them, and the next driver
 * may have made them anew with other content. So files and archives ({@code addFile}, {@code addPyFile},
 * {@code addArchive}) are known by their content. The driver has no copy of jars ({@code ADD JAR}).
 */
public final class AddedFiles {
    private static final String OUR_JAR = name(
            AddedFiles.class.getProtectionDomain().getCodeSource().getLocation().toString());

    private final Map<String, byte[]> digests = new ConcurrentHashMap<>();

    /** Adds the name and content of each; throws Unknown when one cannot be read, and for a jar. */
    public void add(Fingerprint into, SparkContext context) {
        checkJars(context);
        // Spark holds them under addresses of its driver, which are others in the next one.
        Map<String, Long> when = new TreeMap<>();
        CollectionConverters.asJava(context.allAddedFiles()).forEach((uri, time) -> when.put(uri, (Long) time));
        CollectionConverters.asJava(context.allAddedArchives()).forEach((uri, time) -> when.put(uri, (Long) time));
        List<byte[]> each = new ArrayList<>();
        when.forEach((uri, time) -> each.add(digests.computeIfAbsent(uri + " " + time, key -> digest(uri))));
        into.addUnordered(each);
    }

    private static void checkJars(SparkContext context) {
        Set<String> submitted = new HashSet<>();
        for (String jar : context.getConf().get("spark.jars", "").split(",")) {
            submitted.add(name(jar));
        }
        CollectionConverters.asJava(context.allAddedJars()).keySet().forEach(jar -> {
            if (!submitted.contains(name(jar)) && !isOurJar(jar)) {
                throw new Unknown("the program has added a jar while it ran: " + name(jar));
            }
        });
    }

    /** By its name: yarnspec.sink brings it where nobody else has. */
    public static boolean isOurJar(String address) {
        return name(address).equals(OUR_JAR);
    }

    /** The file's own, by an address or a path: in an address Spark writes a space as %20. */
    private static String name(String address) {
        String place = address.strip().split("#", 2)[0];
        String name = place.substring(place.lastIndexOf('/') + 1);
        try {
            return URLDecoder.decode(name.replace("+", "%2B"), StandardCharsets.UTF_8);
        } catch (IllegalArgumentException e) {
            return name; // a path, with a % of its own
        }
    }

    private static byte[] digest(String uri) {
        // An archive may be unpacked under a name of its own, which its address then ends with.
        URI address = URI.create(uri);
        String name = address.getFragment() == null
                ? Path.of(address.getPath()).getFileName().toString()
                : address.getFragment();
        Path top = Path.of(SparkFiles.getRootDirectory()).resolve(name);
        Fingerprint content = new Fingerprint().add(name);
        try (Stream<Path> below = Files.walk(top)) {
            for (Path file : below.sorted().toList()) {
                content.add(top.relativize(file).toString());
                if (Files.isSymbolicLink(file)) {
                    content.add("link").add(Files.readSymbolicLink(file).toString());
                    if (file.equals(top)) {
                        content.add(Fingerprint.ofFile(file));
                    }
                } else {
                    content.add(Files.isDirectory(file) ? new byte[0] : Fingerprint.ofFile(file));
                }
            }
        } catch (IOException | RuntimeException e) {
            throw new Unknown("a file that the program added, " + name + ", cannot be read in the driver");
        }
        return content.bytes();
    }
}
