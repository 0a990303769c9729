package org.yarnspec.rm;

import java.lang.reflect.Field;

/** Skein's application master, whose class yarnspec cannot change: its object, and the fields that yarnspec uses. */
final class SkeinMaster {
    private SkeinMaster() {}

    /**
     * To be called in Skein's allocator thread, whose class is an inner class of Skein's application master.
     *
     * @throws ReflectiveOperationException when this is not the Skein that we know
     */
    static Object ofThisThread() throws ReflectiveOperationException {
        Thread thread = Thread.currentThread();
        return field(thread.getClass(), "this$0").get(thread);
    }

    /**
     * A field that can be read and set.
     *
     * @throws NoSuchFieldException when this is not the Skein that we know
     */
    static Field field(Class<?> type, String name) throws NoSuchFieldException {
        Field field = type.getDeclaredField(name);
        field.setAccessible(true);
        return field;
    }
}
