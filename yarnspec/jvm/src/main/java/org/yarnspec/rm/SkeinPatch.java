package org.yarnspec.rm;

/** A correction of a mistake of Skein's, made once, in the thread of the first allocate call. */
interface SkeinPatch {
    void apply() throws ReflectiveOperationException;
}
