"""Which of several alike tests `make test` runs today; `make soak` runs them all."""

from __future__ import annotations

import datetime
import os
from collections.abc import Sequence
from typing import TypeVar

Each = TypeVar("Each")
DAY = "YARNSPEC_TEST_DAY"
"""Set where pytest begins, so that all its processes have the same day, also after midnight."""

os.environ.setdefault(DAY, str(datetime.datetime.now(datetime.UTC).date().toordinal()))


def turn(each: Sequence[Each]) -> Each:
    """The one whose turn it is: another one each day."""
    return each[int(os.environ[DAY]) % len(each)]
