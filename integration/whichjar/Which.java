package yarnspec.whichjar;

import java.nio.file.Path;

/** Tells from which of several jars that hold this class it was loaded. */
public final class Which {
    private Which() {}

    /** The file name of the jar. */
    public static String jar() {
        return Path.of(Which.class.getProtectionDomain().getCodeSource().getLocation().getPath())
                .getFileName()
                .toString();
    }
}
