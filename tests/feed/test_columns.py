"""Rows as columns: built one by one, and joined."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.feed.strategies import observations, plain
from yarnspec.core.messages.observations import COLUMNS, NONE, Observations, ObservationsBuilder, RowKind
from yarnspec.feed.columns import join


@given(st.lists(observations(), min_size=1, max_size=5))
def test_joined_batches_say_what_they_said_apart(batches: list[Observations]) -> None:
    joined = join(batches)
    assert plain(joined) == [row for each in batches for row in plain(each)]
    assert {len(getattr(joined, name)) for name in COLUMNS} == {sum(len(each) for each in batches)}
    assert {getattr(joined, name).dtype for name in COLUMNS} == {np.dtype(np.int64)}


def test_a_row_says_nothing_where_it_was_told_nothing() -> None:
    rows = ObservationsBuilder()
    assert rows.add(kind=RowKind.TASK_ENDED, stage=3, host="h") == 0
    said = plain(rows.observations())[0]
    assert {name for name, value in said.items() if value != NONE} == {"kind", "stage", "host", "executor", "text"}
    assert (said["stage"], said["host"], said["executor"], said["text"]) == (3, "h", None, "")


def test_a_row_can_be_completed_later() -> None:
    rows = ObservationsBuilder()
    row = rows.add(kind=RowKind.STAGE_STARTED, flags=0)
    rows.put(row, flags=5)
    assert rows.observations().flags.tolist() == [5]
