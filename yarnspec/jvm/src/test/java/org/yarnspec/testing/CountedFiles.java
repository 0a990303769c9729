package org.yarnspec.testing;

import java.io.IOException;
import java.net.URI;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;

/** Local files under the scheme {@code counted}, with how often somebody asked for one or listed a directory. */
public final class CountedFiles extends RawLocalFileSystem {
    public static final AtomicInteger ASKED = new AtomicInteger();
    public static final AtomicInteger LISTED = new AtomicInteger();

    private final ThreadLocal<Boolean> listing = ThreadLocal.withInitial(() -> false);

    @Override
    public URI getUri() {
        return URI.create("counted:///");
    }

    @Override
    public FileStatus getFileStatus(Path file) throws IOException {
        if (!listing.get()) {
            ASKED.incrementAndGet();
        }
        return super.getFileStatus(file);
    }

    @Override
    public FileStatus[] listStatus(Path directory) throws IOException {
        LISTED.incrementAndGet();
        listing.set(true);
        try {
            return super.listStatus(directory);
        } finally {
            listing.set(false);
        }
    }
}
