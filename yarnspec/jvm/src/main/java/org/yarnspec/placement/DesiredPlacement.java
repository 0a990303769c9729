package org.yarnspec.placement;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.yarn.api.records.FinalApplicationStatus;
import org.apache.hadoop.yarn.api.resource.PlacementConstraint.AbstractConstraint;
import org.apache.hadoop.yarn.util.constraint.PlacementConstraintParseException;
import org.apache.hadoop.yarn.util.constraint.PlacementConstraintParser;

/**
 * The whole desired state of placement, as the negotiator wrote it to {@code placement.json}.
 *
 * @param version grows by one with each file the negotiator writes; 0 before the first
 * @param rules what holds for every container
 * @param wanted all containers that are asked for, in the order in which they are to be served
 * @param trackingUrl where YARN's "application master" link leads, or null for what Skein registered
 * @param finish how the application ends, or null while it goes on
 */
public record DesiredPlacement(long version, Rules rules, List<Wanted> wanted, String trackingUrl, Finish finish) {

    /** How hosts are kept out: by the application's blacklist, or by a constraint on each ask. */
    enum Mode {
        BLACKLIST,
        CONSTRAINTS
    }

    /**
     * What holds for every container.
     *
     * @param mode how hosts are kept out
     * @param hostAttribute the node attribute that holds a node's host name (constraint mode)
     * @param constraint the user's own constraint in YARN's syntax, or null (constraint mode)
     * @param tags allocation tags of every container (constraint mode)
     * @param blockedHosts hosts that get no container at all
     * @param racks rack by host, for the hosts that the negotiator knows
     */
    record Rules(
            Mode mode,
            String hostAttribute,
            AbstractConstraint constraint,
            Set<String> tags,
            Set<String> blockedHosts,
            Map<String, String> racks) {}

    /**
     * One container with wishes of its own.
     *
     * @param resources how many it needs of further resource types, by YARN's name
     * @param profile the number of the resource profile whose executor Skein will run in it
     * @param hosts where it should run; with {@code strict} it runs nowhere else
     * @param notHosts where it must not run, besides the blocked hosts
     * @param takesLate whether a container is good, too, that another host gave before the ResourceManager knew these
     */
    record Wanted(
            String id,
            long memoryMb,
            int vcores,
            Map<String, Long> resources,
            int profile,
            String label,
            List<String> hosts,
            Set<String> notHosts,
            boolean strict,
            boolean takesLate) {

        /**
         * Whether a container of this size on this host is what was wanted. Only memory tells: a scheduler that counts
         * nothing else says of every container that it has one core and no further resources.
         */
        boolean accepts(String host, long containerMemoryMb) {
            return !notHosts.contains(host)
                    && (!strict || takesLate || hosts.isEmpty() || hosts.contains(host))
                    && containerMemoryMb >= memoryMb;
        }
    }

    /** The application's last word to the ResourceManager; {@code trackingUrl}: where YARN's link leads then, or null. */
    public record Finish(FinalApplicationStatus status, String diagnostics, String trackingUrl) {
        private static final String CARRIED = "yarnspec-finish:";

        /** An end after which YARN's link leads to nothing of ours. */
        public Finish(FinalApplicationStatus status, String diagnostics) {
            this(status, diagnostics, null);
        }

        /**
         * The last word that came in Skein's diagnostics, or null when these are Skein's own: a negotiator that cannot
         * write its file tells Skein to end with this text.
         */
        public static Finish carriedBy(String diagnostics) {
            if (diagnostics == null || !diagnostics.startsWith(CARRIED)) {
                return null;
            }
            String json = diagnostics.substring(CARRIED.length());
            try {
                return finish(new FieldReader(JSON.readTree(json), ""));
            } catch (IOException | RuntimeException unreadable) {
                // A success is never told this way.
                return new Finish(FinalApplicationStatus.FAILED, json);
            }
        }
    }

    static final String DEFAULT_HOST_ATTRIBUTE = "nm.yarn.io/host";

    /** Before the first file: nothing is blocked and nothing is wanted. */
    static final DesiredPlacement NONE = new DesiredPlacement(
            0,
            new Rules(Mode.BLACKLIST, DEFAULT_HOST_ATTRIBUTE, null, Set.of(), Set.of(), Map.of()),
            List.of(),
            null,
            null);

    private static final ObjectMapper JSON = new ObjectMapper();

