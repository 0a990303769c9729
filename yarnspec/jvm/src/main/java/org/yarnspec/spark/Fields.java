package org.yarnspec.spark;

import java.lang.invoke.SerializedLambda;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Reads and writes fields that Spark keeps to itself.
 *
 * <p>A field of a Scala lazy value is read as it is: calling its method would take its object's lock, which another thread
 * may hold while it waits for this one.
 */
public final class Fields {
    private static final Map<String, Optional<Field>> KNOWN = new ConcurrentHashMap<>();

    private Fields() {}

    /** The value of the field; null when the class and those above it have none of that name. */
    public static Object get(Object object, String name) {
        Field field = find(object.getClass(), name);
        try {
            return field == null ? null : field.get(object);
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(e);
        }
    }

    public static void set(Object object, String name, Object value) {
        Field field = find(object.getClass(), name);
        if (field == null) {
            throw new IllegalStateException(object.getClass().getName() + " has no field " + name);
        }
        try {
            field.set(object, value);
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(e);
        }
    }

    private static Field find(Class<?> of, String name) {
        return KNOWN.computeIfAbsent(of.getName() + " " + name, key -> search(of, name))
                .orElse(null);
    }

    private static Optional<Field> search(Class<?> of, String name) {
        for (Class<?> each = of; each != null; each = each.getSuperclass()) {
            try {
                Field field = each.getDeclaredField(name);
                field.setAccessible(true);
                return Optional.of(field);
            } catch (NoSuchFieldException e) {
                // The next class above may have it.
            }
        }
        return Optional.empty();
    }

    /** Where a lambda was written and what it holds; null when the object is not a lambda that can be serialized. */
    public static SerializedLambda lambda(Object function) {
        try {
            Method replace = function.getClass().getDeclaredMethod("writeReplace");
            replace.setAccessible(true);
            return replace.invoke(function) instanceof SerializedLambda lambda ? lambda : null;
        } catch (ReflectiveOperationException e) {
            return null;
        }
    }
}
