"""Arrow record batches, as the driver sends them, as ``Observations``: columns all the way.

The schema of the wire has the columns of ``COLUMNS`` in any order under their names. They are integers of any width,
and null says the same as -1. ``host`` and ``executor`` are text or dictionaries of text; ``text`` is text or null. A
column that is missing says nothing, one that is not known here is passed over: either side may be a little older.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from yarnspec.core.messages.observations import COLUMNS, NONE, IntColumn, Observations

_NAMES = ("host", "executor")


def observations_of(batch: pa.RecordBatch) -> Observations:
    """The rows of a record batch. Where the batch holds int64 without nulls nothing is copied."""
    columns: dict[str, IntColumn] = {}
    names: dict[str, tuple[str, ...]] = dict.fromkeys(_NAMES, ())
    known = {name: batch.column(place) for place, name in enumerate(batch.schema.names)}
    for name in COLUMNS:
        column = known.get(name)
        if column is None:
            columns[name] = np.full(batch.num_rows, NONE, dtype=np.int64)
        elif name in _NAMES:
            names[name], columns[name] = _coded(column)
        else:
            columns[name] = _integers(column)
    return Observations(**columns, hosts=names["host"], executors=names["executor"], texts=_texts(known.get("text")))


def read_stream(source: IO[bytes]) -> Iterator[Observations]:
    """The batches of an Arrow stream, each as soon as it is complete.

    Raises:
        OSError: the stream broke off within a batch, or is none.
    """
    with pa.ipc.open_stream(source) as reader:
        for batch in reader:
            yield observations_of(batch)


def _integers(column: Any) -> IntColumn:
    if column.null_count:
        column = pc.fill_null(column, NONE)
    numbers: IntColumn = column.to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
    return numbers


def _coded(column: Any) -> tuple[tuple[str, ...], IntColumn]:
    """The names that a column of text holds, and for each row the code of its name."""
    if not pa.types.is_dictionary(column.type):
        column = pc.dictionary_encode(column)
    return tuple(column.dictionary.to_pylist()), _integers(column.indices)


def _texts(column: Any) -> dict[int, str]:
    """The few rows that have a text."""
    if column is None or column.null_count == len(column):
        return {}
    rows = np.flatnonzero(column.is_valid().to_numpy(zero_copy_only=False))
    texts = column.take(pa.array(rows)).to_pylist()
    return {int(row): text for row, text in zip(rows, texts, strict=True) if text}
