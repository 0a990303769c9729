package org.yarnspec.feed;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.BaseFixedWidthVector;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.VarCharVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.ipc.ArrowStreamWriter;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.arrow.vector.types.pojo.FieldType;
import org.apache.arrow.vector.types.pojo.Schema;

/** Writes blocks of rows as one Arrow stream. */
final class ArrowRows implements AutoCloseable {
    private final NameDictionary names;
    private final VectorSchemaRoot root;
    private final ArrowStreamWriter writer;

    ArrowRows(NameDictionary names, BufferAllocator allocator, OutputStream out) {
        this.names = names;
        this.root = VectorSchemaRoot.create(schema(), allocator);
        this.writer = new ArrowStreamWriter(root, null, out);
    }

    static Schema schema() {
        List<Field> fields = new ArrayList<>();
        for (Column column : Column.ALL) {
            fields.add(
                    column.named()
                            ? new Field(column.wireName(), FieldType.nullable(ArrowType.Utf8.INSTANCE), null)
                            : new Field(
                                    column.wireName(),
                                    FieldType.notNullable(new ArrowType.Int(column.width * Byte.SIZE, true)),
                                    null));
        }
        fields.add(new Field(Column.TEXT, FieldType.nullable(ArrowType.Utf8.INSTANCE), null));
        return new Schema(fields);
    }

    void start() throws IOException {
        writer.start();
    }

    void write(RowBlock block) throws IOException {
        for (Column column : Column.ALL) {
            FieldVector vector = root.getVector(column.ordinal());
            if (column.named()) {
                fillNames((VarCharVector) vector, block.ints(column), block.rows());
            } else {
                fillNumbers((BaseFixedWidthVector) vector, column, block);
            }
        }
        fillTexts((VarCharVector) root.getVector(Column.TEXT), block);
        root.setRowCount(block.rows());
        writer.writeBatch();
        root.clear();
    }

    /** Copies a whole column at once: cell by cell took most of the writer's time. */
    private static void fillNumbers(BaseFixedWidthVector vector, Column column, RowBlock block) {
        int rows = block.rows();
        vector.allocateNew(rows);
        ArrowBuf data = vector.getDataBuffer();
        ByteBuffer bytes = data.nioBuffer(0, rows * column.width).order(ByteOrder.LITTLE_ENDIAN);
        switch (column.width) {
            case Byte.BYTES -> bytes.put(block.bytes(column), 0, rows);
            case Integer.BYTES -> bytes.asIntBuffer().put(block.ints(column), 0, rows);
            default -> bytes.asLongBuffer().put(block.longs(column), 0, rows);
        }
        ArrowBuf validity = vector.getValidityBuffer();
        validity.setOne(0L, (rows + Byte.SIZE - 1L) / Byte.SIZE);
        vector.setValueCount(rows);
    }

    private void fillNames(VarCharVector vector, int[] codes, int rows) {
        vector.allocateNew(rows);
        for (int i = 0; i < rows; i++) {
            if (codes[i] >= 0) {
                vector.setSafe(i, names.text(codes[i]));
            }
        }
        vector.setValueCount(rows);
    }

    private static void fillTexts(VarCharVector vector, RowBlock block) {
        vector.allocateNew(block.rows());
        for (int i = 0; block.hasTexts() && i < block.rows(); i++) {
            String text = block.text(i);
            if (text != null) {
                vector.setSafe(i, text.getBytes(StandardCharsets.UTF_8));
            }
        }
        vector.setValueCount(block.rows());
    }

    /** Tells the reader that nothing more comes. */
    void end() throws IOException {
        writer.end();
    }

    @Override
    public void close() {
        root.close();
    }
}
