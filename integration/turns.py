"""Which of several alike tests `make test` runs today; `make soak` runs them all.

`YARNSPEC_TEST_DAY=N` in the environment repeats the choice of another day; a test that fails says its own.
"""

from __future__ import annotations

import datetime
import os
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


def marks(*, quick: bool) -> list[pytest.MarkDecorator]:
    """Of one of several alike tests: whether `make test` runs it. `make soak` runs those, too."""
    return [pytest.mark.turn if quick else pytest.mark.soak]
