"""Keeps a fault in an aid from ending the job.

Copies and learnt blocks make a job quicker; without them it still runs. So a part that finds or treats slow tasks stops
for good when it meets an unexpected fault. It says so once, and the rest of the core goes on.
"""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import ParamSpec

from yarnspec.core.messages.commands import Command

P = ParamSpec("P")


class Guard:
    """Runs actions until one fails; ``on_fault`` gives the commands that follow from the stop."""

    def __init__(self, on_fault: Callable[[], list[Command]]) -> None:
        self._on_fault = on_fault
        self.fault = ""
        """The fault, and where it happened; empty while there is none."""

    def run(self, action: Callable[P, list[Command]], *args: P.args, **kwargs: P.kwargs) -> list[Command]:
        """The commands of the action; none after a fault."""
        if self.fault:
            return []
        try:
            return action(*args, **kwargs)
        except Exception as error:
            self.fault = f"{type(error).__name__}: {error} ({_where(error.__traceback__)})"
            return self._on_fault()


def _where(traceback: TracebackType | None) -> str:
    """The innermost places, by file and line."""
    places = []
    while traceback is not None:
        file = traceback.tb_frame.f_code.co_filename.rpartition("/")[2]
        places.append(f"{file}:{traceback.tb_lineno}")
        traceback = traceback.tb_next
    return " < ".join(places[:0:-1][:4]) or "nowhere"
