"""The carried records that hold a text: how far the program has got, and why the journal lacks writes."""

from __future__ import annotations

from typing import NamedTuple

from yarnspec.core.journal.journalrecords import Carried
from yarnspec.core.journal.journalstate import Recorded

_PROGRESS = "progress"
_LOST = "writes-lost"


class ProgramProgress(NamedTuple):
    """How far the program has got: the last epoch that was not fruitless, and how many jobs have ended in all.

    An epoch is fruitless if it finished nothing new and nobody outside ended its driver.
    """

    epoch: int = 0
    jobs: int = 0


def progress_of(recorded: Recorded) -> ProgramProgress:
    """The progress that the journal tells."""
    return ProgramProgress(*map(int, recorded.carried.get(_PROGRESS, b"").split()))


def progress_record(progress: ProgramProgress) -> Carried:
    """The record that tells this progress."""
    return Carried(kind=_PROGRESS, payload=f"{progress.epoch} {progress.jobs}".encode())


def lost_of(recorded: Recorded) -> str:
    """Why the journal does not have all that earlier epochs wrote to files; empty when it has."""
    return recorded.carried.get(_LOST, b"").decode(errors="replace")


def lost_record(why: str) -> Carried:
    """The record that tells this. It holds for all later epochs, which will not know more."""
    return Carried(kind=_LOST, payload=why.encode())
