"""One epoch of a driver whose journal has the work of earlier ones: the real core decides what it takes over of that.

An epoch is a generator. It yields wherever its driver may die, or somebody else may do something: after any command
that was obeyed, and before or after anything that the driver does. The driver does not know when it is dead, nor that
it is taken for dead. Its journal is sealed then. The driver learns of that as late as can be: when it next wants
something durable.
"""

from __future__ import annotations

import random

from yarnspec.core.journal.carriedtexts import ProgramProgress, progress_of, progress_record
from yarnspec.core.journal.journalrecords import (
    EpochBegan,
    JournalRecord,
    MapFinished,
    ShuffleDropped,
    ShuffleFacts,
    ShuffleNotReusable,
    ShuffleRegistered,
)
from yarnspec.core.journal.journalstate import Recorded
from yarnspec.core.journal.overdue import waits_of
from yarnspec.core.messages import commands as cm
from yarnspec.core.messages import events as ev
from yarnspec.core.messages import recoverycommands as rc
from yarnspec.core.messages import recoveryevents as rec
from yarnspec.core.messages.settings import RecoverySettings
from yarnspec.core.options.recovery import TASKS_PER_EPOCH
from yarnspec.core.recovery.savedwork import Taken, saved_shuffles
from yarnspec.simulate.restarts.masters import SimulatedMaster
from yarnspec.simulate.restarts.resumption_plan import Disk, Output, ResumptionPlan, ShufflePlan, Steps
from yarnspec.simulate.restarts.simulated_journal import SimulatedJournal
from yarnspec.simulate.world.rules import BrokenRule

_IDS = 1_000_000
_MORE = 6
"""So many times as often an output is lost right after a job."""
_KEEP_FOR_MS = RecoverySettings().keep_for_ms


class _OverError(Exception):
    """The negotiator does not let the driver go on."""


