package org.yarnspec.rm;

/** What is done to Skein's application master once, in the thread of the first allocate call. */
interface SkeinPatch {
    void apply() throws ReflectiveOperationException;
}
