"""Which of a program's writes are done again when the program begins anew, and which must not be.

The rules follow the batch job recovery proposal (FLIP-383). The next driver runs the program from its first line over
files that the last one changed. For each path the journal has the writes of earlier epochs in their order. A write of
this epoch that is the same computation as one of them *takes its place*: it is not done again. A write of an earlier
epoch whose place is not taken yet is *open*: for this program it lies in the future. From that follows what a write may
do:

    case                                 answer  why
    reads a path with an open write      stop    It would read its own later output, and apply its change twice.
    overwrites such a path               run     Nothing of the open writes is left. They are forgotten when this one is
                                                 about to be committed.
    overwrites parts of it, as did all   run     In the place of the first of them, whose parts it overwrites again.
      its open writes                    stop    A later one had found nothing there: its rows and these would mix.
    adds to such a path                  stop    Its rows may be there already.
    creates such a path                  stop    Its own earlier output is in its way.
    saves an RDD to such a path          run     Spark refuses it.
    creates it unless it is there        run     All there is committed, and no later write had found nothing there:
                                                 Spark leaves it as it is.
    writes where nothing is now          run     No row can be doubled. The open writes are forgotten. After one that
                                                 was cut off when it had removed old files, only an overwrite runs.

A write that began and was never committed was undone before the program began. If it had overwritten something that
could not be put back, that is lost: the write stays open, and the path can only be overwritten. If nobody knows what
earlier epochs wrote, only two kinds of writes run. They replace all of a path, or go to a path where nothing is. And
nothing that was read before is overwritten.

A program may also write beside its input, and then give the output the name of the input. Then the files of a write lie
where other files were read before the write was committed. A program that reads them there would apply the change
twice, so this stops it. The same holds for a write that the journal has only as about to be committed. Nothing is left
of such a write at its path in two cases: it was never committed, or the program has moved its files.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

import msgspec

from yarnspec.core.journal.journalrecords import InputsRead
from yarnspec.core.messages.writeevents import Held, SavedWrite, WriteDeclared

Action = Literal["run", "skip", "stop"]


class WriteVerdict(NamedTuple):
    """The verdict on a write. ``saved``: the write whose place it takes. ``check``: whether its files must be there."""

    action: Action
    reason: str
    saved: SavedWrite | None = None
    check: bool = False


class Writes:
    """The writes of earlier epochs that this one has not come to again."""

    def __init__(self) -> None:
        self._open: dict[int, SavedWrite] = {}
        self._moved: list[SavedWrite] = []
        self._reads: tuple[InputsRead, ...] = ()
        self._last = 0
        self._unknown = ""
        self._read: set[str] = set()
        self._held: list[Held] = []
        self._own: set[str] = set()
        self._recognize = True

    def offer(
        self,
        saved: Iterable[SavedWrite],
        moved: Iterable[SavedWrite] = (),
        reads: tuple[InputsRead, ...] = (),
        *,
        recognize: bool = True,
    ) -> None:
        """Take the writes that the journal holds. ``recognize``: the program is the one that wrote them.

        ``moved``: writes whose files are not at their paths any more, and may be elsewhere.
        """
        self._reads = reads
        self._open = {one.ordinal: one for one in sorted(saved, key=lambda each: each.ordinal)}
        self._moved = list(moved)
        self._recognize = recognize
        self._unknown = ""

    def number_after(self, saved: Iterable[SavedWrite]) -> None:
        """Give none of their numbers to another write."""
        self._last = max((self._last, *(one.ordinal for one in saved)))

    def lose(self, why: str) -> None:
        """Note that nobody knows what the earlier epochs wrote."""
        self._unknown = why

    def learn(self, moved: Iterable[SavedWrite], reads: tuple[InputsRead, ...]) -> str:
        """Take late news of writes whose files may be elsewhere. Says why the program must not have read its inputs."""
        self._moved += moved
        self._reads += reads
        return self._read_moved(self._held)

    @property
    def pending(self) -> bool:
        """Whether an input may be one that an earlier epoch changed."""
        return bool(self._open or self._moved or self._unknown)

    @property
    def unfinished(self) -> tuple[SavedWrite, ...]:
        """Writes that were not committed, as far as the journal knows."""
        return tuple(one for one in self._open.values() if one.state != "committed")

    def next_ordinal(self) -> int:
        """The number of one more write."""
        self._last += 1
        return self._last

    def committed(self, ordinal: int) -> SavedWrite | None:
        """Note that a write whose commit was open is committed, and return it; None when there is no such write."""
        found = self._open.get(ordinal)
        if found is None or found.state != "committing":
            return None
        self._open[ordinal] = done = msgspec.structs.replace(found, state="committed")
        return done

    def undone(self, ordinal: int, *, restored: bool = False) -> SavedWrite | None:
        """Forget an uncommitted write of which nothing is left at its path; None if its traces still count.

        ``restored``: the files that it had overwritten are back, so its commit did not come to its end. If it had taken
        the place of other writes, their files are back, and this write stands for them.
        """
        found = self._open.get(ordinal)
        if found is None or found.state == "committed":
            return None
        if _overwrites(found) and (found.instead or (_destroys(found) and not restored)):
            return None
        if restored:
            found = msgspec.structs.replace(found, state="begun")  # nobody has moved its files
        self._take_away((found,))
        return found

    def begun_again(self, ordinal: int) -> SavedWrite | None:
        """Note that a write is not about to be committed any more, and return it; None when there is no such write."""
        found = self._open.get(ordinal)
        if found is None or found.state != "committing":
            return None
        self._open[ordinal] = again = msgspec.structs.replace(found, state="begun", defers=False)
        return again

    def declare(self, declared: WriteDeclared) -> WriteVerdict:
        """The verdict on a write of this epoch."""
        if self._unknown:
            return self._declare_unknown(declared)
        touched = self._touching([declared.path])
        if not touched:
            return WriteVerdict("run", "no earlier epoch has written there")
        may_run = declared.mode == "replace" or not has_lost(touched)
        if not declared.existed and _all_within(touched, declared.path) and may_run:
            return WriteVerdict("run", "nothing of what earlier epochs wrote there is left")
        found = self._match(declared, touched)
        if found is not None:
            overwritten = any(one.ordinal > found.ordinal and _wipes(one, found.path) for one in touched)
            check = not overwritten or _was_emptied_after(found, touched)
            if not check and self._replaces(declared, touched):
                # Not skipped: nothing of it is left, and the program may be about to read it.
                return WriteVerdict("run", f"write {found.ordinal} was that, and later ones have replaced it")
            del self._open[found.ordinal]
            return WriteVerdict("skip", f"epoch {found.epoch} has committed it as write {found.ordinal}", found, check)
        return self._again(declared, touched, declared.why_not or "it is none of those that were committed")

    def _declare_unknown(self, declared: WriteDeclared) -> WriteVerdict:
        # The program may have read the outcome of this very write.
        if _refused(declared):
            return WriteVerdict(
                "run", f"something is there that an earlier driver epoch may have written: {self._unknown}"
            )
        was_read = _any_overlaps(self._read, declared.path)
        may_hold = declared.mode != "replace" and declared.existed and not self._is_own(declared.path)
        if was_read or may_hold:
            said = f"{_does(declared)} what an earlier driver epoch may have written: {self._unknown}"
            return WriteVerdict("stop", said)
        return WriteVerdict("run", f"what earlier epochs wrote is not known: {self._unknown}")

    def missing(self, declared: WriteDeclared, saved: SavedWrite) -> WriteVerdict:
        """The verdict on a write whose output is not there as it was committed."""
        if declared.mode == "ignore":
            said = f"{_does(declared)} what an earlier driver epoch has written, but not all of it any more"
            return WriteVerdict(
                "stop", f"{said}: write {saved.ordinal} has lost files, and Spark would leave it as it is"
            )
        self._reopen((saved,))
        touched = self._touching([declared.path])
        return self._again(declared, touched, "its files are not those that were committed")

    def read_meanwhile(self, declared: WriteDeclared) -> str:
        """Why an overwrite that has kept the old files until now must not delete them; empty when it may."""
        if self._unknown and _any_overlaps(self._read, declared.path):
            what = "what an earlier driver epoch may have written, and has read that"
            return f"{_does(declared)} {what}: {self._unknown}"
        return ""

    def failed(self, declared: WriteDeclared, wiped: Iterable[SavedWrite]) -> None:
        """Take back these writes: the one that took their place has failed, and their files may be back."""
        self._own.discard(declared.path)
        self._reopen(wiped)

    def _reopen(self, writes: Iterable[SavedWrite]) -> None:
        self._open |= {one.ordinal: one for one in writes}
        self._open = dict(sorted(self._open.items()))

    def begin(self, declared: WriteDeclared) -> tuple[SavedWrite, ...]:
        """Note that a write is about to change its path. Returns the open writes that this removes or replaces."""
        if declared.mode != "replace" and declared.existed:
            wiped = self._amended(declared)[:1]
        else:
            self._own.add(declared.path)
            wiped = tuple(one for one in self._open.values() if _within(one.path, declared.path))
        self._take_away(wiped)
        return wiped

    def _take_away(self, gone: Iterable[SavedWrite]) -> None:
        """Forget these writes at their paths: their files are gone, or may be elsewhere."""
        for one in gone:
            del self._open[one.ordinal]
            if one.may_be_moved:
                self._moved.append(one)

    def _amended(self, declared: WriteDeclared) -> tuple[SavedWrite, ...]:
        """The open writes there, when all of them overwrote parts of just this path, as this one does.

        No write is amended if a later one had found nothing there: the first would come to lie among its parts.
        """
        touched = self._touching([declared.path])
        alike = all((one.mode, one.path) == ("amend", declared.path) for one in touched)
        if declared.mode != "amend" or not touched or not alike or _was_emptied_after(touched[0], touched):
            return ()
        return tuple(touched)

    def read(self, paths: Iterable[str], held: Iterable[Held] = ()) -> str:
        """Why these must not be read; empty when they may. ``held``: what files are there."""
        paths, held = tuple(paths), tuple(held)
        if self._unknown:
            self._read.update(path for path in paths if not self._is_own(path))
            self._held += held  # of a place the driver tells what it has not told yet
        touched = self._touching(paths)
        if not touched:
            return self._read_moved(held)
        return (
            f"the program reads {touched[0].path}, which an earlier driver epoch has changed since ({_told(touched)}), "
            "before it comes to that write again: it would apply its change twice"
        )

    def _read_moved(self, held: Iterable[Held]) -> str:
        writes = {one.job: one for one in (*self._moved, *self._open.values()) if one.may_be_moved}
        for each in held:
            for job in each.jobs:
                one = writes.get(job)
                if one is not None and self._had_read(one, each.place):
                    return (
                        f"the program reads {each.place}, where an earlier driver epoch has put what it had computed "
                        f"from that (write {one.ordinal} of epoch {one.epoch}, to {one.path}): it would apply its "
                        "change twice"
                    )
        return ""

    def _had_read(self, one: SavedWrite, place: str) -> bool:
        """Whether its epoch had read something there before it was committed."""
        return any(
            _any_overlaps(read.places, place)
            for read in self._reads
            if read.epoch == one.epoch and read.ordinal <= one.ordinal
        )

    def _is_own(self, path: str) -> bool:
        """Whether this epoch has replaced all that was there."""
        return any(_within(path, own) for own in self._own)

    def _touching(self, paths: Iterable[str]) -> list[SavedWrite]:
        wanted = list(paths)
        return [one for one in self._open.values() if any(_overlap(one.path, path) for path in wanted)]

    def _match(self, declared: WriteDeclared, touched: list[SavedWrite]) -> SavedWrite | None:
        if not declared.signature or not self._recognize:
            return None
        there = [one for one in touched if not _is_gone(one, touched)]
        for at, one in enumerate(there):
            same = (one.signature, one.path, one.mode) == (declared.signature, declared.path, declared.mode)
            # Without a digest nobody can tell whether its files are still there.
            if same and one.state == "committed" and one.digest and (at == 0 or _unordered(there[: at + 1])):
                return one
        return None

    def _again(self, declared: WriteDeclared, touched: list[SavedWrite], why: str) -> WriteVerdict:
        if self._replaces(declared, touched):
            return WriteVerdict("run", f"it overwrites what earlier epochs wrote: {why}")
        if self._amended(declared):
            return WriteVerdict("run", f"it overwrites parts again that an earlier driver epoch has overwritten: {why}")
        if _refused(declared) or self._leaves(declared, touched):
            return WriteVerdict("run", f"an earlier driver epoch has written there ({_told(touched)}): {why}")
        return WriteVerdict(
            "stop", f"{_does(declared)} what an earlier driver epoch has written ({_told(touched)}): {why}"
        )

    def _leaves(self, declared: WriteDeclared, touched: list[SavedWrite]) -> bool:
        """Whether it is left as it is by Spark, and whole; then it takes the place of the one that made it."""
        if declared.mode != "ignore" or not declared.existed or any(one.state != "committed" for one in touched):
            return False
        first = touched[0]
        if _was_emptied_after(first, touched):
            return False
        if (first.mode, first.path) == ("ignore", declared.path):
            del self._open[first.ordinal]
        return True

    def _replaces(self, declared: WriteDeclared, touched: list[SavedWrite]) -> bool:
        """Whether nothing of these is left after it."""
        return declared.mode == "replace" and _all_within(touched, declared.path)


def _within(path: str, above: str) -> bool:
    return path == above or path.startswith(above.rstrip("/") + "/")


def _all_within(writes: list[SavedWrite], path: str) -> bool:
    return all(_within(one.path, path) for one in writes)


def _overlap(one: str, other: str) -> bool:
    return _within(one, other) or _within(other, one)


def _any_overlaps(paths: Iterable[str], path: str) -> bool:
    return any(_overlap(one, path) for one in paths)


def _refused(declared: WriteDeclared) -> bool:
    """Whether Spark lets nothing be written there."""
    return declared.mode == "save" and declared.existed


def _wipes(one: SavedWrite, path: str) -> bool:
    return one.mode == "replace" and one.existed and _within(path, one.path)


def _is_gone(one: SavedWrite, touched: list[SavedWrite]) -> bool:
    """Whether somebody has taken a write's files away, and the files there now may pass for them.

    The files of RDDs have no job in their names. A write without files leaves nothing to compare.
    """
    return (one.mode == "save" or not one.files) and _was_emptied_after(one, touched)


def _was_emptied_after(one: SavedWrite, touched: list[SavedWrite]) -> bool:
    """Whether a later write found a write's place empty, and none in between had overwritten it."""
    for each in touched:
        if each.ordinal > one.ordinal and _within(one.path, each.path):
            if not each.existed and not _ran_beside(each, one):
                return True
            if _wipes(each, one.path):
                return False
    return False


