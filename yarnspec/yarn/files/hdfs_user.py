"""Which user HDFS's client claims to be: it takes the name from the environment of the process when it connects.

With simple authentication that is HADOOP_USER_NAME, with Kerberos HADOOP_PROXY_USER; there is no other way to tell it.
Whoever acts for another user holds the environment for the time of a call. Calls for the same user go side by side,
those for different users one after the other; a process that acts for nobody else never waits here.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec


class UserClaim(msgspec.Struct, frozen=True):
    """A variable of the environment and the user that it names."""

    variable: str
    user: str


_turn = threading.Condition()
_holders: dict[UserClaim | None, int] = {}
_before: dict[str, str | None] = {}


@contextmanager
def connecting_as(claim: UserClaim | None, timeout_s: float) -> Iterator[None]:
    """Connect as the claim says while a call lasts. None: connect as the process does anyway.

    Raises:
        TimeoutError: calls for another user went on for ``timeout_s``.
    """
    with _turn:
        if not _turn.wait_for(lambda: all(other == claim for other in _holders), timeout_s):
            message = f"calls for another user of HDFS went on for {timeout_s:g} s"
            raise TimeoutError(message)
        if claim is not None and claim not in _holders:
            _before[claim.variable] = os.environ.get(claim.variable)
            os.environ[claim.variable] = claim.user
        _holders[claim] = _holders.get(claim, 0) + 1
    try:
        yield
    finally:
        with _turn:
            _holders[claim] -= 1
            if not _holders[claim]:
                del _holders[claim]
                if claim is not None:
                    _restore(claim.variable)
                _turn.notify_all()


def _restore(variable: str) -> None:
    value = _before.pop(variable)
    if value is None:
        del os.environ[variable]
    else:
        os.environ[variable] = value
