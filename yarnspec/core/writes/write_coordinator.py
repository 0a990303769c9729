"""Coordinates a program's writes to files, so that the next driver neither loses nor doubles rows.

The rules follow the batch job recovery proposal (FLIP-383).

    declared ──▶ is it there already? ──▶ skip, when its files are those that were committed
       │run
    beginning ──▶ in the journal ──▶ committing ──▶ in the journal, and is this still the newest epoch?
        ──▶ finished ──▶ in the journal ──▶ the program goes on

A write changes nothing that others can see before its record is durable. A write that might be applied twice ends the
application (``core/writes/write_verdicts.py`` says when). If nothing can be recorded, the program goes on, and
``status`` says so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from yarnspec.core.journal.journalrecords import InputsRead
from yarnspec.core.lifecycle.driver import Route
from yarnspec.core.lifecycle.phases import Lifecycle
from yarnspec.core.messages import events as ev
from yarnspec.core.messages import writeevents as wr
from yarnspec.core.messages.commands import EXIT_FAILED, Command
from yarnspec.core.messages.recoverycommands import (
    AnswerWrite,
    ForgetWrites,
    RecordCommit,
    RecordCommitting,
    RecordLost,
    RecordWrite,
)
from yarnspec.core.writes.write_verdicts import Writes, WriteVerdict, has_lost

_CREATES = ("create", "ignore")


class WriteCoordinator:
    """Answers what the driver of one epoch asks about its writes.

    Args:
        lifecycle: which epoch it is, and how the application ends.
        progress: what follows from something that no earlier epoch has finished, told why.
        lost: why an earlier driver in this container may have written more than the journal has; empty when it has not.
    """

    def __init__(self, lifecycle: Lifecycle, progress: Callable[[str], list[Command]], *, lost: str = "") -> None:
        self._lifecycle = lifecycle
        self._progress = progress
        self._lost = lost
        self._recording = False
        self._writes = Writes()
        self._known = False
        self._unread = False
        self._waiting: list[Any] = []
        self._declared: dict[int, wr.WriteDeclared] = {}
        self._skipped: dict[int, wr.SavedWrite] = {}
        self._begun: dict[int, RecordWrite] = {}
        self._deferred: set[int] = set()
        self._wiped: dict[int, tuple[wr.SavedWrite, ...]] = {}
        self._untold: list[wr.WriteDeclared] = []
        self._read: tuple[str, ...] = ()

    @property
    def routes(self) -> dict[type[ev.Event], Route]:
        """The events that this part handles."""
        routes: dict[type[ev.Event], Route] = {
            wr.WritesAsked: self._asked,
            wr.WriteResolved: self._resolved,
            wr.WriteDeclared: self._write_declared,
            wr.WriteMissing: self._missing,
            wr.WriteBeginning: self._beginning,
            wr.WriteClearing: self._clearing,
            wr.WriteDeleting: lambda event, _now_ms: [self._go_on(event.question, "what is there may be removed")],
            wr.WriteCommitBeginning: self._committing,
            wr.WriteAborting: self._aborting,
            wr.WriteFinished: self._finished,
            wr.WriteRefused: lambda _event, _now_ms: [],
            wr.InputRead: self._input_read,
        }
        return routes

    @property
    def skips(self) -> bool:
        """Whether this epoch has come to a write that an earlier one had committed."""
        return bool(self._skipped)

    @property
    def lost(self) -> str:
        """Why the journal does not have all writes, which the next driver in this container must know."""
        if self._untold and not self._lost:
            return f"epoch {self._lifecycle.epoch} wrote what could not be recorded"
        return self._lost

    def known(
        self,
        saved: tuple[wr.SavedWrite, ...] = (),
        moved: tuple[wr.SavedWrite, ...] = (),
        reads: tuple[InputsRead, ...] = (),
        *,
        problem: str = "",
        off: str = "",
        same_program: bool = True,
    ) -> list[Command]:
        """Take what the journal holds, now that it was read.

        ``moved``: writes whose files are not at their paths any more, and may be elsewhere. ``reads``: the inputs that
        earlier epochs had read. ``problem``: why the journal does not have all of earlier epochs. ``off``: why it could
        not be read, and takes nothing.
        """
        self._writes.number_after((*saved, *moved))
        self._recording = recording = not off
        commands: list[Command] = []
        if self._lost and recording:
            commands.append(RecordLost(reason=self._lost))
        maybe_moved = (*moved, *(one for one in saved if one.may_be_moved))
        if self._known:
            # Too late: the driver has been answered without it, and may have written something.
            if recording:
                untold, self._untold = self._untold, []
                commands += [self._record(one, job="", existed=True) for one in untold]
            why = self._writes.learn(maybe_moved, reads)
            return commands + (self._end(why) if why else [])
        self._unread = bool(off)
        self._lost = self._lost or problem
        if self._lost:
            # No saved write is recognized, as later ones are not known. Its moved files are.
            self._writes.offer((), maybe_moved, reads)
        else:
            self._writes.offer(saved, moved, reads, recognize=same_program)
        return commands + self._settle(self._lost or off)

    def ended(self, why: str) -> list[Command]:
        """The journal takes nothing more."""
        commands = self.unknown(why)
        self._recording = False
        self._lost = self._lost or f"the recording of epoch {self._lifecycle.epoch} stopped: {why}"
        return commands

    def unknown(self, why: str) -> list[Command]:
        """The journal cannot be read, or not in time."""
        if self._known:
            return []
        self._unread = True
        return self._settle(self._lost or why)

    def _settle(self, problem: str) -> list[Command]:
        self._known = True
        if problem and self._lifecycle.epoch > 1:
            self._writes.lose(problem)
        waiting, self._waiting = self._waiting, []
        commands: list[Command] = []
        for event in waiting:
            if not self._lifecycle.over:
                commands += self.routes[type(event)](event, 0)
        return commands

    def _wait(self, event: ev.Event) -> bool:
        if not self._known:
            self._waiting.append(event)
        return not self._known

    # at the start of a later epoch

    def _asked(self, event: wr.WritesAsked, _now_ms: int) -> list[Command]:
        if self._wait(event):
            return []
        unfinished = self._writes.unfinished
        said = f"{len(unfinished)} writes of earlier epochs are not known to be committed"
        pending = self._writes.pending
        return [AnswerWrite(question=event.question, unfinished=unfinished, pending=pending, reason=said)]

    def _resolved(self, event: wr.WriteResolved, _now_ms: int) -> list[Command]:
        recorded = self._resolution(event)
        return [*recorded, self._go_on(event.question, f"write {event.ordinal} is settled: {event.outcome}")]

    def _resolution(self, event: wr.WriteResolved) -> list[Command]:
        """The commands that record the outcome."""
        if event.outcome == "committed":
            saved = self._writes.committed(event.ordinal)
            if saved is None or not self._recording:
                return []
            said = f"all {saved.files} files of write {saved.ordinal} are there"
            return [RecordCommit(ordinal=saved.ordinal, signature=saved.signature, path=saved.path, reason=said)]
        if event.outcome not in ("undone", "restored"):
            return []
        restored = event.outcome == "restored"
        undone = self._writes.undone(event.ordinal, restored=restored)
        if not self._recording:
            return []
        if undone is None:
            again = self._writes.begun_again(event.ordinal) if restored else None
            return [_begun(again)] if again is not None else []
        said = f"write {undone.ordinal} was not committed, and what it left was removed"
        return [_forget((undone,), f"{said}; what it had overwritten is there again" if restored else said)]

    # writes

    def _write_declared(self, event: wr.WriteDeclared, _now_ms: int) -> list[Command]:
        if self._wait(event):
            return []
        self._declared[event.write] = event
        return self._give(event, event.question, self._writes.declare(event))

    def _missing(self, event: wr.WriteMissing, _now_ms: int) -> list[Command]:
        declared, saved = self._declared.get(event.write), self._skipped.pop(event.write, None)
        if declared is None or saved is None:
            return self._never_declared(event.question, event.write)
        return self._give(declared, event.question, self._writes.missing(declared, saved))

    def _give(self, declared: wr.WriteDeclared, question: int, verdict: WriteVerdict) -> list[Command]:
        if verdict.action == "stop":
            return self._stop(question, verdict.reason)
        if verdict.saved is not None:
            self._skipped[declared.write] = verdict.saved
        return [
            AnswerWrite(
                question=question,
                action=verdict.action,
                # The commit may be recorded only now, and the program may move the files.
                fenced=verdict.action == "skip",
                check=verdict.check,
                saved=verdict.saved,
                pending=self._writes.pending,
                reason=verdict.reason,
            )
        ]

    def _beginning(self, event: wr.WriteBeginning, _now_ms: int) -> list[Command]:
        declared = self._declared.get(event.write)
        if declared is None:
            return self._never_declared(event.question, event.write)
        # A format may have deleted since what a save had found in its way.
        now = msgspec.structs.replace(declared, existed=event.existed) if declared.mode == "save" else declared
        if self._recording:
            self._begun[event.write] = self._record(declared, job=event.job, existed=event.existed, defers=event.defers)
        else:
            self._untold.append(declared)
        commands: list[Command] = []
        if event.defers and event.existed:
            self._deferred.add(event.write)
        else:
            _, commands = self._overwrite(event.write, now)
        return [*(commands or self._records_of(event.write)), self._go_on(event.question, "the write may begin")]

    def _records_of(self, write: int) -> list[Command]:
        """The record that the write has begun."""
        begun = self._begun.get(write)
        return [begun] if begun is not None and self._recording else []

    def _overwrite(self, write: int, declared: wr.WriteDeclared) -> tuple[tuple[wr.SavedWrite, ...], list[Command]]:
        """The writes whose place this one takes, and the commands that record it."""
        self._deferred.discard(write)
        wiped = self._writes.begin(declared)
        begun = self._begun.get(write)
        if begun is None:
            return wiped, []
        # Until it has come to its end it tells of what those have lost whose place it takes.
        lost = has_lost(wiped)
        self._begun[write] = begun = msgspec.structs.replace(
            begun, existed=begun.existed or lost, defers=begun.defers and not lost, instead=bool(wiped)
        )
        records = self._records_of(write)
        if not wiped or not records:
            return wiped, []
        return wiped, [*records, _forget(wiped, f"write {begun.ordinal} overwrites them")]

    def _clearing(self, event: wr.WriteClearing, _now_ms: int) -> list[Command]:
        commands: list[Command] = []
        self._begin_to_overwrite(event.write)
        if event.write in self._deferred:
            _, commands = self._overwrite(event.write, self._declared[event.write])
            commands = commands or self._records_of(event.write)
        return [*commands, self._go_on(event.question, "what it overwrites may be removed")]

    def _record(self, declared: wr.WriteDeclared, *, job: str, existed: bool, defers: bool = False) -> RecordWrite:
        return RecordWrite(
            ordinal=self._writes.next_ordinal(),
            signature=declared.signature,
            path=declared.path,
            mode=declared.mode,
            job=job,
            epoch=self._lifecycle.epoch,
            existed=existed,
            defers=defers,
            reason=declared.why_not or f"the program writes {declared.path}",
        )

    def _committing(self, event: wr.WriteCommitBeginning, _now_ms: int) -> list[Command]:
        self._read += event.read  # told once only, which may be before anything can be recorded
        commands: list[Command] = []
        if event.write in self._deferred:
            declared = self._declared[event.write]
            why = self._writes.read_meanwhile(declared)
            if why:
                return self._stop(event.question, why)
            self._wiped[event.write], commands = self._overwrite(event.write, declared)
        begun = self._begun.get(event.write)
        if begun is not None and self._recording:
            said = f"write {begun.ordinal} is about to show its {event.files} files"
            # A write that creates its path is never committed if the path exists already.
            under_way = [one.ordinal for one in self._begun.values() if not (one.mode in _CREATES and one.existed)]
            commands.append(
                RecordCommitting(
                    ordinal=begun.ordinal, files=event.files, digest=event.digest, epoch=begun.epoch,
                    earliest=min(begun.ordinal, *under_way), read=self._read, made=event.made,
                    done_before=event.done_before, reason=said,
                )
            )  # fmt: skip
            self._read = ()
        self._begin_to_overwrite(event.write)
        return [*commands, self._go_on(event.question, "the write may be committed")]

    def _begin_to_overwrite(self, write: int) -> None:
        """From here on something that was there may be gone, also when it begins once more."""
        begun = self._begun.get(write)
        if begun is not None:
            self._begun[write] = msgspec.structs.replace(begun, defers=False)

    def _aborting(self, event: wr.WriteAborting, _now_ms: int) -> list[Command]:
        # Record the same once more: once this is durable, there is no later epoch.
        again = self._records_of(event.write)
        self._begun.pop(event.write, None)
        self._deferred.discard(event.write)
        if event.write in self._wiped:
            self._writes.failed(self._declared[event.write], self._wiped.pop(event.write))
        return [*again, self._go_on(event.question, "what the write has left may be removed")]

    def _finished(self, event: wr.WriteFinished, _now_ms: int) -> list[Command]:
        begun = self._begun.pop(event.write, None)
        self._declared.pop(event.write, None)
        self._wiped.pop(event.write, None)
        self._deferred.discard(event.write)
        commands: list[Command] = []
        if begun is not None and self._recording:
            said = f"write {begun.ordinal} is committed"
            commands = [
                RecordCommit(ordinal=begun.ordinal, signature=begun.signature, path=begun.path, reason=said),
                *self._progress(said),
            ]
        # From here on the program may move the files, and the journal alone tells that they were shown.
        return [*commands, self._go_on(event.question, "the write is over")]

    def _go_on(self, question: int, said: str) -> AnswerWrite:
        return AnswerWrite(
            question=question,
            fenced=True,
            unrecorded=not self._recording,
            pending=self._writes.pending,
            reason=said,
        )

    def _never_declared(self, question: int, write: int) -> list[Command]:
        return self._stop(question, f"the driver goes on with a write that the negotiator does not know ({write})")

    # inputs

    def _input_read(self, event: wr.InputRead, _now_ms: int) -> list[Command]:
        if self._wait(event):
            return []
        why = self._writes.read(event.paths, event.held)
        if why:
            return self._stop(event.question, why)
        said = "no earlier epoch has changed it, or it is what this one would have written"
        return [AnswerWrite(question=event.question, pending=self._writes.pending, reason=said)]

    def _stop(self, question: int, why: str) -> list[Command]:
        return [AnswerWrite(question=question, action="stop", reason=why), *self._end(why)]

    def _end(self, why: str) -> list[Command]:
        said = f"the application cannot go on after a crash: {why}. Look at what is there before you submit it again"
        # Another attempt may be able to read what this one could not.
        return self._lifecycle.abandon(said) if self._unread else self._lifecycle.fail(EXIT_FAILED, said)


def _begun(saved: wr.SavedWrite) -> RecordWrite:
    """The record of a write whose commit was undone: it is not about to be committed any more."""
    fields = ("ordinal", "signature", "path", "mode", "job", "epoch", "existed", "instead")
    said = f"write {saved.ordinal} did not come to its commit, and the files from before it are back"
    return RecordWrite(**{name: getattr(saved, name) for name in fields}, reason=said)


def _forget(writes: tuple[wr.SavedWrite, ...], why: str) -> ForgetWrites:
    moved = tuple(one.ordinal for one in writes if one.may_be_moved)
    return ForgetWrites(ordinals=tuple(one.ordinal for one in writes), moved=moved, reason=why)
