"""The driver's end of the feed in Python: observations as the Arrow stream that it would send."""

from __future__ import annotations

import io
from typing import Any

import pyarrow as pa

from yarnspec.core.messages.observations import COLUMNS, Observations

_NAMES = ("host", "executor")
_SCHEMA = pa.schema(
    [(name, pa.dictionary(pa.int32(), pa.string()) if name in _NAMES else pa.int64()) for name in COLUMNS]
    + [("text", pa.string())]
)


def stream_of(*batches: Observations) -> bytes:
    """An Arrow stream of these batches."""
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, _SCHEMA) as writer:
        for rows in batches:
            writer.write_batch(_batch_of(rows))
    return sink.getvalue()


def _batch_of(rows: Observations) -> pa.RecordBatch:
    """The record batch that says the same as these rows."""
    columns: list[Any] = []
    for name in COLUMNS:
        numbers = getattr(rows, name)
        if name in _NAMES:
            table = rows.hosts if name == "host" else rows.executors
            codes = pa.array(numbers, type=pa.int32(), mask=numbers < 0)
            columns.append(pa.DictionaryArray.from_arrays(codes, pa.array(table, type=pa.string())))
        else:
            columns.append(pa.array(numbers))
    columns.append(pa.array([rows.texts.get(row) for row in range(len(rows))], type=pa.string()))
    return pa.RecordBatch.from_arrays(columns, schema=_SCHEMA)
