package org.yarnspec.rm;

import java.lang.reflect.Field;
import java.util.Comparator;
import java.util.TreeMap;
import org.apache.hadoop.yarn.api.records.Priority;

/**
 * Cures a mistake of Skein 0.8.2 that loses container requests.
 *
 * <p>Its application master takes the next priority from {@code priorities.lastKey() + 1}, but Hadoop's priorities sort
 * descending: with two requests outstanding, the next one may re-use a priority that is still in use. A map that sorts
 * ascending in the place of that one makes the arithmetic right.
 */
final class SkeinPriorities {
    private SkeinPriorities() {}

    /** Fails when this is not the Skein that we know. */
    static void cure(Object applicationMaster) throws ReflectiveOperationException {
        Field field = SkeinMaster.field(applicationMaster.getClass(), "priorities");
        if (!(field.get(applicationMaster) instanceof TreeMap<?, ?> before)) {
            throw new NoSuchFieldException("priorities is not a TreeMap");
        }
        // Skein holds this lock whenever it touches the map.
        synchronized (before) {
            TreeMap<Object, Object> ascending =
                    new TreeMap<>(Comparator.comparingInt(priority -> ((Priority) priority).getPriority()));
            ascending.putAll(before);
            field.set(applicationMaster, ascending);
            if (field.get(applicationMaster) != ascending) {
                throw new NoSuchFieldException("priorities cannot be replaced");
            }
        }
    }
}
