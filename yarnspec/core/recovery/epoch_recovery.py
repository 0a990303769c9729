"""Recovery in one epoch: which finished work is recorded, and which the next driver gets when this one dies.

The rules follow the batch job recovery proposal (FLIP-383). An epoch is one run of the driver. The first epoch begins
at once. Each later one waits for the journal of those before, because its driver learns at its start what is saved.
Then:

    journal replayed ──▶ is it the same program? ──▶ offer what is saved, wait for the hosts that hold it
    shuffle declared ──▶ is it one that is saved? ──▶ record it (durable), then answer: take that one over, or run
    shuffle restored ──▶ how much came back; what did not runs again, and after nothing did the driver asks once more

No answer goes out before the journal holds its content durably. If the journal cannot be written or read, or a
fault of ours turns up, the job goes on without it, and ``status`` says so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Literal

from yarnspec.core.journal.overdue import Wait, overdue_of
from yarnspec.core.lifecycle.driver import Route
from yarnspec.core.lifecycle.phases import Lifecycle
from yarnspec.core.lifecycle.restarts import attempt_of_epoch
from yarnspec.core.messages import events as ev
from yarnspec.core.messages import recoveryevents as rec
from yarnspec.core.messages.commands import EXIT_FAILED, Command
from yarnspec.core.messages.guard import Guard
from yarnspec.core.messages.recoverycommands import (
    AnswerShuffle,
    ForgetShuffle,
    OfferSaved,
    RecordProgram,
    RecordProgress,
    RecordShuffle,
    RefuseShuffles,
    ReportRecoveryLimit,
)
from yarnspec.core.messages.settings import RecoverySettings
from yarnspec.core.messages.timers import Timers
from yarnspec.core.recovery.saved_output_hosts import WINDOW_TIMER, SavedOutputHosts
from yarnspec.core.recovery.shuffles import Shuffles
from yarnspec.core.writes.write_coordinator import WriteCoordinator

REPLAY_TIMER = "journal-replay"
QUESTION_TIMER = "shuffle-question"

_UNRECORDED: dict[rec.Unrecoverable, str] = {
    "writes": "{}: yarnspec does not record that, and a driver after a crash would do it again",
    "cached": "cached data and checkpoints are not kept, the next driver computes them again ({})",
    "stream": "nothing of streams is kept, the next driver begins them again from their own checkpoints ({})",
}


class EpochRecovery:
    """Decides what is recorded and what is used again, for one epoch."""

    def __init__(
        self,
        settings: RecoverySettings,
        lifecycle: Lifecycle,
        timers: Timers,
        saved_output_hosts: SavedOutputHosts,
        *,
        lost_writes: str = "",
    ) -> None:
        self._settings = settings
        self._lifecycle = lifecycle
        self._timers = timers
        self._saved_output_hosts = saved_output_hosts
        self._shuffles = Shuffles(repeatable=settings.repeatable)
        self._began = ""
        self._replayed = False
        self._overdue = False
        self._off = "recovery is off" if not settings.enabled else ""
        self._questions: list[tuple[rec.ShuffleDeclared, int]] = []
        self._left_out: list[rec.ShuffleDeclared] = []
        self._full = False
        self._progressed = False
        self._output_recorded = False
        self._past: Literal["none", "offered", "taken"] = "none"
        self._mute = False
        self._jobs = 0
        self._guard = Guard(self._broken)
        self._told = False
        self._outputs = WriteCoordinator(lifecycle, self._progress, lost=lost_writes)

    @property
    def routes(self) -> dict[type[ev.Event], Route]:
        """The events that this part handles."""
        guarded: dict[type[ev.Event], Route] = {
            rec.ShuffleDeclared: self._declared,
            rec.ShuffleRestored: self._restored,
            rec.ShuffleForgotten: self._dropped,
            rec.MapOutputsRecorded: self._map_outputs_recorded,
            rec.OutputsReported: self._outputs_reported,
            rec.AdoptionOff: self._adoption_off,
            rec.LiveAdoptionBegan: self._saved_output_hosts.live_began,
            rec.LiveAdoptionEnded: self._saved_output_hosts.live_ended,
            rec.SavedUnreadable: self._saved_unreadable,
        }
        # No guard for writes: going on without an answer may be worse than any end.
        unguarded: dict[type[ev.Event], Route] = {
            # Work recorded by then is used again, also after a fault of ours.
            rec.RecordingStopped: self._recording_stopped,
            rec.JournalReplayed: self._replayed_too,
            rec.RecordingEnded: self._ended_too,
            rec.Unrecorded: self._unrecorded,
        }
        return {kind: partial(self._run, route) for kind, route in guarded.items()} | unguarded | self._outputs.routes

    @property
    def timers(self) -> dict[str, Callable[[int], list[Command]]]:
        """The timers that it sets."""
        return {
            REPLAY_TIMER: self._replay_overdue,
            QUESTION_TIMER: lambda now_ms: self._guard.run(self._answer_all, now_ms),
            WINDOW_TIMER: lambda _now_ms: self._guard.run(self._saved_output_hosts.window_over),
        }

    @property
    def waits(self) -> bool:
        """Whether the driver and its containers have to wait until it is known what is saved."""
        return bool(self._began)

    def begin(self, epoch: int, why: str, now_ms: int) -> list[Command]:
        """An epoch begins: its driver starts, if need be later."""
        if not self._settings.enabled:
            self._outputs.unknown("")
            if self._settings.refused and epoch > 1:
                said = f"what earlier epochs wrote is not known, and would be done again: {self._settings.refused}"
                return self._lifecycle.fail(EXIT_FAILED, said)
            return [
                *(self._admit(self._settings.off) if self._settings.off else ()),
                self._lifecycle.start_driver(why),
            ]
        if self._replayed:
            return [self._lifecycle.start_driver(why)]
        wait_ms = self._settings.replay_wait_ms
        due_ms = now_ms + wait_ms
        if epoch == 1:
            said = f"shuffles are answered when the journal is open, in {wait_ms / 1000:g} s at the latest"
            return [self._lifecycle.start_driver(why), self._timers.set(REPLAY_TIMER, due_ms, said)]
        self._began = why
        said = f"epoch {epoch} begins when the journal of those before was read, in {wait_ms / 1000:g} s at the latest"
        return [self._timers.set(REPLAY_TIMER, due_ms, said)]

    @property
    def lost_writes(self) -> str:
        """Why the journal does not have all that the program has written so far; empty when it has."""
        return self._outputs.lost

    def over(self) -> None:
        """Wait for nobody any more: the driver has died, and nothing is known yet of the next epoch."""
        self._saved_output_hosts.close()
        self._timers.cancel(REPLAY_TIMER)
        self._timers.cancel(QUESTION_TIMER)

    def driver_ready(self, first: bool, now_ms: int) -> list[Command]:
        """A SparkContext has started; only the first of a driver can be recovered, as ids begin anew with each."""
        if first:
            return self._guard.run(self._saved_output_hosts.driver_ready, now_ms)
        self._saved_output_hosts.close()
        return self._stop("the program has started another SparkContext, whose shuffles have the same numbers")

    def job_ended(self, event: ev.JobEnded, now_ms: int) -> list[Command]:
        """A job of the program has ended."""
        return self._guard.run(self._job_over, event, now_ms)

    def driver_lost(self, event: ev.DriverLost) -> list[Command]:
        """The driver has died. If somebody outside ended it, its epoch does not count as fruitless."""
        if not event.killed or not self._lifecycle.lives:
            return []
        return self._guard.run(self._progress, "somebody outside ended the driver: the program is not to blame")

    def explain_host(self, host: str) -> str:
        """A sentence about the map outputs of earlier epochs on a host; empty when there were none."""
        return self._saved_output_hosts.explain(host)

    def live_overdue(self, executor_id: str) -> list[Command]:
        """The outputs of an executor that died have waited long enough."""
        return self._guard.run(self._saved_output_hosts.live_overdue, executor_id)

    def settle(self) -> list[Command]:
        """The commands for the hosts that are waited for, as things now stand."""
        return self._guard.run(self._saved_output_hosts.look)

    def _run(self, route: Route, event: ev.Event, now_ms: int) -> list[Command]:
        if self._guard.fault and isinstance(event, rec.ShuffleDeclared):
            return [self._plain_answer(event)]
        return self._guard.run(route, event, now_ms)

    def _broken(self) -> list[Command]:
        """Go on as if there were no recovery: the driver starts and gets its answers, and nobody waits for anything."""
        self._off = self._off or f"recovery stopped for the rest of this epoch: {self._guard.fault}"
        self._mute = True
        self._saved_output_hosts.close()
        questions, self._questions = self._questions, []
        answers = [self._plain_answer(one) for one, _ in questions]
        return [*self._admit(self._off), *self._start(), *answers, *self._outputs.unknown(self._off)]

    def _plain_answer(self, declared: rec.ShuffleDeclared) -> Command:
        return AnswerShuffle(question=declared.question, shuffle=None, reason=self._off)

    # the journal

    def _replayed_too(self, event: rec.JournalReplayed, now_ms: int) -> list[Command]:
        if not self._settings.enabled or self._told:
            return []
        self._told = True
        commands = self._guard.run(self._journal_replayed, event, now_ms)
        if self._lifecycle.over:
            return commands
        problem, same = event.problem or event.writes_lost, not event.changed
        return commands + self._outputs.known(
            event.writes, event.moved_writes, event.reads, problem=problem, off=event.off, same_program=same
        )

    def _ended_too(self, event: rec.RecordingEnded, now_ms: int) -> list[Command]:
        if event.fenced:
            return self._lifecycle.abandon(
                f"{event.why}. Only the newest driver of an application may write, so yarnspec stopped driver epoch "
                f"{self._lifecycle.epoch}"
            )
        return self._guard.run(self._recording_ended, event, now_ms) + self._outputs.ended(event.why)

    def _journal_replayed(self, event: rec.JournalReplayed, now_ms: int) -> list[Command]:
        self._replayed = True
        self._timers.cancel(REPLAY_TIMER)
        fruitless = self._fruitless(event)
        if fruitless:
            self._began = ""
            return self._give_up(fruitless)
        self._jobs = event.jobs
        self._mute = bool(event.off)
        commands = self._stop(event.off) if event.off else []
        refused = self._why_unusable(event)
        # A later epoch that reads it in time may use it again.
        late = self._lifecycle.epoch > 1 and not self._began
        why = refused or ("their journal was read after the driver had started" if late else "")
        if why:
            past = f"{len(event.shuffles)} shuffles of earlier epochs" if event.shuffles else "earlier epochs"
            said = f"nothing of {past} is used again: {why}"
            commands += self._admit(said, "past")
            if refused and event.shuffles and not self._off:
                commands.append(RefuseShuffles(shuffles=tuple(one.shuffle for one in event.shuffles), reason=said))
        overdue = overdue_of(event.waits, self._settings.keep_for_ms)
        if not why:
            self._shuffles.offer(event.shuffles)
            commands += self._discard(overdue) if overdue is not None else []
        elif not refused:
            self._shuffles.too_late(event.shuffles)
        if not self._off:
            commands.append(RecordProgram(reason=f"epoch {self._lifecycle.epoch} records what it finishes"))
        if not why:
            commands += self._offer(overdue)
        left_out, self._left_out = self._left_out, []
        for one in left_out:
            commands += self._leave_out(one, "the journal was not open yet when it began")
        answers = self._answer_all(now_ms)
        return [*commands, *self._start(), *answers]

    def _discard(self, overdue: Wait) -> list[Command]:
        """Use nothing that waited too long. The journal drops it before it takes anything of this epoch."""
        old = self._shuffles.discard_before(overdue.epoch)
        if not old:
            return []
        said = overdue.told(self._lifecycle.epoch, self._settings.keep_for_ms)
        forgotten = [] if self._off else [ForgetShuffle(shuffle=one, reason=said) for one in old]
        return [*self._admit(said, "past"), *forgotten]

    def _offer(self, overdue: Wait | None) -> list[Command]:
        offered = self._shuffles.offered
        if not offered:
            return [] if overdue is None else [OfferSaved(shuffles=(), reason="nothing of earlier epochs is of use")]
        self._past = "offered"
        by_host: Counter[str] = Counter()
        for one in offered:
            by_host.update(one.by_host)
        self._saved_output_hosts.wait_for(by_host)
        said = f"{by_host.total()} map outputs of {len(offered)} shuffles are saved, on {len(by_host)} hosts"
        return [OfferSaved(shuffles=tuple(one.shuffle for one in offered), reason=said)]

    def _why_unusable(self, event: rec.JournalReplayed) -> str:
        if event.problem:
            return event.problem
        return f"the program is not the same: {', '.join(event.changed)}" if event.changed else ""

    def _fruitless(self, event: rec.JournalReplayed) -> tuple[int, ...]:
        """The epochs after which there is no use in another one; empty when there is."""
        if event.problem or event.off:
            return ()
        idle = [epoch for epoch in event.epochs if epoch > event.progress and epoch not in self._settings.taken_away]
        last = tuple(idle[-self._settings.fruitless_epochs :])
        if len(last) < self._settings.fruitless_epochs:
            return ()
        attempts = self._attempts(last)
        # All in an attempt that is over: this one, perhaps on a better host, has not tried yet.
        return () if len(attempts) == 1 and attempts != {self._attempt} else last

    def _give_up(self, fruitless: tuple[int, ...]) -> list[Command]:
        """Give up this attempt. If only its epochs were fruitless, the next attempt may fare better on another host."""
        named = " and ".join(str(epoch) for epoch in fruitless)
        said = f"epochs {named} ended without a map output or a job that was not finished before: another one would end"
        look = "; yarnspec logs says what the driver died of"
        if self._attempts(fruitless) == {self._attempt}:
            return self._lifecycle.abandon(f"{said} like them in this attempt{look}")
        return self._lifecycle.fail(EXIT_FAILED, f"{said} like them{look}")

    def _attempts(self, epochs: tuple[int, ...]) -> set[int]:
        return {attempt_of_epoch(epoch, self._settings.epochs_per_attempt) for epoch in epochs}

    @property
    def _attempt(self) -> int:
        return attempt_of_epoch(self._lifecycle.epoch, self._settings.epochs_per_attempt)

    def _replay_overdue(self, now_ms: int) -> list[Command]:
        self._overdue = True
        within = f"within {self._settings.replay_wait_ms / 1000:g} s"
        said = f"nothing of earlier epochs is used again: their journal was not read {within}"
        about: Literal["past", ""] = "past"
        if self._lifecycle.epoch == 1:
            said = f"finished work is not recorded until the journal is open, which it was not {within}"
            about = ""
        answers = self._answer_all(now_ms)
        return [*self._admit(said, about), *self._start(), *answers, *self._outputs.unknown(said)]

    def _start(self) -> list[Command]:
        began, self._began = self._began, ""
        return [self._lifecycle.start_driver(began)] if began else []

    def _recording_ended(self, event: rec.RecordingEnded, now_ms: int) -> list[Command]:
        self._mute = True
        return [*self._stop(event.why), *self._answer_all(now_ms)]

    def _stop(self, why: str) -> list[Command]:
        if self._off:
            return []
        self._off = why
        return self._admit(f"finished work is not recorded for a next driver: {why}")

    def _admit(self, said: str, about: Literal["past", ""] = "") -> list[Command]:
        return [ReportRecoveryLimit(recording=not self._off, about=about, reason=said)]

    # shuffles

    def _declared(self, event: rec.ShuffleDeclared, now_ms: int) -> list[Command]:
        self._questions.append((event, now_ms))
        # The saved outputs have to be known first. Without recovery there are none.
        if not self._settings.enabled or self._replayed or self._overdue or self._off:
            return self._answer_all(now_ms)
        if self._timers.wanted(QUESTION_TIMER):
            return []
        wait_ms = self._settings.question_wait_ms
        said = f"the driver waits for an answer about a shuffle, {wait_ms / 1000:g} s at the longest"
        return [self._timers.set(QUESTION_TIMER, now_ms + wait_ms, said)]

    def _answer_all(self, now_ms: int) -> list[Command]:
        self._timers.cancel(QUESTION_TIMER)
        commands: list[Command] = []
        for question, asked_ms in self._questions:
            commands += self._answer(question, max(0, now_ms - asked_ms))
        # Only now: after a fault in one answer they all get a plain one.
        self._questions.clear()
        return commands

    def _answer(self, declared: rec.ShuffleDeclared, waited_ms: int) -> list[Command]:
        saved, why, unused = self._shuffles.declare(declared)
        shuffle = declared.shuffle if saved is None else saved.shuffle
        unrecorded = self._why_unrecorded(declared.maps, known=saved is not None)
        recorded = declared.reusable and not unrecorded
        commands: list[Command] = []
        if recorded:
            self._shuffles.record(shuffle)
            commands.append(_record(declared, shuffle, f"the driver has declared it; {why}"))
            if saved is None:
                said = "it, or what it was computed from, runs again, and may give other rows"
                commands += [ForgetShuffle(shuffle=one, reason=said) for one in self._shuffles.supersede(declared)]
        elif declared.reusable:
            why += f"; it is not recorded: {unrecorded}"
            commands += self._leave_out(declared, unrecorded)
        if saved is not None:
            self._past = "taken"
            commands += self._outputs_progress()
        answer = AnswerShuffle(
            question=declared.question,
            shuffle=None if saved is None else saved.shuffle,
            restore=saved is not None,
            whole=saved is not None and self._shuffles.uncertain(declared),
            record=recorded,
            declared=declared.shuffle,
            waited_ms=waited_ms,
            unused=unused,
            reason=why,
        )
        return [*commands, answer]

    def _why_unrecorded(self, maps: int, *, known: bool) -> str:
        """Why no map output of a shuffle is recorded; ``known``: the journal has some of it already."""
        if self._off:
            return self._off
        if not self._replayed:
            return "the journal is not open yet"
        most = self._settings.recorded_maps
        if known or self._shuffles.recorded_maps + maps <= most:
            return ""
        return f"the journal has room for the outputs of {most:,} maps"

    def _leave_out(self, declared: rec.ShuffleDeclared, why: str) -> list[Command]:
        """Leave a shuffle unrecorded. Everything computed from it is then of no use to a later epoch."""
        if self._off:
            return []
        if not self._replayed:
            self._left_out.append(declared)
            return []
        said = f"shuffle {declared.shuffle} is not recorded: {why}"
        admitted = [] if self._full else self._admit(f"not all shuffles are recorded for a next driver: {why}")
        self._full = True
        refused = RefuseShuffles(shuffles=(declared.shuffle,), reason=said)
        return [*admitted, _record(declared, declared.shuffle, said), refused]

    def _restored(self, event: rec.ShuffleRestored, _now_ms: int) -> list[Command]:
        useless = self._shuffles.restored(event)
        if self._off:
            return []
        # A later epoch may find its outputs again, while what is computed from now on is another run.
        said = {event.shuffle: "nothing of it came back"}
        above = "nothing came back of what it was computed from"
        return [ForgetShuffle(shuffle=one, reason=said.get(one, above)) for one in useless]

    def _dropped(self, event: rec.ShuffleForgotten, _now_ms: int) -> list[Command]:
        if not self._shuffles.forget(event.shuffle) or self._off:
            return []
        return [ForgetShuffle(shuffle=event.shuffle, reason="Spark has forgotten it, and its files go")]

    def _recording_stopped(self, event: rec.RecordingStopped, _now_ms: int) -> list[Command]:
        if event.shuffle == rec.ALL_SHUFFLES:
            return self._guard.run(self._stop, event.why)
        self._shuffles.refuse(event.shuffle)
        # Also when nothing new is recorded any more: what was is there for the next driver, unless the journal says so.
        if not self._settings.enabled or (self._mute and not self._guard.fault):
            return []
        said = f"the driver tells no more of shuffle {event.shuffle}: {event.why}"
        return [RefuseShuffles(shuffles=(event.shuffle,), reason=said)]

    # what else is told

    def _map_outputs_recorded(self, _event: rec.MapOutputsRecorded, _now_ms: int) -> list[Command]:
        self._output_recorded = True
        return self._outputs_progress()

    def _outputs_progress(self) -> list[Command]:
        """Recorded work is worth another epoch, unless this one could use nothing of the work recorded before."""
        no_use = self._past == "offered" and not self._outputs.skips
        if self._progressed or not self._output_recorded or no_use:
            return []
        return self._progress("the first map output of this epoch is recorded")

    def _job_over(self, event: ev.JobEnded, _now_ms: int) -> list[Command]:
        if event.stream and not event.failure and not self._progressed:
            return self._progress(f"job {event.job} of a stream has ended: each driver epoch does something new")
        # A job that an earlier epoch has seen the end of is nothing new.
        if event.failure or event.job < self._jobs:
            return []
        self._jobs = event.job + 1
        return self._progress(f"job {event.job} has ended, which no earlier epoch had come to")

    def _progress(self, why: str) -> list[Command]:
        # Also if nothing is kept: an epoch that has done something is worth another one.
        if not self._settings.enabled or self._mute or not self._replayed:
            return []
        self._progressed = True
        return [RecordProgress(epoch=self._lifecycle.epoch, jobs=self._jobs, reason=why)]

    def _outputs_reported(self, event: rec.OutputsReported, _now_ms: int) -> list[Command]:
        if event.executor_id:
            self._saved_output_hosts.reported(event.host, event.executor_id)
        elif event.served == event.found:
            self._saved_output_hosts.served(event.host, event.found)
        return []

    def _adoption_off(self, event: rec.AdoptionOff, _now_ms: int) -> list[Command]:
        if not event.executor_id:
            return self._stop(event.why)  # no executor does, and the driver tells nothing
        return self._admit(f"executor {event.executor_id} on {event.host} keeps nothing for a next driver: {event.why}")

    def _unrecorded(self, event: rec.Unrecorded, _now_ms: int) -> list[Command]:
        said = _UNRECORDED[event.kind].format(event.why)
        return [ReportRecoveryLimit(recording=not self._off, about=event.kind, reason=said)]

    def _saved_unreadable(self, event: rec.SavedUnreadable, _now_ms: int) -> list[Command]:
        return self._admit(f"nothing of earlier epochs is used again: the driver cannot read it: {event.why}", "past")


def _record(declared: rec.ShuffleDeclared, shuffle: int, why: str) -> RecordShuffle:
    return RecordShuffle(
        shuffle=shuffle,
        signature=declared.signature,
        maps=declared.maps,
        reduces=declared.reduces,
        determinism=declared.determinism,
        description=declared.description,
        parents=declared.parents,
        reason=why,
    )