def _ran_beside(later: SavedWrite, one: SavedWrite) -> bool:
    """Whether a write still ran when a later one of its epoch was declared: both may have found nothing there.

    A write that has only begun does not say how many were done before.
    """
    alike = (later.path, later.epoch) == (one.path, one.epoch)
    return alike and "begun" not in (later.state, one.state) and later.done_before <= one.done_before


def _overwrites(one: SavedWrite) -> bool:
    """Whether a write removes something that was there before."""
    return one.mode in ("amend", "unknown") or (one.mode == "replace" and one.existed)


def _destroys(one: SavedWrite) -> bool:
    """Whether the files from before an uncommitted write may be gone."""
    return _overwrites(one) and not (one.defers and one.state == "begun")


def has_lost(writes: Iterable[SavedWrite]) -> bool:
    """Whether one of these writes was cut off over files that none of them had made."""
    all_there = list(writes)
    return any(_has_lost(one, all_there) for one in all_there)


def _has_lost(one: SavedWrite, touched: list[SavedWrite]) -> bool:
    made = any(each.ordinal < one.ordinal and not each.existed and _within(one.path, each.path) for each in touched)
    return one.state != "committed" and one.existed and _destroys(one) and not made


def _unordered(writes: list[SavedWrite]) -> bool:
    """Whether these give the same in any order."""
    return all(one.mode == "add" and one.state == "committed" for one in writes)


def _does(declared: WriteDeclared) -> str:
    part = "overwrites a part of"
    verbs = {"replace": part, "amend": part, "add": "adds to", "save": "saves an RDD to"} | dict.fromkeys(
        ("create", "ignore"), "creates"
    )
    return f"the program {verbs.get(declared.mode, 'writes to')} {declared.path}, which holds"


def _told(touched: list[SavedWrite]) -> str:
    one = touched[-1]
    more = f" and {len(touched) - 1} more" if len(touched) > 1 else ""
    return f"write {one.ordinal}, {_state(one)}{more}"


def _state(one: SavedWrite) -> str:
    return f"{'committed' if one.state == 'committed' else 'begun and not committed'} in epoch {one.epoch}"
