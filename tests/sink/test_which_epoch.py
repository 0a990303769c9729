"""Which life of the driver saves."""

from __future__ import annotations

import pytest

from yarnspec.sink.sink import _epoch


@pytest.mark.parametrize(
    ("told", "epoch"), [("1", 1), ("12", 12), ("3-2", 3), ("appattempt_1_0001_000002", 0), ("", 0)]
)
def test_the_epoch_of_a_context(told: str, epoch: int) -> None:
    """The second SparkContext of a program is of the same life as the first; what is not known counts for nothing."""
    assert _epoch(told) == epoch