class SimulatedEpoch:
    """Spark as far as shuffles go, what becomes of the negotiator's commands, and the journal.

    ``records``: how many it has made. ``fenced``: it was told that a later epoch has begun, and has ended.
    """

    def __init__(self, plan: ResumptionPlan, master: SimulatedMaster, disk: Disk, rng: random.Random) -> None:
        self._plan = plan
        self._epoch = epoch = master.epoch
        self._disk = disk
        self._rng = rng
        self._core = master.negotiator
        self._now_ms = 1_000_000 * epoch
        self._past = Recorded()
        for record in disk.records:
            self._past.apply(record)
        self._taken = Taken()
        self._taken.past(self._past)
        self._questions = 0
        self._answers: dict[int, rc.AnswerShuffle] = {}
        self._offered: frozenset[int] = frozenset()
        self._started = False
        self._ids: dict[int, int] = {}
        self._recorded: set[int] = set()
        self._stopped: set[int] = set()
        self._abandoned = False
        self._there: dict[int, dict[int, Output]] = {}
        self._lost: set[tuple[int, int]] = set()
        self._bounds: dict[int, int] = {}
        self._next_map = epoch * TASKS_PER_EPOCH
        self.master = master
        self.journal = SimulatedJournal(disk)
        self._began = self._first_record()
        epochs = [*self._past.epochs.values(), self._began]
        self._overdue = max((one.epoch for one in epochs if _is_late(one)), default=0)
        self.late = self._overdue == epoch
        self.ran = 0
        self.restored = 0
        self.records = 0
        self.fenced = False
        self.saved = sum(len(one.outputs) for one in self._past.shuffles.values())

    def run(self) -> Steps[None]:
        """From the start of the negotiator to the end of the program, or until it is refused something."""
        try:
            yield from self._begin()
            yield from self._run_program()
        except _OverError:
            self.fenced = True

    def _begin(self) -> Steps[None]:
        yield from self.master.begin(self._tell)
        self._write(self._began, durable=True)
        yield from self._flush()
        replayed = rec.JournalReplayed(
            shuffles=saved_shuffles(self._past),
            epochs=tuple(epoch for epoch in sorted(self._past.epochs) if epoch < self._epoch),
            waits=waits_of([*self._past.epochs.values(), self._began]),
            progress=progress_of(self._past).epoch,
        )
        yield from self._tell(replayed)
        if not self._started:
            raise BrokenRule(f"seed {self._plan.seed}: the driver of epoch {self._epoch} was not started")
        yield from self._step()
        yield from self._tell(ev.DriverReady(driver_url="spark://CoarseGrainedScheduler@h:1"))

    def _first_record(self) -> EpochBegan:
        late = self._plan.late > 0 and self._rng.random() < self._plan.late
        ended_ms = self._now_ms - _KEEP_FOR_MS - late if self._past.epochs else 0
        return EpochBegan(
            epoch=self._epoch,
            attempt=self.master.attempt,
            host="h",
            time_ms=self._now_ms,
            previous_ended_ms=ended_ms,
        )

    # the program

    def _run_program(self) -> Steps[None]:
        for shuffle in self._plan.shuffles:
            yield from self._declare(shuffle)
            if self._plan.jobs and self._rng.random() < self._plan.jobs:
                yield from self._compute(shuffle.number)
                if self._rng.random() < self._plan.output_loss * _MORE:
                    yield from self._lose_one()
                    yield from self._compute(shuffle.number)
        while not all(self._complete(one.number) for one in self._plan.shuffles):
            for shuffle in self._plan.shuffles:
                yield from self._compute(shuffle.number)
        self._check()

    def _declare(self, plan: ShufflePlan) -> Steps[None]:
        yield from self._take_over(plan)
        missed = self._certain(plan) - self._there[self._ids[plan.number]].keys()
        if missed:
            raise BrokenRule(f"seed {self._plan.seed}: maps {missed} of shuffle {plan.number} are there and run again")

    def _certain(self, plan: ShufflePlan) -> set[int]:
        """The maps whose outputs are saved and still there, and which nothing speaks against."""
        below = self._below(plan.number)
        signatures = {f"s{number}" for number in below}
        saved = [one for one in self._past.shuffles.values() if one.registered.signature in signatures]
        plans = [self._plan.shuffles[number] for number in below]
        stopped = any(self._ids[number] in self._stopped for number in below)
        if stopped or any(one.determinism != "determinate" or one.bounded for one in plans):
            return set()
        if any(one.not_reusable for one in saved):
            return set()
        same = [one for one in saved if one.outputs and one.registered.signature == f"s{plan.number}"]
        if len(same) != 1:
            return set()
        shuffle, there = same[0].registered.shuffle, self._disk.outputs
        outputs = same[0].outputs.items()
        return {index for index, one in outputs if one.epoch >= self._overdue and (shuffle, one.map_id) in there}

    def _take_over(self, plan: ShufflePlan) -> Steps[None]:
        fresh = self._epoch * _IDS + plan.number
        answer = yield from self._ask(plan, fresh)
        while answer.restore and answer.shuffle is not None:
            if (yield from self._restore(plan, answer.shuffle, whole=answer.whole)):
                self._goes_on(plan, answer.shuffle, record=answer.record)
                return
            answer = yield from self._ask(plan, fresh)
        self._there[fresh] = {}
        self._goes_on(plan, fresh, record=answer.record)

    def _goes_on(self, plan: ShufflePlan, shuffle: int, *, record: bool) -> None:
        self._ids[plan.number] = shuffle
        if record:
            self._recorded.add(shuffle)
        if not plan.bounded:
            return
        saved = self._past.shuffles.get(shuffle)
        self._bounds[plan.number] = int(saved.facts or b"") if saved is not None else self._rng.getrandbits(30)
        if saved is None and record and self._taken.recorded(shuffle):
            self._write(ShuffleFacts(shuffle=shuffle, blob=b"%d" % self._bounds[plan.number]), durable=False)

    def _ask(self, plan: ShufflePlan, fresh: int) -> Steps[rc.AnswerShuffle]:
        yield from self._step()
        self._questions += 1
        question = self._questions
        yield from self._tell(
            rec.ShuffleDeclared(
                question=question,
                shuffle=fresh,
                signature=f"s{plan.number}",
                maps=plan.maps,
                reduces=3,
                determinism=plan.determinism,
                parents=tuple(self._ids[parent] for parent in plan.parents),
            )
        )
        yield from self._step()
        return self._answers[question]

    def _restore(self, plan: ShufflePlan, shuffle: int, *, whole: bool) -> Steps[bool]:
        """Take what is there of a saved shuffle; False when that is nothing."""
        if shuffle not in self._offered:
            raise BrokenRule(f"seed {self._plan.seed}: shuffle {shuffle} was never offered")
        saved = self._past.shuffles[shuffle].outputs
        found = {
            index: self._disk.outputs[shuffle, one.map_id]
            for index, one in saved.items()
            if (shuffle, one.map_id) in self._disk.outputs
        }
        ran_again = any(self._ran_again(parent, min(one.map_id for one in saved.values())) for parent in plan.parents)
        if (
            ran_again
            or (whole and len(found) < plan.maps)
            or (plan.bounded and self._past.shuffles[shuffle].facts is None)
        ):
            found = {}
        if any(one.epoch < self._overdue for one in saved.values()):
            raise BrokenRule(f"seed {self._plan.seed}: shuffle {shuffle} had waited too long for epoch {self._overdue}")
        self._there[shuffle] = found
        self.restored += len(found)
        yield from self._tell(
            rec.ShuffleRestored(
                shuffle=shuffle,
                wanted=len(saved),
                restored=len(found),
                waited_ms=1,
                by_host={},
                not_restored={},
            )
        )
        return bool(found)

    def _ran_again(self, number: int, before: int) -> bool:
        """Whether another run of its maps may give other rows, and not all that there is ran before that map."""
        if all(self._plan.shuffles[each].determinism == "determinate" for each in self._below(number)):
            return False
        there = self._there[self._ids[number]]
        return not self._complete(number) or any(one.map_id >= before for one in there.values())

    def _complete(self, number: int) -> bool:
        return len(self._there[self._ids[number]]) == self._plan.shuffles[number].maps

    def _compute(self, number: int) -> Steps[None]:
        """Have all outputs of a shuffle; what is there is not computed again."""
        plan = self._plan.shuffles[number]
        while not self._complete(number):
            # While one is computed outputs of another may get lost.
            while not all(map(self._complete, plan.parents)):
                for parent in plan.parents:
                    yield from self._compute(parent)
            there = self._there[self._ids[number]]
            index = self._rng.choice([index for index in range(plan.maps) if index not in there])
            yield from self._finish(plan, index)
            if self._rng.random() < self._plan.output_loss:
                yield from self._lose_one()

    def _finish(self, plan: ShufflePlan, index: int) -> Steps[None]:
        yield from self._step()
        shuffle = self._ids[plan.number]
        output = Output(self._next_map, self._rng.choice(self._plan.hosts), self._contents(plan, index, self._next_map))
        self._next_map += 1
        self._there[shuffle][index] = output
        self._disk.outputs[shuffle, output.map_id] = output
        self.ran += 1
        if (shuffle, index) in self._lost and plan.determinism != "determinate":
            # Spark sees that its checksum is another one, and makes again what was computed from it.
            for each in self._above(plan.number) - {plan.number}:
                if each in self._ids:
                    self._there[self._ids[each]] = {}
        if self._rng.random() < self._plan.recording_stops:
            yield from self._stop_recording(plan.number, "the queue was full")
        yield from self._record(shuffle, index, output)
        yield from self._step()

    def _contents(self, plan: ShufflePlan, index: int, map_id: int) -> int:
        run = 0 if plan.determinism == "determinate" else map_id
        read = tuple(
            tuple(self._content_of(self._plan.shuffles[parent], one) for one in range(self._plan.shuffles[parent].maps))
            for parent in plan.parents
        )
        return hash((plan.number, index, run, self._bounds.get(plan.number, 0), read))

    def _content_of(self, plan: ShufflePlan, index: int) -> int:
        """The rows that an output holds, or would hold if somebody needed it."""
        output = self._there[self._ids[plan.number]].get(index)
        if output is not None:
            return output.contents
        if plan.determinism != "determinate":
            raise BrokenRule(f"seed {self._plan.seed}: map {index} of shuffle {plan.number} was used and is gone")
        return self._contents(plan, index, 0)

    def _lose_one(self) -> Steps[None]:
        """An output of some shuffle is lost while the driver lives."""
        plan = self._rng.choice([one for one in self._plan.shuffles if one.number in self._ids])
        there = self._there.get(self._ids[plan.number], {})
        if not there:
            return
        index = self._rng.choice(sorted(there))
        self._disk.outputs.pop((self._ids[plan.number], there[index].map_id), None)
        if plan.determinism != "indeterminate":
            self._lost.add((self._ids[plan.number], index))
            del there[index]
            return
        # Spark makes all of it again, and all that was computed from it; whose records nobody can use any more.
        for each in sorted(self._above(plan.number) & self._ids.keys()):
            self._there[self._ids[each]] = {}
            yield from self._stop_recording(each, "an output was lost, and its records are others each time")

    def _above(self, number: int) -> set[int]:
        found = {number}
        for plan in self._plan.shuffles:
            if found & set(plan.parents):
                found.add(plan.number)
        return found

    def _below(self, number: int) -> set[int]:
        return {number}.union(*(self._below(parent) for parent in self._plan.shuffles[number].parents))

    def _stop_recording(self, number: int, why: str) -> Steps[None]:
        shuffle = self._ids[number]
        if shuffle not in self._stopped:
            self._stopped.add(shuffle)
            yield from self._tell(rec.RecordingStopped(shuffle=shuffle, why=why))

    def _check(self) -> None:
        """Whether every output is what it would be, were it computed now from what it was computed from."""
        for plan in self._plan.shuffles:
            for index, output in self._there[self._ids[plan.number]].items():
                if output.contents != self._contents(plan, index, output.map_id):
                    message = f"seed {self._plan.seed}: map {index} of shuffle {plan.number} is of something else"
                    raise BrokenRule(message)

    def _step(self) -> Steps[None]:
        self.master.hear_late()
        yield

    # the negotiator and the journal

    def _tell(self, event: ev.Event, at_ms: int | None = None) -> Steps[list[cm.Command]]:
        self._now_ms = max(self._now_ms + 1, at_ms or 0)
        answer = self._core.handle(event, self._now_ms)
        for command in answer:
            yield from self._obey(command)
            if not self.master.dies_alone:
                yield from self._step()
        return answer

    def _obey(self, command: cm.Command) -> Steps[None]:
        match command:
            case cm.StartDriver(epoch=epoch):
                if self._started or epoch != self._epoch:
                    raise BrokenRule(f"seed {self._plan.seed}: a driver of epoch {epoch} was started in {self._epoch}")
                self._started = True
            case cm.AbandonAttempt():
                self._abandoned = True
            case rc.OfferSaved(shuffles=shuffles):
                if self._started:
                    raise BrokenRule(f"seed {self._plan.seed}: what is saved was offered after the driver's start")
                self._offered = frozenset(shuffles)
            case rc.RecordShuffle():
                registered = ShuffleRegistered(
                    shuffle=command.shuffle,
                    signature=command.signature,
                    maps=command.maps,
                    reduces=command.reduces,
                    determinism=command.determinism,
                    parents=command.parents,
                )
                self._write(registered, durable=True)
                self._taken.begin(registered)
            case rc.RefuseShuffles(shuffles=refused):
                for shuffle in refused:
                    self._taken.end(shuffle)
                    self._write(ShuffleNotReusable(shuffle=shuffle, why=command.reason), durable=True)
            case rc.ForgetShuffle(shuffle=shuffle):
                self._taken.end(shuffle)
                self._write(ShuffleDropped(shuffle=shuffle), durable=False)
            case rc.RecordProgress(epoch=epoch, jobs=jobs):
                self._write(progress_record(ProgramProgress(epoch, jobs)), durable=False)
            case rc.AnswerShuffle(question=question):
                yield from self._flush()
                if self.journal.sealed and command.record:
                    raise BrokenRule(f"seed {self._plan.seed}: epoch {self._epoch} was answered after its end")
                self._answers[question] = command

    def _write(self, record: JournalRecord, *, durable: bool) -> None:
        self.records += 1
        self.journal.write(record, durable=durable)

    def _flush(self) -> Steps[None]:
        """Wait until all is on disk that was to be durable."""
        if self.journal.flush():
            return
        yield from self._tell(rec.RecordingEnded(why="a later driver epoch has begun", fenced=True))
        if not self._abandoned:
            raise BrokenRule(f"seed {self._plan.seed}: epoch {self._epoch} goes on beside the next one")
        raise _OverError

    def _record(self, shuffle: int, index: int, output: Output) -> Steps[None]:
        if shuffle not in self._recorded or shuffle in self._stopped or not self._taken.recorded(shuffle):
            return
        finished = MapFinished(
            shuffle=shuffle,
            index=index,
            map_id=output.map_id,
            stage=-1,
            executor_id="1",
            host=output.host,
            epoch=self._epoch,
            size_bytes=1,
            blob=b"",
        )
        if self._taken.runs_again(finished):
            yield from self._tell(rec.RecordingStopped(shuffle=shuffle, why="a map of it ran again"))
            return
        self._write(finished, durable=False)
        yield from self._tell(rec.MapOutputsRecorded())


def _is_late(began: EpochBegan) -> bool:
    return began.previous_ended_ms > 0 and began.time_ms - began.previous_ended_ms > _KEEP_FOR_MS
