package org.yarnspec.mapoutputs;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.scheduler.HighlyCompressedMapStatus;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.scheduler.MapStatus$;
import org.apache.spark.storage.BlockManagerId;
import org.junit.jupiter.api.Test;
import scala.Option;

/** What is kept of a finished map. */
class MapBlobTest {
    private static MapStatus status(int reduces) {
        long[] sizes = new long[reduces];
        for (int i = 0; i < reduces; i++) {
            sizes[i] = i % 3 == 0 ? 0 : 1_000L * i;
        }
        BlockManagerId place = BlockManagerId.apply("7", "host", 4711, Option.apply("/rack"));
        return MapStatus$.MODULE$.apply(place, sizes, 100_000_005L, 99);
    }

    private static void assertSame(MapStatus expected, MapStatus actual, int reduces) {
        assertEquals(expected.getClass(), actual.getClass());
        assertEquals(expected.location(), actual.location());
        assertEquals(expected.mapId(), actual.mapId());
        assertEquals(expected.checksumValue(), actual.checksumValue());
        for (int i = 0; i < reduces; i++) {
            assertEquals(expected.getSizeForBlock(i), actual.getSizeForBlock(i));
        }
    }

    @Test
    void bothKindsOfStatusComeBack() throws IOException {
        for (int reduces : new int[] {1, 5, 3_000}) {
            MapBlob blob = new MapBlob(
                    status(reduces),
                    12,
                    34,
                    List.of(new byte[] {1, 2}, new byte[0]),
                    List.of(new Observed(3, new byte[] {4, 5}), new Observed(0, new byte[0])));
            MapBlob back = MapBlob.decode(blob.encode());
            assertSame(blob.status(), back.status(), reduces);
            assertEquals(12, back.dataSize());
            assertEquals(34, back.recordsWritten());
            assertEquals(2, back.accumulated().size());
            assertArrayEquals(new byte[] {1, 2}, back.accumulated().get(0));
            assertEquals(2, back.observed().size());
            assertEquals(3, back.observed().get(0).place());
            assertArrayEquals(new byte[] {4, 5}, back.observed().get(0).row());
        }
        assertInstanceOf(HighlyCompressedMapStatus.class, status(3_000));
    }

    @Test
    void aCutOrForeignBlobIsAnError() throws IOException {
        byte[] whole = new MapBlob(status(5), 1, 2, List.of(new byte[] {1}), List.of(new Observed(0, new byte[] {2})))
                .encode();
        for (int length = 0; length < whole.length; length++) {
            byte[] cut = Arrays.copyOf(whole, length);
            assertThrows(IOException.class, () -> MapBlob.decode(cut));
        }
        whole[0] = 1;
        assertThrows(IOException.class, () -> MapBlob.decode(whole));
    }
}
