"""The code in the tasks of ``PartitionWindowedDataFrame``: Spark brings Arrow batches, the user gets them or rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from yarnspec.window.fitting import fitted
from yarnspec.window.handover import results_of, through_queue
from yarnspec.window.sizes import measured_chunks

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Row
    from pyspark.sql.types import StructType

    Batches = Iterator[pa.RecordBatch]


# A batch of results is full when it has as many rows as Spark's own, or takes so much as Python objects.
_BATCH_BYTES = 16 << 20


class RowFormat(NamedTuple):
    """How results become Arrow batches again."""

    schema: StructType
    # The schema was one type, like `bigint`: a result is the value, not a row.
    single: bool
    batch_rows: int
    large_types: bool


def map_batches(
    fn: Callable[[Batches], Iterable[Any]], results: RowFormat, queue_size: int, batches: Batches
) -> Batches:
    """``map_partition`` of a function of batches."""
    # One type has a column that the user has not named.
    names = None if results.single else results.schema.names
    required = [place for place, field in enumerate(results.schema.fields) if not field.nullable]

    def run(waiting: Batches) -> Batches:
        for result in results_of(fn, waiting):
            # A table is welcome, too.
            if hasattr(result, "to_batches"):
                for batch in result.to_batches():
                    yield _full(_in_order(batch, names), required)
            else:
                yield _full(_in_order(result, names), required)

    return through_queue(run, batches, queue_size, _rows_in)


def map_rows(
    fn: Callable[[Iterator[Row]], Iterable[Any]],
    schema: StructType,
    results: RowFormat,
    queue_size: int,
    batches: Batches,
) -> Batches:
    """``map_partition`` of a function of rows."""

    def run(waiting: Batches) -> Batches:
        return _batches_of(results_of(fn, _rows_of(waiting, schema)), results)

    return through_queue(run, batches, queue_size, _rows_in)


def fold_rows(
    fold: Callable[[Iterator[Row]], Iterator[Any]], schema: StructType, results: RowFormat, batches: Batches
) -> Batches:
    """``aggregate`` and ``reduce``."""
    return _batches_of(fold(_rows_of(batches, schema)), results)


def _in_order(batch: pa.RecordBatch, names: list[str] | None) -> pa.RecordBatch:
    """The batch with its columns in the order of these names: Spark takes them by place, whatever they are called."""
    found = batch.schema.names
    if found == names or (names is None and len(found) == 1):
        return batch
    if names is None:
        raise ValueError(f"a batch of results has the columns {found}, and the schema is one type: one column is right")
    if len(set(names)) == len(names) and sorted(found) == sorted(names):
        return batch.select(names)
    raise ValueError(f"a batch of results has the columns {found}, and the schema {names}: select and rename them")


def _full(batch: pa.RecordBatch, required: list[int]) -> pa.RecordBatch:
    """The batch; Spark would take a null for some value in a column that has none by its schema."""
    for place in required:
        if batch.column(place).null_count:
            raise ValueError(
                f"a batch of results has a null in the column {batch.schema.names[place]}, which has none by the schema"
            )
    return batch


def _rows_in(batch: pa.RecordBatch) -> int:
    return int(batch.num_rows)


def _rows_of(batches: Batches, schema: StructType) -> Iterator[Row]:
    import pyarrow as pa
    from pyspark.sql.conversion import ArrowTableToRowsConversion

    for batch in batches:
        yield from ArrowTableToRowsConversion.convert(pa.Table.from_batches([batch]), schema)


def _batches_of(records: Iterable[Any], results: RowFormat) -> Batches:
    rows = ((record,) for record in records) if results.single else records
    waiting: list[Any] = []
    size_bytes = 0
    for chunk, chunk_bytes in measured_chunks(rows):
        waiting += chunk
        size_bytes += chunk_bytes
        if len(waiting) >= results.batch_rows or size_bytes >= _BATCH_BYTES:
            yield from _arrow(waiting, results)
            waiting, size_bytes = [], 0
    if waiting:
        yield from _arrow(waiting, results)


def _arrow(rows: list[Any], results: RowFormat) -> list[pa.RecordBatch]:
    from pyspark.sql.conversion import LocalDataToArrowConversion

    batches: list[pa.RecordBatch] = LocalDataToArrowConversion.convert(
        fitted(rows, results.schema), results.schema, results.large_types
    ).to_batches()
    return batches
