"""Finished work that is kept, and work of earlier epochs that is used again or not and why, counted from records."""

from __future__ import annotations

from collections import Counter

import msgspec

from yarnspec.core.messages import recoverycommands as rc
from yarnspec.core.messages import recoveryevents as rec
from yarnspec.core.messages import writeevents as wr
from yarnspec.core.messages.commands import Command
from yarnspec.core.messages.events import Event
from yarnspec.observe.forms.document import KeptOnHost, LiveAdoption, RecoveryStatus, ReusedShuffle

_MOST_SHUFFLES = 200
_MOST_REASONS = 20
_MOST_LIVE = 20
_OTHER_REASONS = "other reasons"
_BELOW = "below it: "
_UNRECORDED = "it is not recorded: "
_NOT_ASKED = "not asked for so far"


class Kept:
    """Recovery in the newest epoch of one application, after each record."""

    def __init__(self) -> None:
        self._seen = False
        self._recording = False
        self._ended = False
        self._why_not = ""
        self._why_unused = ""
        self._done_again: list[str] = []
        self._carried_over = ""
        self._recorded: set[int] = set()
        self._durable = 0
        self._not_recorded: Counter[str] = Counter()
        self._saved: dict[int, int] = {}
        self._offered: set[int] = set()
        self._taken: set[int] = set()
        self._unused: dict[int, str] = {}
        self._declared: dict[int, rec.ShuffleDeclared] = {}
        self._reused: dict[int, ReusedShuffle] = {}
        self._restored = 0
        self._not_restored: Counter[str] = Counter()
        self._lost_hosts: dict[str, str] = {}
        self._kept: dict[str, KeptOnHost] = {}
        self._live: dict[str, LiveAdoption] = {}
        self._begun: set[int] = set()
        self._committed = 0
        self._skipped = 0

    def apply(self, message: Event | Command) -> None:
        """Take in the next event or command; those that are about other things change nothing."""
        if isinstance(message, Command):
            self._apply_command(message)
        else:
            self._apply_event(message)

    def status(self) -> RecoveryStatus | None:
        """The counts, or None if no record spoke of recovery."""
        if not self._seen:
            return None
        return RecoveryStatus(
            recording=self._recording,
            why_not="; ".join(filter(None, (self._why_unused, self._why_not))),
            done_again=tuple(self._done_again),
            carried_over=self._carried_over,
            recorded_shuffles=len(self._recorded),
            durable_outputs=self._durable,
            not_recorded=dict(self._not_recorded),
            committed_writes=self._committed,
            skipped_writes=self._skipped,
            saved_shuffles=sum(1 for outputs in self._saved.values() if outputs),
            saved_outputs=sum(self._saved.values()),
            restored_outputs=self._restored,
            not_restored=self._all_not_restored(),
            reused=tuple(self._reused.values()),
            lost_hosts=dict(self._lost_hosts),
            kept=tuple(one for one in self._kept.values() if one.outputs),
            live=tuple(self._live.values()),
        )

    def _apply_command(self, command: Command) -> None:
        match command:
            case rc.RecordProgram():
                self._seen = self._recording = True
            case rc.ReportRecoveryLimit():
                self._seen = True
                self._admitted(command)
            case rc.CarryOver(reason=reason):
                self._carried_over = "; ".join(filter(None, (self._carried_over, reason)))
            case rc.RecordShuffle(shuffle=shuffle):
                self._recorded.add(shuffle)
            case rc.OfferSaved(shuffles=shuffles):
                self._offered.update(shuffles)
            case rc.RefuseShuffles(shuffles=shuffles, reason=reason):
                self._recorded.difference_update(shuffles)
                self._leave(shuffles, reason)
            case rc.ForgetShuffle(shuffle=shuffle, reason=reason):
                self._recorded.discard(shuffle)
                self._leave((shuffle,), reason)
            case rc.AnswerShuffle():
                self._answered(command)
            case rc.RecordWrite(ordinal=ordinal):
                self._begun.add(ordinal)
            case rc.RecordCommit(ordinal=ordinal):
                self._committed += ordinal in self._begun
            case rc.AnswerWrite(action="skip"):
                self._skipped += 1
            case rc.GiveUpHost(host=host, reason=reason):
                self._lost_hosts[host] = reason

    def _leave(self, shuffles: tuple[int, ...], reason: str) -> None:
        self._unused.update((one, reason) for one in shuffles if one in self._saved)

    def _all_not_restored(self) -> dict[str, int]:
        every = Counter(self._not_restored)
        for shuffle in self._saved.keys() - self._taken:
            why = self._unused.get(shuffle) or (_NOT_ASKED if shuffle in self._offered else self._why_unused)
            if why and self._saved[shuffle]:
                every[why] += self._saved[shuffle]
        return dict(every)

    def _admitted(self, limit: rc.ReportRecoveryLimit) -> None:
        if limit.about == "past":
            self._why_unused = limit.reason
            self._recording = self._recording and limit.recording
            return
        if limit.about:
            # Before the writes: of those there may be many.
            place = len(self._done_again) if limit.about == "writes" else 0
            self._done_again.insert(place, limit.reason)
            return
        # A later limit of one part does not hide why the recording ended.
        if not self._ended:
            self._why_not = limit.reason
        self._ended = self._ended or not limit.recording
        self._recording = self._recording and limit.recording

    def _answered(self, answer: rc.AnswerShuffle) -> None:
        declared = self._declared.pop(answer.question, None)
        if declared is None:
            return
        if not answer.record:
            self._leave_out(declared.why_not or answer.reason.rpartition(_UNRECORDED)[2])
        self._unused.update(answer.unused)
        if answer.shuffle is None:
            return
        self._taken.add(answer.shuffle)
        self._reused[answer.shuffle] = ReusedShuffle(
            shuffle=answer.shuffle, description=declared.description, maps=declared.maps
        )
        while len(self._reused) > _MOST_SHUFFLES:
            del self._reused[next(iter(self._reused))]

    def _leave_out(self, why: str) -> None:
        # Shuffles above another one have no reason of their own.
        why = why.removeprefix(_BELOW)
        known = why in self._not_recorded or len(self._not_recorded) < _MOST_REASONS
        self._not_recorded[why if known else _OTHER_REASONS] += 1

    def _apply_event(self, event: Event) -> None:
        match event:
            case rec.JournalReplayed(shuffles=shuffles):
                self._seen = True
                self._saved = {one.shuffle: one.outputs for one in shuffles}
            case rec.ShuffleDeclared(question=question):
                self._declared[question] = event
            case rec.RecordingStopped(shuffle=shuffle, why=why) if shuffle in self._recorded:
                self._recorded.discard(shuffle)
                self._leave_out(why)
            case rec.OutputsDurable(outputs=outputs):
                self._durable = outputs
            case rec.ShuffleRestored():
                self._came_back(event)
            case wr.WriteMissing():
                self._skipped -= 1  # it turned out not to be there
            case rec.OutputsReported(executor_id="", host=host, found=found, served=served) if served == found:
                self._lost_hosts.pop(host, None)  # given up for an executor there, and not needed
            case rec.LiveAdoptionBegan(executor_id=executor_id, host=host, outputs=outputs):
                self._live[executor_id] = LiveAdoption(executor_id=executor_id, host=host, outputs=outputs)
                while len(self._live) > _MOST_LIVE:
                    del self._live[next(iter(self._live))]
            case rec.LiveAdoptionEnded(executor_id=executor_id) if executor_id in self._live:
                self._live[executor_id] = LiveAdoption(
                    executor_id=executor_id, host=event.host, outputs=event.outputs, adopted=event.adopted,
                    lost=event.lost, waited_ms=event.waited_ms, why=event.why,
                )  # fmt: skip
            case rec.OutputsKept():
                known = self._kept.get(event.host) or KeptOnHost(host=event.host)
                self._kept[event.host] = msgspec.structs.replace(
                    known, outputs=event.outputs, bytes=event.bytes, dropped=known.dropped + event.dropped
                )

    def _came_back(self, event: rec.ShuffleRestored) -> None:
        self._restored += event.restored
        self._not_restored.update(event.not_restored)
        known = self._reused.get(event.shuffle)
        if known is not None:
            self._reused[event.shuffle] = msgspec.structs.replace(
                known, restored=event.restored, waited_ms=event.waited_ms
            )
