from __future__ import annotations

import os
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import Row

from yarnspec.window.spill import SpillFile, encode

plain = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary()
records = plain | st.tuples(plain, plain) | st.lists(plain, max_size=2) | st.dictionaries(st.text(), plain, max_size=2)


def back(blocks: list[list[Any]]) -> list[list[Any]]:
    with SpillFile(["/tmp"]) as spill:
        return list(spill.read(spill.write(blocks)))


@given(blocks=st.lists(st.lists(records, min_size=1, max_size=20), max_size=4))
def test_records_come_back_as_they_were(blocks: list[list[Any]]) -> None:
    found = back(blocks)
    assert found == blocks
    assert [[type(record) for record in block] for block in found] == [[type(record) for record in b] for b in blocks]


@pytest.mark.parametrize(
    ("block", "in_arrow"),
    [
        ([1, 2**63 - 1, None], True),
        ([1.5, -0.0], True),
        (["é", ""], True),
        ([b"\0", None], True),
        ([True, False], True),
        ([(1, "a"), (2, None)], True),
        ([1, 2**63], False),
        ([1, True], False),
        ([1, 1.0], False),
        (["\ud800"], False),
        ([None], False),
        ([()], False),
        ([(1,), (1, 2)], False),
        ([(1, [2])], False),
        ([np.int64(1)], False),
        ([Row(a=1)], False),
        ([(1,), [1]], False),
    ],
)
def test_arrow_where_the_values_allow_it(block: list[Any], in_arrow: bool) -> None:
    (found,) = back([block])
    assert found == block
    assert [type(record) for record in found] == [type(record) for record in block]
    assert ("arrow" in encode(block)[1].__name__) is in_arrow


def test_a_class_that_only_the_program_has() -> None:
    """As a worker has it that was sent the class by value: nobody can import it by its name."""
    sent = type("Sent", (), {"__module__": "__main__"})
    (found,) = back([[sent(), sent()]])
    assert [type(record) for record in found] == [sent, sent]


def test_without_arrow_everything_is_pickled(monkeypatch: pytest.MonkeyPatch) -> None:
    # As if it were not installed.
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for block in ([1, 2, None], [(1, "a"), (2, "b")]):
        assert encode(block)[1].__name__ == "_unpickled"
        assert back([block]) == [block]


def test_blocks_that_are_too_large_are_divided_down_to_single_records() -> None:
    block = ["x" * 10, "y" * 50_000, *("z" * 10 for _ in range(100))]
    with SpillFile(["/tmp"]) as spill:
        run = spill.write([block, ["end"]], 8_000)
        found = list(spill.read(run))
    assert [record for part in found for record in part] == [*block, "end"]
    assert ["y" * 50_000] in found
    assert all(piece.length <= 8_000 for piece, part in zip(run, found, strict=True) if len(part) > 1)


def test_runs_in_one_file() -> None:
    with SpillFile(["/tmp"]) as spill:
        first = spill.write([[1, 2], [3]])
        second = spill.write([["x"]])
        assert list(spill.read(second)) == [["x"]]
        assert list(spill.read(first)) == [[1, 2], [3]]
        assert spill.size_bytes == sum(block.length for block in first + second)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no full device")  # noqa: PTH110
def test_a_full_disk_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.TemporaryFile", lambda **_: open("/dev/full", "r+b", buffering=0))  # noqa: PTH123, SIM115
    with SpillFile(["/tmp"]) as spill, pytest.raises(OSError, match="No space left"):
        spill.write([[1]])
