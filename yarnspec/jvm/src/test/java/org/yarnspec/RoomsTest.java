package org.yarnspec;

import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;
import static org.junit.jupiter.api.Assertions.assertEquals;

import com.tngtech.archunit.core.domain.Dependency;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** Holds the order of the Java rooms: which room may use which, that none goes in a circle, and how large each may be. */
class RoomsTest {
    private static final String BASE = "org.yarnspec.";
    private static final int SOURCES_MAX = 15;
    private static final JavaClasses CLASSES = new ClassFileImporter()
            .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_JARS)
            .importPath(Path.of("target", "classes"));

    /** From the top down. A room that is named nowhere on the right is used by Spark, Hadoop or Python only. */
    private static final Map<String, Set<String>> MAY_USE = Map.ofEntries(
            Map.entry("driver", Set.of("scheduler", "recovery", "write", "feed", "mapoutputs", "channel")),
            Map.entry("scheduler", Set.of("recovery", "write", "feed", "stage", "mapoutputs", "channel", "spark")),
            Map.entry("sink", Set.of("recovery", "signature")),
            Map.entry("recovery", Set.of("write", "stage", "mapoutputs", "signature", "channel", "spark")),
            Map.entry("write", Set.of("files", "stage", "mapoutputs", "signature", "fingerprint", "channel", "spark")),
            Map.entry("feed", Set.of("stage", "channel", "spark")),
            Map.entry("files", Set.of("fingerprint")),
            Map.entry("stage", Set.of("fingerprint", "channel", "spark")),
            Map.entry("mapoutputs", Set.of("channel", "executor", "spark")),
            Map.entry("signature", Set.of("fingerprint", "spark")),
            Map.entry("fingerprint", Set.of("spark")),
            Map.entry("channel", Set.of()),
            Map.entry("spark", Set.of()),
            Map.entry("executor", Set.of()),
            Map.entry("rm", Set.of("placement")),
            Map.entry("placement", Set.of()),
            Map.entry("minicluster", Set.of()));

    @Test
    void eachRoomUsesOnlyTheRoomsThatItMayUse() {
        Map<String, Set<String>> found = new TreeMap<>();
        for (JavaClass each : CLASSES) {
            Set<String> used = found.computeIfAbsent(room(each), room -> new TreeSet<>());
            for (Dependency dependency : each.getDirectDependenciesFromSelf()) {
                JavaClass target = dependency.getTargetClass().getBaseComponentType();
                if (target.getPackageName().startsWith(BASE) && !room(target).equals(room(each))) {
                    used.add(room(target));
                }
            }
        }
        assertEquals(new TreeMap<>(MAY_USE), found);
    }

    @Test
    void noRoomsGoInACircle() {
        slices().matching("org.yarnspec.(*)..").should().beFreeOfCycles().check(CLASSES);
    }

    @Test
    void noRoomHasMoreSourcesThanOneCanLookOver() {
        Map<String, Set<String>> sources = CLASSES.stream()
                .filter(each -> each.getSource().isPresent())
                .collect(Collectors.groupingBy(
                        RoomsTest::room,
                        TreeMap::new,
                        Collectors.mapping(
                                each -> each.getSource().get().getFileName().orElseThrow(), Collectors.toSet())));
        sources.values().removeIf(files -> files.size() <= SOURCES_MAX);
        assertEquals(Map.of(), sources);
    }

    @Test
    void noNameIsGivenToTwoClasses() {
        Map<String, Set<String>> byName = CLASSES.stream()
                .filter(each ->
                        !each.getSimpleName().isEmpty() && !each.getSimpleName().equals("package-info"))
                .collect(Collectors.groupingBy(
                        JavaClass::getSimpleName,
                        TreeMap::new,
                        Collectors.mapping(JavaClass::getName, Collectors.toCollection(TreeSet::new))));
        byName.values().removeIf(classes -> classes.size() == 1);
        assertEquals(Map.of(), byName);
    }

    private static String room(JavaClass type) {
        return type.getPackageName().substring(BASE.length());
    }
}
