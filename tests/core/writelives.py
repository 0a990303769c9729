"""Lives of a program that writes files and by itself puts some in the place of others, until it ends or is stopped.

The core decides, as for a real driver; files, journal and driver are played here. A file's name holds the job that
wrote it, its rows are the numbers of the changes that made them. A crash may come between any two steps, and cuts the
journal somewhere behind what an answer has waited for. A driver may also be taken for dead: then its journal is sealed,
the next driver runs from its start to its end between two steps of it, and it goes on.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from yarnspec.core.journal.journalrecords import JournalRecord
from yarnspec.core.journal.journalstate import Recorded
from yarnspec.core.lifecycle.phases import Lifecycle
from yarnspec.core.lifecycle.resource_wait import Bounds
from yarnspec.core.messages import commands as cm
from yarnspec.core.messages import recoverycommands as rc
from yarnspec.core.messages import writeevents as wr
from yarnspec.core.messages.settings import Settings
from yarnspec.core.messages.timers import Timers
from yarnspec.core.recovery.savedwork import moved_writes, saved_writes
from yarnspec.core.writes.write_coordinator import WriteCoordinator

Rows = tuple[int, ...]
Files = dict[str, dict[str, Rows]]
"""By directory and name."""
Mode = Literal["create", "replace", "add"]

X, Y, OLD = 100, 200, 300
"""The rows that there are at first: of the two inputs, and where something is to be overwritten."""


ALWAYS = (wr.WriteResolved, wr.WriteBeginning, wr.WriteCommitBeginning)
"""Answers for which it always waits until they are in the journal."""


class Change(NamedTuple):
    """Reads a directory and writes one.

    ``early``: what it overwrites goes at once, and not at its commit. ``fails``: its commit does, once, and it is tried
    again. ``then``: "swap" puts what it wrote in the place of what it read, ``one_by_one`` each file; "publish" gives
    it another name, and does nothing at all when something of that name is there.
    """

    number: int
    source: str
    target: str
    mode: Mode
    then: str = ""
    one_by_one: bool = False
    early: bool = False
    fails: bool = False


class Ending(NamedTuple):
    """How a program came to its end. ``swapped``: in one of its lives it had begun to change what it had read."""

    how: Literal["ended", "stopped", "failed"]
    why: str
    files: Files
    swapped: bool


class CrashedError(Exception):
    """The driver has died."""


class StoppedError(Exception):
    """The core does not let it go on."""


class FailedError(Exception):
    """The program ends with an error of its own."""


class RefusedError(Exception):
    """A later epoch has begun, and the driver must not go on."""


MOVES = ("swap", "swap", "publish")


def program(rng: random.Random, moves: tuple[str, ...] = MOVES) -> list[Change]:
    """A few changes of two inputs; what is written lies beside them before it is in its place."""
    return [_draw(number, rng, moves) for number in range(1, rng.randint(2, 4))]


def _draw(number: int, rng: random.Random, moves: tuple[str, ...]) -> Change:
    source = rng.choice(["x", "y"])
    early, fails = rng.random() < 0.5, rng.random() < 0.3
    match rng.choice(["log", "out", "grown", *moves]):
        case "log":
            return Change(number, source, "log", "add")
        case "out":
            return Change(number, source, "out", "replace", early=early, fails=fails)
        case "grown":
            return Change(number, "grown", "grown", "replace", fails=fails)
        case then:
            mode: Mode = rng.choice(["create", "replace", "add"])
            one_by_one = rng.random() < 0.5
            return Change(number, source, f"{source}.{then}", mode, then, one_by_one, early=early, fails=fails)


def inputs(changes: list[Change]) -> Files:
    """What is there at first; beside an input that is to be overwritten lies something old."""
    files: Files = {"x": {"part-0": (X,)}, "y": {"part-0": (Y,)}, "grown": {"part-0": (OLD,)}}
    firsts = {one.target: one.mode for one in reversed(changes)}
    return files | {target: {"part-0": (OLD,)} for target, mode in firsts.items() if mode == "replace"}


def steps_of(changes: list[Change]) -> int:
    """How many steps it takes when nothing happens to it."""
    life = Life(changes, inputs(changes), Recorded(), 1)
    life.run()
    return life.steps


def run(changes: list[Change], crashes: list[int], rng: random.Random, *, waits: bool = True) -> Ending:
    """Run it until it ends, with one life more than ``crashes``, each of which is after so many steps.

    ``waits``: it goes on after a commit when that is in the journal, and not before.
    """
    files, recorded, swapped = inputs(changes), Recorded(), False
    for epoch, crash in enumerate([*crashes, 0], start=1):
        life = Life(changes, files, recorded, epoch, crash=crash, waits=waits)
        try:
            how, why = _end(life)
        except CrashedError:
            swapped |= life.swapped
            recorded = life.journal(rng)
            continue
        return Ending(how, why, files, swapped | life.swapped)
    raise AssertionError("the last life ends by itself")


class Beside(NamedTuple):
    """How the next driver ended, what became of the one before it that lived on, and what the files are then.

    ``deleted``: it was told that it may overwrite something while it was the only one, and did it when it was not.
    """

    ending: Ending
    how: Literal["ended", "stopped", "failed", "refused"]
    deleted: bool
    files: Files


def run_beside(changes: list[Change], sealed: int, awake: int, rng: random.Random, crash: int = 0) -> Beside:
    """Run a life whose journal is sealed after so many steps, and which is frozen after so many more.

    It goes on when the next driver has come to its end. ``crash``: when the one before the two died; 0: none did.
    """
    files, recorded, before, swapped = inputs(changes), Recorded(), 0, False
    if crash:
        first = Life(changes, files, recorded, 1, crash=crash)
        with contextlib.suppress(CrashedError):
            first.run()
        recorded, before, swapped = first.journal(rng), 1, first.swapped
    endings: list[Ending] = []

    def next_life() -> None:
        how, why = _end(Life(changes, files, old.journal(rng), before + 2))
        left = {place: dict(named) for place, named in files.items()}
        endings.append(Ending(how, why, left, swapped or old.swapped))

    old = Life(changes, files, recorded, before + 1, sealed=sealed, awake=awake, meanwhile=next_life)
    how: Literal["ended", "stopped", "failed", "refused"]
    try:
        how, _ = _end(old)
    except RefusedError:
        how = "refused"
    if not endings:
        next_life()
    return Beside(endings[0], how, old.deleted, files)


def _end(life: Life) -> tuple[Literal["ended", "stopped", "failed"], str]:
    try:
        life.run()
    except StoppedError as error:
        return "stopped", str(error)
    except FailedError as error:
        return "failed", str(error)
    return "ended", ""


class Life:
    """One life of the driver. ``crash``: after so many steps; 0: it does not.

    ``sealed``: after so many steps a later epoch begins. ``meanwhile``: what that one does, ``awake`` steps later.
    """

    def __init__(
        self,
        changes: list[Change],
        files: Files,
        recorded: Recorded,
        epoch: int,
        *,
        crash: int = 0,
        waits: bool = True,
        sealed: int = 0,
        awake: int = 0,
        meanwhile: Callable[[], None] = lambda: None,
    ) -> None:
        settings = Settings(initial_executors=1, executor_memory_mb=512)
        lifecycle = Lifecycle(settings, Timers(), Bounds(settings))
        lifecycle.begin(epoch)
        self._changes = changes
        self._files = files
        self._epoch = epoch
        self._crash = crash
        self._waits = waits
        self._sealed_at = sealed
        self._next_at = sealed + awake if sealed else 0
        self._meanwhile = meanwhile
        self._sealed = False
        self._replaced = False
        self._core = WriteCoordinator(lifecycle, lambda _why: [])
        self._core.known(saved_writes(recorded), moved_writes(recorded), tuple(recorded.reads))
        self._past = list(recorded.live())
        self._written: list[JournalRecord] = []
        self._durable = 0
        self._pending = False
        self._read: set[str] = set()
        self._untold: list[str] = []
        self._questions = 0
        self.steps = 0
        self.swapped = False
        self.deleted = False

    def run(self) -> None:
        """Clean up, and run the program from its first line."""
        for one in self._ask(wr.WritesAsked).unfinished:
            outcome = self._settle(one)
            self._ask(wr.WriteResolved, ordinal=one.ordinal, outcome=outcome)
            if outcome == "restored":
                self._files.pop(_taken(one.job), None)
        for change in self._changes:
            if change.then == "publish" and f"{change.source}.done" in self._files:
                continue
            rows = self._rows(change.source)
            self._write(change, rows)
            if change.then == "swap":
                self._step()
                self.swapped = True
                del self._files[change.source]
                self._move(change.target, change.source, one_by_one=change.one_by_one)
            elif change.then == "publish":
                self._move(change.target, f"{change.source}.done", one_by_one=False)

    def journal(self, rng: random.Random) -> Recorded:
        """What the next driver finds: what was durable, and as much of the rest as chance will have."""
        recorded = Recorded()
        for record in self._past + self._written[: rng.randint(self._durable, len(self._written))]:
            recorded.apply(record)
        return recorded

    # the program and Spark

    def _rows(self, place: str) -> Rows:
        files = self._listed(place)
        if self._pending:
            jobs = tuple(sorted({_job(name) for name in files} - {""}))
            paths = tuple(f"{place}/{name}" for name in files)
            self._ask(wr.InputRead, paths=paths, held=(wr.Held(place, jobs),) if jobs else ())
        if place not in self._read:
            self._read.add(place)
            self._untold.append(place)
        return tuple(row for rows in files.values() for row in rows)

    def _listed(self, place: str) -> dict[str, Rows]:
        if place not in self._files:
            raise FailedError(f"{place} is not there")
        return dict(sorted(self._files[place].items()))

    def _write(self, change: Change, rows: Rows, *, again: bool = False) -> None:
        number, target = change.number, change.target
        write = 2 * number + again
        existed = target in self._files
        signature = f"{number}: {self._listed(change.source)}"
        answer = self._ask(
            wr.WriteDeclared, write=write, path=target, mode=change.mode, existed=existed, signature=signature
        )
        if answer.action == "skip" and answer.check and answer.saved is not None and not self._is_there(answer.saved):
            answer = self._ask(wr.WriteMissing, write=write)
        if answer.action == "skip":
            return
        if change.mode == "create" and existed:
            raise FailedError(f"{target} is there already")
        job = f"j{self._epoch}.{write}"
        defers = change.mode == "replace" and existed and not change.early
        self._ask(wr.WriteBeginning, write=write, job=job, existed=existed, defers=defers)
        if change.mode == "replace" and not defers:
            self.deleted |= self._replaced
            self._files.pop(target, None)
        self._step()
        self._files.setdefault(target, {})
        places = sorted(self._files[target]) if defers else []
        new = {f"part-0-{job}": (number,)} | ({f"part-1-{job}": rows} if change.target != "log" else {})
        taken = self._files.setdefault(_taken(job), {}) if defers else {}
        told, self._untold = tuple(self._untold), []
        self._ask(wr.WriteCommitBeginning, write=write, files=len(new), digest=_digest(new), made={}, read=told)
        self.swapped |= target == change.source
        for name in places:
            self._step()
            self._check_alone()
            taken[name] = self._files[target].pop(name)
        if change.fails and defers and not again:
            self._ask(wr.WriteAborting, write=write)
            self._put_back(job, target)
            self._files.pop(_taken(job), None)
            self._write(change, rows, again=True)
            return
        for name, each in new.items():
            self._step()
            self._check_alone()
            self._files[target][name] = each
        self._step()
        self._files.pop(_taken(job), None)
        self._ask(wr.WriteFinished, write=write)

    def _check_alone(self) -> None:
        if self._replaced:
            raise FailedError("the next driver has shut it out")

    def _move(self, source: str, place: str, *, one_by_one: bool) -> None:
        self._step()
        if source not in self._files:
            raise FailedError(f"{source} is not there")
        while one_by_one and self._files[source]:
            name = min(self._files[source])
            self._files.setdefault(place, {})[name] = self._files[source].pop(name)
            self._step()
        self._files[place] = self._files.get(place, {}) | self._files.pop(source)

    # what is left of an earlier driver

    def _settle(self, one: wr.SavedWrite) -> str:
        self._step()
        if one.state == "committing" and self._is_there(one):
            self._files.pop(_taken(one.job), None)
            return "committed"
        files = self._files.get(one.path, {})
        for name in [name for name in files if _job(name) == one.job]:
            del files[name]
        restored = self._put_back(one.job, one.path)
        if not files and not one.existed:
            self._files.pop(one.path, None)
        return "restored" if restored else "undone"

    def _put_back(self, job: str, path: str) -> bool:
        """What a write had taken; false when it had made no place for that."""
        taken = self._files.get(_taken(job))
        while taken:
            self._step()
            self._check_alone()
            name = max(taken)
            self._files[path][name] = taken.pop(name)
        return taken is not None

    def _is_there(self, one: wr.SavedWrite) -> bool:
        files = self._files.get(one.path, {})
        return _digest({name: rows for name, rows in files.items() if _job(name) == one.job}) == one.digest

    # the core and the journal

    def _ask(self, question: Callable[..., Any], **fields: Any) -> rc.AnswerWrite:
        self._step()
        self._questions += 1
        answered = self._tell(question(question=self._questions, **fields))
        answer = next(one for one in answered if isinstance(one, rc.AnswerWrite))
        self._step()
        if answer.fenced and self._sealed:
            raise RefusedError
        if answer.fenced and (self._waits or question in ALWAYS):
            self._durable = len(self._written)
        self._step()
        ended = [one for one in answered if isinstance(one, cm.FinishApplication)]
        if ended:
            raise StoppedError(ended[0].reason)
        self._pending = answer.pending
        return answer

    def _tell(self, event: Any) -> list[cm.Command]:
        answered = self._core.routes[type(event)](event, 0)
        for command in answered:
            if not self._sealed:
                self._written += command.records()
        return answered

    def _step(self) -> None:
        self.steps += 1
        if self.steps == self._crash:
            raise CrashedError
        if self.steps == self._sealed_at:
            self._sealed = True
        if self.steps == self._next_at:
            self._replaced = True
            self._meanwhile()


def _taken(job: str) -> str:
    return f".taken-{job}"


def _job(name: str) -> str:
    """What the name of a file says of who wrote it; empty for those that were there at first."""
    return name.removeprefix("part-").partition("-")[2]


def _digest(files: dict[str, Rows]) -> str:
    return repr(sorted(files.items()))