    /** Reads the file's content; throws an IOException that names what is wrong with it. */
    static DesiredPlacement parse(byte[] content) throws IOException {
        JsonNode root = JSON.readTree(content);
        if (root == null || !root.isObject()) {
            throw new IOException("not a JSON object");
        }
        FieldReader fields = new FieldReader(root, "");
        Map<String, String> racks = new LinkedHashMap<>();
        for (FieldReader host : fields.objects("all_hosts")) {
            racks.put(host.text("host"), host.textOr("rack", null));
        }
        List<Wanted> wanted = new ArrayList<>();
        for (FieldReader each : fields.objects("wanted")) {
            wanted.add(new Wanted(
                    each.text("id"),
                    each.number("memory_mb"),
                    Math.toIntExact(each.number("vcores")),
                    each.numbers("resources"),
                    Math.toIntExact(each.numberOr("profile", 0)),
                    each.textOr("label", ""),
                    List.copyOf(each.texts("hosts")),
                    Set.copyOf(each.texts("not_hosts")),
                    each.flag("strict"),
                    each.flag("takes_late")));
        }
        FieldReader finish = fields.object("finish");
        return new DesiredPlacement(
                fields.number("version"),
                new Rules(
                        fields.choice("mode", Mode.class, Mode.BLACKLIST),
                        fields.textOr("host_attribute", DEFAULT_HOST_ATTRIBUTE),
                        constraint(fields.textOr("constraint", "")),
                        Set.copyOf(fields.texts("tags")),
                        new LinkedHashSet<>(fields.texts("blocked_hosts")),
                        racks),
                List.copyOf(wanted),
                fields.textOr("tracking_url", null),
                finish == null ? null : finish(finish));
    }

    private static AbstractConstraint constraint(String expression) throws IOException {
        if (expression.isEmpty()) {
            return null;
        }
        try {
            return PlacementConstraintParser.parseExpression(expression);
        } catch (PlacementConstraintParseException wrong) {
            throw new IOException("constraint: " + wrong.getMessage(), wrong);
        }
    }

    private static Finish finish(FieldReader fields) throws IOException {
        return new Finish(
                fields.choice("status", FinalApplicationStatus.class, FinalApplicationStatus.FAILED),
                fields.textOr("diagnostics", ""),
                fields.textOr("tracking_url", null));
    }

    /** The fields of one JSON object, read with errors that name the field. */
    private record FieldReader(JsonNode node, String path) {

        private JsonNode present(String name) {
            JsonNode value = node.get(name);
            return value == null || value.isNull() ? null : value;
        }

        private IOException wrong(String name, String expected) {
            return new IOException(path + name + ": expected " + expected);
        }

        long numberOr(String name, long fallback) throws IOException {
            return present(name) == null ? fallback : number(name);
        }

        long number(String name) throws IOException {
            JsonNode value = present(name);
            if (value == null || !value.isIntegralNumber()) {
                throw wrong(name, "a whole number");
            }
            return value.longValue();
        }

        Map<String, Long> numbers(String name) throws IOException {
            Map<String, Long> numbers = new LinkedHashMap<>();
            FieldReader values = object(name);
            if (values != null) {
                for (Iterator<String> each = values.node.fieldNames(); each.hasNext(); ) {
                    String key = each.next();
                    numbers.put(key, values.number(key));
                }
            }
            return numbers;
        }

        boolean flag(String name) throws IOException {
            JsonNode value = present(name);
            if (value != null && !value.isBoolean()) {
                throw wrong(name, "true or false");
            }
            return value != null && value.booleanValue();
        }

        String textOr(String name, String fallback) throws IOException {
            JsonNode value = present(name);
            if (value == null) {
                return fallback;
            }
            if (!value.isTextual()) {
                throw wrong(name, "a string");
            }
            return value.textValue();
        }

        String text(String name) throws IOException {
            String value = textOr(name, null);
            if (value == null || value.isEmpty()) {
                throw wrong(name, "a string that is not empty");
            }
            return value;
        }

        <E extends Enum<E>> E choice(String name, Class<E> type, E fallback) throws IOException {
            String value = textOr(name, null);
            if (value == null) {
                return fallback;
            }
            try {
                return Enum.valueOf(type, value.toUpperCase(Locale.ROOT));
            } catch (IllegalArgumentException unknown) {
                throw wrong(name, "one of " + List.of(type.getEnumConstants()));
            }
        }

        List<String> texts(String name) throws IOException {
            List<String> texts = new ArrayList<>();
            for (JsonNode value : array(name)) {
                if (!value.isTextual() || value.textValue().isEmpty()) {
                    throw wrong(name, "strings");
                }
                texts.add(value.textValue());
            }
            return texts;
        }

        List<FieldReader> objects(String name) throws IOException {
            List<FieldReader> objects = new ArrayList<>();
            for (JsonNode value : array(name)) {
                if (!value.isObject()) {
                    throw wrong(name, "objects");
                }
                objects.add(new FieldReader(value, path + name + "[" + objects.size() + "]."));
            }
            return objects;
        }

        FieldReader object(String name) throws IOException {
            JsonNode value = present(name);
            if (value != null && !value.isObject()) {
                throw wrong(name, "an object");
            }
            return value == null ? null : new FieldReader(value, path + name + ".");
        }

        private Iterable<JsonNode> array(String name) throws IOException {
            JsonNode value = present(name);
            if (value == null) {
                return List.of();
            }
            if (!value.isArray()) {
                throw wrong(name, "a list");
            }
            return value;
        }
    }
}
