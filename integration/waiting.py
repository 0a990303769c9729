"""Waiting for something that will happen, with a deadline and words for what it was."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

Found = TypeVar("Found")

POLL_S = 0.2
PATIENCE = 3
"""By how much a machine may be slower than the one that the deadlines were chosen on: nothing waits them out but what
fails."""


class NotInTimeError(AssertionError):
    """What was waited for did not happen."""


def wait_for(
    what: str,
    condition: Callable[[], Found | None],
    timeout_s: float,
    poll_s: float = POLL_S,
    *,
    patience: float = PATIENCE,
) -> Found:
    """Ask until the answer is truthy and return it; `what` names it when the time is over.

    Between two questions as much time passes as the last one took, and `poll_s` at least: what is waited for needs the
    two cores more than the questions do.
    """
    deadline = time.monotonic() + timeout_s * patience
    while True:
        asked = time.monotonic()
        found = condition()
        if found:
            return found
        now = time.monotonic()
        if now >= deadline:
            raise NotInTimeError(f"not within {timeout_s * patience:g} s: {what}; the last answer was {found!r}")
        time.sleep(max(poll_s, now - asked))
