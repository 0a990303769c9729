"""Plugin of pytest: `make test` runs one test of each group of alike ones, another one each day; `make soak` all.

A test says its group: ``@pytest.mark.one_a_day("how a driver dies")``. `YARNSPEC_TEST_DAY=N` in the environment repeats
the choice of another day. A test that fails says its own.
"""

from __future__ import annotations

import datetime
import os
from collections import defaultdict
from collections.abc import Sequence
from typing import TypeVar

import pytest

Each = TypeVar("Each")
DAY = "YARNSPEC_TEST_DAY"
"""Set where pytest begins, so that all its processes have the same day, also after midnight."""

os.environ.setdefault(DAY, str(datetime.datetime.now(datetime.UTC).date().toordinal()))


def turn(each: Sequence[Each]) -> Each:
    """The one whose turn it is: another one each day."""
    return each[int(os.environ[DAY]) % len(each)]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark today's test of each group as `turn` and the others as `soak`, before pytest leaves these out."""
    groups = defaultdict(list)
    for item in items:
        for each in item.iter_markers("one_a_day"):
            groups[each.args[0]].append(item)
    for group in groups.values():
        today = turn(group)
        for item in group:
            item.add_marker("turn" if item is today else "soak")
