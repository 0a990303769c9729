"""The page's gaps: what its fold had to forget, and which records nobody could read. The page tells each of them."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from yarnspec.observe.forms.moments import at_time
from yarnspec.units import counted

_SHOWN_GAPS = 3
_MOST_GAPS = 100


class FoldedKind(Enum):
    """The things that a fold keeps only so many of: a noun, and which of its kind."""

    ATTEMPTS = ("task attempt", "that ended")
    RUNNING = ("running task attempt", "")
    FAILURES = ("reason", "of task attempts that ended")
    BLOCKS = ("block", "that ended")
    CONTAINERS = ("container", "that ended")
    TURNS = ("turn", "of the driver (deaths and beginnings)")
    COPIES = ("request", "for copies")
    VERDICTS = ("verdict", "on slow tasks")
    WANTED = ("change", "of the number of wanted executors")
    WAITS = ("reason", "to wait for containers")
    PHASES = ("change", "of the phase")
    RESTORED = ("use", "of saved shuffles")
    EVENTS = ("event", "")


class Forgotten(NamedTuple):
    """So many, the last one at this moment."""

    number: int
    until_ms: int

    def sentence(self, kind: FoldedKind) -> str:
        """The page's words for it; none where the page tells it elsewhere."""
        if kind is FoldedKind.EVENTS:
            return ""
        until = at_time(self.until_ms)
        if kind is FoldedKind.RUNNING:
            verb = "was" if self.number == 1 else "were"
            return (
                f"{counted(self.number, 'task attempt')} {verb} not drawn while running: too many ran. "
                f"The newest of them began at {until}."
            )
        noun, which = kind.value
        return f"The page no longer has {counted(self.number, noun)} {which}, up to {until}."


class Gap(NamedTuple):
    """A place where records are missing. ``records``: how many, as far as that is known."""

    records: int
    words: str


class Missing:
    """The records that the page lacks, and since when."""

    def __init__(self) -> None:
        self._forgotten: dict[FoldedKind, Forgotten] = {}
        self._gaps: list[Gap] = []
        self._more_gaps = 0
        self._more_records = 0
        self.damaged = 0

    def forget(self, kind: FoldedKind, count: int, until_ms: int) -> None:
        """So many are no longer kept, the newest of them from this moment."""
        before = self._forgotten.get(kind, Forgotten(0, 0))
        self._forgotten[kind] = Forgotten(before.number + count, max(before.until_ms, until_ms))

    def of(self, kind: FoldedKind) -> Forgotten:
        """How many of a kind were forgotten."""
        return self._forgotten.get(kind, Forgotten(0, 0))

    def skip_records(self, count: int, before_ms: int) -> None:
        """So many records from before this moment were never read."""
        from_before = f"{counted(count, 'record')} from before {at_time(before_ms)}"
        words = f"{from_before} could not be had: the page lacks what {_they(count)}."
        self._add(Gap(count, words))

    def skip_epochs(self, first: int, last: int, before_ms: int) -> None:
        """No record of these driver epochs was read."""
        self._skip("driver epoch", first, last, before_ms)

    def skip_attempts(self, first: int, last: int, before_ms: int) -> None:
        """No record of these application attempts was read."""
        self._skip("application attempt", first, last, before_ms)

    def skip_end(self, epoch: int, from_ms: int, until_ms: int) -> None:
        """The records of a driver epoch stop before its end: its application master died."""
        words = (
            f"The records of driver epoch {epoch} stop at {at_time(from_ms)}, and the next ones begin at "
            f"{at_time(until_ms)}: nobody recorded what happened between."
        )
        self._add(Gap(0, words))

    def sentences(self) -> list[str]:
        """Say what the page lacks; no sentence where it is complete."""
        found = [one.words for one in self._gaps[-_SHOWN_GAPS:]]
        earlier = self._gaps[:-_SHOWN_GAPS]
        if earlier:
            records = self._more_records + sum(one.records for one in earlier)
            told = f", with at least {counted(records, 'record')}" if records else ""
            found.append(f"Before them the records have {counted(len(earlier) + self._more_gaps, 'gap')} more{told}.")
        if self.damaged:
            damaged = counted(self.damaged, "damaged record")
            verb = "was" if self.damaged == 1 else "were"
            found.append(f"{damaged} {verb} passed over: the page lacks what {_they(self.damaged)}.")
        found += filter(None, (one.sentence(kind) for kind, one in self._forgotten.items()))
        return found

    def _skip(self, kind: str, first: int, last: int, before_ms: int) -> None:
        which = f"{kind} {first}" if first == last else f"{kind}s {first} to {last}"
        words = f"No record of {which}, before {at_time(before_ms)}, could be had: the page lacks all that they tell."
        self._add(Gap(0, words))

    def _add(self, gap: Gap) -> None:
        self._gaps.append(gap)
        if len(self._gaps) > _MOST_GAPS:
            oldest = self._gaps.pop(0)
            self._more_gaps += 1
            self._more_records += oldest.records


def _they(number: int) -> str:
    return "it tells" if number == 1 else "they tell"
