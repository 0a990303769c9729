"""Arrow batches as observations, as wide or narrow as the other side sends them."""

from __future__ import annotations

import io

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.feed.strategies import observations, plain
from tests.feed.wire import stream_of
from yarnspec.core.messages.observations import NONE, Observations, RowKind
from yarnspec.feed.arrow import observations_of, read_stream


@given(st.lists(observations(), max_size=4))
def test_what_was_written_is_read(batches: list[Observations]) -> None:
    read = read_stream(io.BytesIO(stream_of(*batches)))
    assert [plain(each) for each in read] == [plain(each) for each in batches]


def test_narrow_numbers_nulls_and_plain_text() -> None:
    batch = pa.RecordBatch.from_pydict(
        {
            "kind": pa.array([4, 2], pa.int8()),
            "stage": pa.array([7, 8], pa.int32()),
            "finish_ms": pa.array([1_750_000_000_000, None], pa.int64()),
            "host": pa.array(["a", "a"], pa.string()),
            "executor": pa.array(["1", None], pa.string()),
            "text": pa.array([None, "boom"], pa.string()),
            "something_new": pa.array([1, 2]),
        }
    )
    rows = observations_of(batch)
    assert rows.kind.tolist() == [RowKind.TASK_ENDED, RowKind.TASK_STARTED]
    assert rows.finish_ms.tolist() == [1_750_000_000_000, NONE]
    assert rows.launch_ms.tolist() == [NONE, NONE]
    assert (rows.hosts, rows.host.tolist()) == (("a",), [0, 0])
    assert (rows.executors, rows.executor.tolist()) == (("1",), [0, NONE])
    assert rows.texts == {1: "boom"}


def test_a_batch_broken_off_is_an_error_and_those_before_it_are_read() -> None:
    rows = observations_of(pa.RecordBatch.from_pydict({"kind": pa.array([4] * 50)}))
    whole = stream_of(rows, rows)
    got: list[Observations] = []
    with pytest.raises(OSError):  # noqa: PT011 - the message is Arrow's
        got.extend(read_stream(io.BytesIO(whole[:-400])))
    assert [len(each) for each in got] == [50]
