"""Waiting for something that will happen, with a deadline and words for what it was."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

Found = TypeVar("Found")

POLL_S = 0.1


class NotInTimeError(AssertionError):
    """What was waited for did not happen."""


def wait_for(what: str, condition: Callable[[], Found | None], timeout_s: float, poll_s: float = POLL_S) -> Found:
    """Ask until the answer is truthy and return it; `what` names it when the time is over."""
    deadline = time.monotonic() + timeout_s
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() >= deadline:
            raise NotInTimeError(f"not within {timeout_s:g} s: {what}; the last answer was {found!r}")
        time.sleep(poll_s)
