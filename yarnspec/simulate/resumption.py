"""Lives of a driver that dies again and again, in which the real core decides what each life takes over from the last.

A program is a list of shuffles, each computed from earlier ones. What a map gives is a number that follows from its
inputs, and unless the shuffle is determinate from which run of it gave it. At the end every output must fit those that
it was computed from: a mixture of two runs of something that varies is a wrong result.

A crash comes after any command that was obeyed and before or after anything that the driver does, and cuts the journal
somewhere behind the last record that was told to be durable. Hosts come and go between lives. A driver may also live on
after its journal was sealed, with its negotiator: what it does then has no effect, and when it wants something durable
it hears that it is over. One that dies alone has its next life under the same negotiator, to which it goes on to speak.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from yarnspec.core import commands as cm
from yarnspec.core import events as ev
from yarnspec.core import recoveryevents as rec
from yarnspec.core.journalrecords import (
    EpochBegan,
    JournalRecord,
    MapFinished,
    ShuffleDropped,
    ShuffleFacts,
    ShuffleNotReusable,
    ShuffleRegistered,
)
from yarnspec.core.journalstate import Recorded
from yarnspec.core.negotiator import Negotiator
from yarnspec.core.overdue import waits_of
from yarnspec.core.savedwork import Progress, Taken, progress_of, progress_record, saved_shuffles
from yarnspec.core.settings import RecoverySettings, Settings
from yarnspec.simulate.lives import Crash, Disk, Output, Plan, Result, ShufflePlan
from yarnspec.simulate.masters import Masters
from yarnspec.simulate.rules import BrokenRule

_IDS = 1_000_000
_TASKS = 100_000_000
_KEEP_FOR_MS = RecoverySettings().keep_for_ms


class CrashedError(Exception):
    """The driver has died."""


def resume(
    seed: int,
    core: Callable[[Settings], Negotiator] = Negotiator,
    crash: Crash | None = None,
    disk: Disk | None = None,
) -> Result:
    """Run the plan of a seed to the end of its program. Raises BrokenRule when its result would be wrong.

    ``crash``: the only one, in place of those of the plan. ``disk``: is given what is left at the end.
    """
    plan = Plan.draw(seed)
    if crash is not None:
        plan = crash.of(plan)
    rng = random.Random(seed + (1 << 33))
    disk = Disk() if disk is None else disk
    result = Result(ideal=sum(one.maps for one in plan.shuffles))
    masters = Masters(plan, rng, core)
    for number in range(1, plan.crashes + 2):
        result.epochs = number
        last = number == plan.crashes + 1
        life = Life(plan, masters, disk, rng, None if last else crash or _draw(plan, rng, alone=masters.dies_alone))
        try:
            life.run()
        except CrashedError:
            pass
        else:
            # One that did not know that it was over does not count.
            last = not life.sealed
        finally:
            result.ran += life.ran
            result.restored += life.restored
            result.refused += life.refused
            result.late += life.late
            if number > 1:
                result.durable.append(life.saved)
        life.die()
        if last:
            result.in_place, result.attempts, result.refused_late = masters.in_place, masters.attempt, masters.late
            return result
        masters.next_life()
        disk.suffer(plan, rng)
    raise AssertionError("the last life ends by itself")


def _draw(plan: Plan, rng: random.Random, *, alone: bool) -> Crash:
    """A crash anywhere in a life, also before it has done anything."""
    of_driver = 2 * (len(plan.shuffles) + sum(one.maps for one in plan.shuffles))
    if alone:
        return Crash(rng.randint(0, of_driver), "driver")
    return Crash(rng.randint(0, of_driver * 3 // 2 + 8), "master", lives_on=rng.choice((0, 0, 10)))


class Life:
    """One life of the driver: Spark as far as shuffles go, the journal's writer, and its negotiator."""

    def __init__(self, plan: Plan, masters: Masters, disk: Disk, rng: random.Random, crash: Crash | None) -> None:
        self._plan = plan
        self._masters = masters
        self._epoch = epoch = masters.epoch
        self._disk = disk
        self._rng = rng
        self._crash = crash
        self._steps = 0
        self._core = masters.negotiator
        self._now_ms = 1_000_000 * epoch
        self._past = Recorded()
        for record in disk.records:
            self._past.apply(record)
        self._written: list[JournalRecord] = []
        self._durable = 0
        self._to_be_durable = 0
        self._taken = Taken()
        self._taken.past(self._past)
        self._questions = 0
        self._answers: dict[int, cm.AnswerShuffle] = {}
        self._offered: frozenset[int] = frozenset()
        self._started = False
        self._ids: dict[int, int] = {}
        self._recorded: set[int] = set()
        self._stopped: set[int] = set()
        self._sealed = False
        self._abandoned = False
        self._there: dict[int, dict[int, Output]] = {}
        self._lost: set[tuple[int, int]] = set()
        self._bounds: dict[int, int] = {}
        self._next_map = epoch * _TASKS
        self._began = self._first_record()
        epochs = [*self._past.epochs.values(), self._began]
        self._overdue = max((one.epoch for one in epochs if _is_late(one)), default=0)
        self.late = self._overdue == epoch
        self.ran = 0
        self.restored = 0
        self.refused = 0
        self.saved = sum(len(one.outputs) for one in self._past.shuffles.values())

    def run(self) -> None:
        """From the start of the negotiator to the end of the program. Raises CrashedError."""
        self._masters.begin(self._tell)
        self._write(self._began, durable=True)
        self._flush()
        self._tell(
            rec.JournalReplayed(
                shuffles=saved_shuffles(self._past),
                epochs=tuple(epoch for epoch in sorted(self._past.epochs) if epoch < self._epoch),
                waits=waits_of([*self._past.epochs.values(), self._began]),
                progress=progress_of(self._past).epoch,
            )
        )
        if not self._started:
            raise BrokenRule(f"seed {self._plan.seed}: the driver of epoch {self._epoch} was not started")
        self._step()
        self._tell(ev.DriverReady(driver_url="spark://CoarseGrainedScheduler@h:1"))
        for shuffle in self._plan.shuffles:
            self._declare(shuffle)
        while not all(self._complete(one.number) for one in self._plan.shuffles):
            for shuffle in self._plan.shuffles:
                self._compute(shuffle.number)
        self._check()

    @property
    def sealed(self) -> bool:
        """Whether a later life may have begun."""
        return self._sealed

    def die(self) -> None:
        """Keep what was durable, and as much of the rest as chance will have."""
        if not self._sealed:
            self._sealed = True
            kept = self._rng.randint(self._durable, len(self._written))
            self._disk.records += self._written[:kept]

    def _first_record(self) -> EpochBegan:
        late = self._plan.late > 0 and self._rng.random() < self._plan.late
        ended_ms = self._now_ms - _KEEP_FOR_MS - late if self._past.epochs else 0
        return EpochBegan(
            epoch=self._epoch,
            attempt=self._masters.attempt,
            host="h",
            time_ms=self._now_ms,
            previous_ended_ms=ended_ms,
        )

    # the program

    def _declare(self, plan: ShufflePlan) -> None:
        self._take_over(plan)
        missed = self._certain(plan) - self._there[self._ids[plan.number]].keys()
        if missed:
            raise BrokenRule(f"seed {self._plan.seed}: maps {missed} of shuffle {plan.number} are there and run again")

    def _certain(self, plan: ShufflePlan) -> set[int]:
        """The maps whose outputs are saved and still there, and which nothing speaks against."""
        below = self._below(plan.number)
        signatures = {f"s{number}" for number in below}
        saved = [one for one in self._past.shuffles.values() if one.registered.signature in signatures]
        plans = [self._plan.shuffles[number] for number in below]
        if any(one.determinism != "determinate" or one.bounded for one in plans) or any(
            one.not_reusable for one in saved
        ):
            return set()
        same = [one for one in saved if one.outputs and one.registered.signature == f"s{plan.number}"]
        if len(same) != 1:
            return set()
        shuffle, there = same[0].registered.shuffle, self._disk.outputs
        outputs = same[0].outputs.items()
        return {index for index, one in outputs if one.epoch >= self._overdue and (shuffle, one.map_id) in there}

    def _take_over(self, plan: ShufflePlan) -> None:
        fresh = self._epoch * _IDS + plan.number
        answer = self._ask(plan, fresh)
        while answer.restore and answer.shuffle is not None:
            if self._restore(plan, answer.shuffle, whole=answer.whole):
                self._begin(plan, answer.shuffle, record=answer.record)
                return
            answer = self._ask(plan, fresh)
        self._there[fresh] = {}
        self._begin(plan, fresh, record=answer.record)

    def _begin(self, plan: ShufflePlan, shuffle: int, *, record: bool) -> None:
        self._ids[plan.number] = shuffle
        if record:
            self._recorded.add(shuffle)
        if not plan.bounded:
            return
        saved = self._past.shuffles.get(shuffle)
        self._bounds[plan.number] = int(saved.facts or b"") if saved is not None else self._rng.getrandbits(30)
        if saved is None and record and self._taken.recorded(shuffle):
            self._write(ShuffleFacts(shuffle=shuffle, blob=b"%d" % self._bounds[plan.number]), durable=False)

    def _ask(self, plan: ShufflePlan, fresh: int) -> cm.AnswerShuffle:
        self._step()
        self._questions += 1
        question = self._questions
        self._tell(
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
        self._step()
        return self._answers[question]

    def _restore(self, plan: ShufflePlan, shuffle: int, *, whole: bool) -> bool:
        """Take what is there of a saved shuffle; False when that is nothing."""
        if shuffle not in self._offered:
            raise BrokenRule(f"seed {self._plan.seed}: shuffle {shuffle} was never offered")
        saved = self._past.shuffles[shuffle].outputs
        found = {
            index: self._disk.outputs[shuffle, one.map_id]
            for index, one in saved.items()
            if (shuffle, one.map_id) in self._disk.outputs
        }
        if (whole and len(found) < plan.maps) or (plan.bounded and self._past.shuffles[shuffle].facts is None):
            found = {}
        if any(one.epoch < self._overdue for one in saved.values()):
            raise BrokenRule(f"seed {self._plan.seed}: shuffle {shuffle} had waited too long for epoch {self._overdue}")
        self._there[shuffle] = found
        self.restored += len(found)
        self._tell(
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

    def _complete(self, number: int) -> bool:
        return len(self._there[self._ids[number]]) == self._plan.shuffles[number].maps

    def _compute(self, number: int) -> None:
        """Have all outputs of a shuffle; what is there is not computed again."""
        plan = self._plan.shuffles[number]
        while not self._complete(number):
            # While one is computed outputs of another may get lost.
            while not all(map(self._complete, plan.parents)):
                for parent in plan.parents:
                    self._compute(parent)
            there = self._there[self._ids[number]]
            index = self._rng.choice([index for index in range(plan.maps) if index not in there])
            self._finish(plan, index)
            if self._rng.random() < self._plan.output_loss:
                self._lose_one()

    def _finish(self, plan: ShufflePlan, index: int) -> None:
        self._step()
        shuffle = self._ids[plan.number]
        output = Output(self._next_map, self._rng.choice(self._plan.hosts), self._contents(plan, index, self._next_map))
        self._next_map += 1
        self._there[shuffle][index] = output
        self._disk.outputs[shuffle, output.map_id] = output
        self.ran += 1
        if (shuffle, index) in self._lost and plan.determinism != "determinate":
            # Spark sees that its checksum is another one, and makes again what was computed from it.
            for each in self._above(plan.number) - {plan.number}:
                self._there[self._ids[each]] = {}
        if self._rng.random() < self._plan.recording_stops:
            self._stop_recording(plan.number, "the queue was full")
        self._record(shuffle, index, output)
        self._step()

    def _contents(self, plan: ShufflePlan, index: int, map_id: int) -> int:
        run = 0 if plan.determinism == "determinate" else map_id
        read = tuple(
            tuple(self._content_of(self._plan.shuffles[parent], one) for one in range(self._plan.shuffles[parent].maps))
            for parent in plan.parents
        )
        return hash((plan.number, index, run, self._bounds.get(plan.number, 0), read))

    def _content_of(self, plan: ShufflePlan, index: int) -> int:
        """What an output holds, or would if somebody needed it."""
        output = self._there[self._ids[plan.number]].get(index)
        if output is not None:
            return output.contents
        if plan.determinism != "determinate":
            raise BrokenRule(f"seed {self._plan.seed}: map {index} of shuffle {plan.number} was used and is gone")
        return self._contents(plan, index, 0)

    def _lose_one(self) -> None:
        """An output of some shuffle is lost while the driver lives."""
        plan = self._rng.choice(self._plan.shuffles)
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
        for each in self._above(plan.number):
            self._there[self._ids[each]] = {}
            self._stop_recording(each, "an output was lost, and its records are others each time")

    def _above(self, number: int) -> set[int]:
        found = {number}
        for plan in self._plan.shuffles:
            if found & set(plan.parents):
                found.add(plan.number)
        return found

    def _below(self, number: int) -> set[int]:
        return {number}.union(*(self._below(parent) for parent in self._plan.shuffles[number].parents))

    def _stop_recording(self, number: int, why: str) -> None:
        shuffle = self._ids[number]
        if shuffle not in self._stopped:
            self._stopped.add(shuffle)
            self._tell(rec.RecordingStopped(shuffle=shuffle, why=why))

    def _check(self) -> None:
        """Whether every output is what it would be, were it computed now from what it was computed from."""
        for plan in self._plan.shuffles:
            for index, output in self._there[self._ids[plan.number]].items():
                if output.contents != self._contents(plan, index, output.map_id):
                    message = f"seed {self._plan.seed}: map {index} of shuffle {plan.number} is of something else"
                    raise BrokenRule(message)

    def _step(self) -> None:
        self._masters.hear_late()
        if self._crash is None:
            return
        self._steps += 1
        if self._steps > self._crash.step:
            self.die()
        if self._steps > self._crash.step + self._crash.lives_on:
            raise CrashedError

    # the negotiator and the journal

    def _tell(self, event: ev.Event, at_ms: int | None = None) -> list[cm.Command]:
        self._now_ms = max(self._now_ms + 1, at_ms or 0)
        answer = self._core.handle(event, self._now_ms)
        for command in answer:
            self._obey(command)
            if not self._masters.dies_alone:
                self._step()
        return answer

    def _obey(self, command: cm.Command) -> None:
        match command:
            case cm.StartDriver(epoch=epoch):
                if self._started or epoch != self._epoch:
                    raise BrokenRule(f"seed {self._plan.seed}: a driver of epoch {epoch} was started in {self._epoch}")
                self._started = True
            case cm.AbandonAttempt():
                self._abandoned = True
            case cm.OfferSaved(shuffles=shuffles):
                if self._started:
                    raise BrokenRule(f"seed {self._plan.seed}: what is saved was offered after the driver's start")
                self._offered = frozenset(shuffles)
            case cm.RecordShuffle():
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
            case cm.RefuseShuffles(shuffles=refused):
                for shuffle in refused:
                    self._taken.end(shuffle)
                    self._write(ShuffleNotReusable(shuffle=shuffle, why=command.reason), durable=True)
            case cm.ForgetShuffle(shuffle=shuffle):
                self._taken.end(shuffle)
                self._write(ShuffleDropped(shuffle=shuffle), durable=False)
            case cm.RecordProgress(epoch=epoch, jobs=jobs):
                self._write(progress_record(Progress(epoch, jobs)), durable=False)
            case cm.AnswerShuffle(question=question):
                self._flush()
                self._answers[question] = command

    def _write(self, record: JournalRecord, *, durable: bool) -> None:
        self._written.append(record)
        if durable:
            self._to_be_durable = len(self._written)

    def _flush(self) -> None:
        """Wait until all is on disk that was to be durable."""
        if self._sealed and self._to_be_durable > self._durable:
            self.refused += 1
            self._tell(rec.RecordingEnded(why="a later epoch has begun", fenced=True))
            if not self._abandoned:
                raise BrokenRule(f"seed {self._plan.seed}: epoch {self._epoch} goes on beside the next one")
            raise CrashedError
        self._durable = self._to_be_durable

    def _record(self, shuffle: int, index: int, output: Output) -> None:
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
            self._tell(rec.RecordingStopped(shuffle=shuffle, why="a map of it ran again"))
            return
        self._write(finished, durable=False)
        self._tell(rec.MapOutputsRecorded())


def _is_late(began: EpochBegan) -> bool:
    return began.previous_ended_ms > 0 and began.time_ms - began.previous_ended_ms > _KEEP_FOR_MS
