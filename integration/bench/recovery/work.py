"""What the tasks of a job have noted of themselves, and what of it was done twice. Pure, but for reading the notes."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

_PARTS = 5


class Worked(msgspec.Struct, frozen=True, kw_only=True):
    """An attempt of a task: in which attempt of the application, what it was, and how far it came until when."""

    life: int
    job: int
    stage: int
    index: int
    records: int
    began_ms: int
    last_ms: int

    @property
    def task(self) -> tuple[int, int, int]:
        """Which task it is an attempt of."""
        return self.job, self.stage, self.index

    def spent_ms(self, until_ms: int) -> int:
        """How long it had worked at a moment."""
        return max(0, min(self.last_ms, until_ms) - self.began_ms)


def read(progress: Path) -> list[Worked]:
    """All attempts of the jobs that were ordered."""
    found = []
    for path in progress.iterdir():
        if path.name.count("-") != _PARTS - 1:  # a job that warms up has a negative number
            continue
        life, job, stage, index, _task = map(int, path.name.split("-"))
        lines = [line.split() for line in path.read_text().split("\n")[:-1]]  # the last one may not be whole yet
        if lines:
            (_, began), (records, last) = lines[0], lines[-1]
            found.append(
                Worked(life=life, job=job, stage=stage, index=index, records=int(records), began_ms=int(began),
                       last_ms=int(last))
            )  # fmt: skip
    return found


class Twice(msgspec.Struct, frozen=True, kw_only=True):
    """What a kill cost, in seconds of tasks; ``to_first_s`` is the time from the kill to the first task after it.

    ``ended_before_s``: of the tasks that had ended and ran again, how long before the kill of a master the first one
    had ended; None where there is none.
    """

    before_s: float
    in_flight_s: float
    twice_s: float
    to_first_s: float
    ended_before_s: float | None = None

    @property
    def ratio(self) -> float:
        """What was done twice, to what was in flight: 1 is all that nobody could have saved."""
        return self.twice_s / self.in_flight_s


def twice(worked: Iterable[Worked], *, killed_ms: int, records: int, flush_ms: int) -> Twice:
    """What was done before the kill in the application's first life, and done again in the second.

    In flight are the tasks that ran at the kill, and those that had ended so shortly before (``flush_ms``) that no
    journal could have them yet.
    """
    every = list(worked)
    first = [one for one in every if one.life == 1 and one.began_ms < killed_ms]
    second = [one for one in every if one.life > 1]

    def ended(one: Worked) -> bool:
        return one.records == records and one.last_ms <= killed_ms

    in_flight = [one for one in first if not ended(one) or one.last_ms > killed_ms - flush_ms]
    again = {one.task for one in second}
    ended_before_ms = [killed_ms - one.last_ms for one in first if ended(one) and one.task in again]
    cost = _twice(first, second, in_flight, killed_ms)
    return msgspec.structs.replace(cost, ended_before_s=max(ended_before_ms) / 1000 if ended_before_ms else None)


def with_executor(worked: Iterable[Worked], *, killed_ms: int, records: int) -> Twice:
    """The same where an executor was killed and the driver lives: in flight is what never came to its end."""
    every = list(worked)
    first = [one for one in every if one.began_ms < killed_ms]
    begun = {one.task for one in first}
    again = [one for one in every if one.began_ms >= killed_ms and one.task in begun]
    return _twice(first, again, [one for one in first if one.records < records], killed_ms)


def _twice(first: list[Worked], second: list[Worked], in_flight: list[Worked], killed_ms: int) -> Twice:
    again = {one.task for one in second}

    def seconds(chosen: Iterable[Worked]) -> float:
        return sum(one.spent_ms(killed_ms) for one in chosen) / 1000

    return Twice(
        before_s=seconds(first),
        in_flight_s=seconds(in_flight),
        twice_s=seconds(one for one in first if one.task in again),
        to_first_s=(min((one.began_ms for one in second), default=killed_ms) - killed_ms) / 1000,
    )
