"""One run: the real negotiator between a simulated cluster and a simulated Spark, from its start to its end."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from yarnspec.core.copies.speculationview import SpeculationView
from yarnspec.core.messages import events as ev
from yarnspec.core.messages import recoveryevents as rec
from yarnspec.core.messages.commands import (
    AbandonAttempt,
    AskHeldBlocks,
    Command,
    FinishApplication,
    KillAttempt,
    LaunchCopy,
    ReleaseContainer,
    RemoveExecutor,
    RequestContainers,
    SetTimer,
    StartDriver,
    UpdatePlacement,
    UpdateTaskBlocks,
    WithdrawCopy,
)
from yarnspec.core.messages.recoverycommands import GiveUpHost
from yarnspec.core.messages.settings import Settings
from yarnspec.core.negotiator import Negotiator
from yarnspec.simulate.world.clock import START_MS, Clock
from yarnspec.simulate.world.cluster import SimulatedCluster
from yarnspec.simulate.world.rules import Rules
from yarnspec.simulate.world.scenario import Scenario
from yarnspec.simulate.world.spark import Spark
from yarnspec.simulate.world.trace import Trace

_JOBS_END_WITHIN_MS = 3_600_000
_IDLE_MS, _IDLE_FOR_MS = 2_000, 3_600_000
"""How often Spark looks for idle executors that are too many, and for how long."""
_REST_MS = 4 * 3_600_000
"""Longer than any block that ends."""


class Core(Protocol):
    """The part that is driven: the negotiator, or one in disguise."""

    def handle(self, event: ev.Event, now_ms: int) -> list[Command]:
        """Take an event and answer with commands."""

    def speculation_view(self, now_ms: int) -> SpeculationView:
        """The state of copies now."""


@dataclass(frozen=True)
class RunResult:
    """The outcome of a run. ``took_ms`` is virtual time until the last job ended."""

    seed: int
    digest: str
    took_ms: int
    events: int
    commands: int
    tasks: int
    copies: int
    copies_won: int
    gained_ms: int
    wasted_ms: int
    cancelled: bool
    taken_over: int


def run(seed: int, core: Callable[[Settings], Core] = Negotiator) -> RunResult:
    """Run the scenario of a seed. Raises BrokenRule when something happens that must not."""
    return Run(Scenario.draw(seed), core).to_the_end()


class Run:
    """Hands events to the core, and what it answers to Spark and the cluster a moment later."""

    def __init__(self, scenario: Scenario, core: Callable[[Settings], Core] = Negotiator) -> None:
        self._scenario = scenario
        self._core = core(scenario.settings)
        self._clock = Clock()
        self._trace = Trace()
        self._rules = Rules(scenario)
        # Another stream than the one that the scenario was drawn from.
        rng = random.Random(scenario.seed + (1 << 32))
        self._spark = Spark(
            scenario, clock=self._clock, rng=rng, rules=self._rules, tell=self._tell, over=self._jobs_over
        )
        self._cluster = SimulatedCluster(
            scenario, clock=self._clock, rng=rng, rules=self._rules, spark=self._spark, tell=self._tell
        )
        self._timers: dict[str, int] = {}
        self._ended_ms: int | None = None
        self._wanted = scenario.settings.initial_executors
        self._finished: Command | None = None

    def to_the_end(self) -> RunResult:
        """Run until the program has ended, and look whether everything is as it must be."""
        self._begin()
        while self._ended_ms is None and self._clock.step(START_MS + _JOBS_END_WITHIN_MS):
            if self._finished is not None:
                self._rules.broken(f"the application ended before its jobs: {self._finished}")
        if self._ended_ms is None:
            self._rules.broken("the jobs have not ended")
        until_ms = self._clock.now_ms + _REST_MS
        while self._clock.step(until_ms):
            pass
        self._check_tasks()
        if self._spark.waits:
            self._rules.broken("the outputs of executors that died wait for ever")
        ledger = self._core.speculation_view(self._clock.now_ms).ledger
        self._rules.at_rest(self._cluster.live, self._wanted, ledger.copies_running)
        self._end_program()
        return RunResult(
            seed=self._scenario.seed,
            digest=self._trace.digest,
            took_ms=self._ended_ms - START_MS,
            events=self._trace.events,
            commands=self._trace.commands,
            tasks=sum(len(stage.work_ms) for job in self._scenario.jobs for stage in job.stages),
            copies=self._rules.copies_started,
            copies_won=ledger.copies_won,
            gained_ms=ledger.gained_ms,
            wasted_ms=ledger.wasted_ms,
            cancelled=self._spark.cancelled,
            taken_over=self._spark.waits.adopted,
        )

    def _begin(self) -> None:
        self._tell(
            ev.AttemptStarted(
                application_id="application_1_0001",
                attempt=1,
                epoch=1,
                container_id="container_0",
                host=self._scenario.hosts[0].name,
                placement_mode="blacklist",
            )
        )
        if self._scenario.settings.recovery.enabled:
            self._tell(rec.JournalReplayed())
        self._clock.after(100, self._cluster.begin)
        for at_ms, wish in self._scenario.wishes:
            self._clock.at(START_MS + at_ms, partial(self._tell, wish))
        for at_ms, read in self._scenario.lists:
            self._clock.at(START_MS + at_ms, partial(self._tell, read))
        for at_ms, scale in self._scenario.scales:
            self._clock.at(START_MS + at_ms, partial(self._scale, scale))
        for at_ms, count in self._scenario.targets:
            self._clock.at(START_MS + at_ms, partial(self._want, count))
        if self._scenario.cancelled_ms is not None:
            self._clock.at(START_MS + self._scenario.cancelled_ms, self._cancel)

    def _scale(self, scale: ev.ScaleRequested) -> None:
        self._wanted = scale.most
        self._tell(scale)

    def _want(self, count: int) -> None:
        """Dynamic allocation wants another number of executors."""
        if self._ended_ms is None:
            self._wanted = count
            self._tell(ev.TargetExecutorsChanged(count=count))
            self._let_go(count, self._clock.now_ms + _IDLE_FOR_MS)

    def _let_go(self, count: int, until_ms: int) -> None:
        """Spark lets executors go once they are idle: those that are busy now, a while later."""
        if self._wanted != count or self._clock.now_ms > until_ms:
            return
        unwanted = self._spark.let_go(count)
        if unwanted:
            self._tell(ev.ExecutorsUnwanted(executor_ids=unwanted))
        self._clock.after(_IDLE_MS, partial(self._let_go, count, until_ms))

    def _cancel(self) -> None:
        if self._ended_ms is None:
            self._spark.cancel()

    def _jobs_over(self) -> None:
        self._ended_ms = self._clock.now_ms

    def _end_program(self) -> None:
        self._tell(ev.DriverStopping())
        self._tell(ev.DriverFinished(exit_code=0))
        if not isinstance(self._finished, FinishApplication) or self._finished.status != "SUCCEEDED":
            self._rules.broken(f"the program succeeded, and the application did not: {self._finished}")

    def _check_tasks(self) -> None:
        spark = self._spark
        for job in self._scenario.jobs:
            for stage in job.stages:
                done = spark.done[stage.stage]
                for partition in range(len(stage.work_ms)):
                    task = (stage.stage, partition)
                    if spark.successes[task] != spark.losses[task] + (partition in done):
                        self._rules.broken(f"task {task} succeeded {spark.successes[task]} times")
                    if not stage.maps and partition not in done and not spark.cancelled:
                        self._rules.broken(f"task {task} of a result has not succeeded")

    # between the core and the rest

    def _tell(self, event: ev.Event) -> None:
        now_ms = self._clock.now_ms
        commands = self._core.handle(event, now_ms)
        self._trace.add(now_ms, event, commands)
        self._rules.told(event, commands, now_ms)
        for command in commands:
            if isinstance(command, SetTimer):
                self._timers[command.name] = command.at_ms
                self._clock.at(command.at_ms, partial(self._fire, command.name, command.at_ms))
            elif isinstance(command, FinishApplication | AbandonAttempt):
                self._finished = command
        if commands:
            self._clock.after(self._scenario.bridge_ms, partial(self._obey, commands))

    def _fire(self, name: str, at_ms: int) -> None:
        # A timer of the same name that was asked for later replaces this one.
        if self._timers.get(name) == at_ms:
            del self._timers[name]
            self._tell(ev.TimerFired(name=name, at_ms=at_ms))

    def _obey(self, commands: list[Command]) -> None:
        for command in commands:
            self._rules.obeyed(command)
            match command:
                case StartDriver():
                    self._clock.after(500, self._driver_listens)
                case UpdateTaskBlocks():
                    self._spark.block(command)
                case LaunchCopy():
                    self._spark.copy(command)
                case WithdrawCopy():
                    self._spark.withdraw(command)
                case KillAttempt():
                    self._spark.kill(command)
                case UpdatePlacement():
                    self._cluster.place(command)
                case RequestContainers():
                    self._cluster.request(command)
                case AskHeldBlocks():
                    held = self._spark.held(command.executor_id)
                    self._tell(ev.HeldBlocksTold(executor_id=command.executor_id, count=held))
                case ReleaseContainer():
                    self._spark.given_back(command.executor_id)
                    self._cluster.release(command)
                case GiveUpHost():
                    self._spark.waits.give_up(command.host)
                case RemoveExecutor():
                    self._spark.executor_goes(command.executor_id)

    def _driver_listens(self) -> None:
        self._tell(ev.DriverStarted(pid=1))
        self._tell(ev.DriverReady(driver_url="spark://CoarseGrainedScheduler@host1:1"))
        self._clock.after(200, self._spark.next_job)
