"""One run of a scenario: the real negotiator between many hosts and many tasks, and what came of it."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from functools import partial

from yarnspec.core.copies.speculation import JUDGE_TIMER, SUMMARY_TIMER
from yarnspec.core.messages import commands as cm
from yarnspec.core.messages import events as ev
from yarnspec.core.messages.commands import Command
from yarnspec.core.negotiator import Negotiator
from yarnspec.simulate.whatif.cluster import ManyHosts
from yarnspec.simulate.whatif.plan import SimulationPlan
from yarnspec.simulate.whatif.scheduler import Scheduler
from yarnspec.simulate.whatif.standstill import Standstill
from yarnspec.simulate.world.clock import START_MS, Clock
from yarnspec.simulate.world.trace import Trace

_PERIODIC = (JUDGE_TIMER, SUMMARY_TIMER)
_LONGEST_MS = 7 * 86_400_000
_DRIVER_MS, _FIRST_JOB_MS = 2_000, 200


@dataclass(frozen=True, slots=True)
class Rescale:
    """One change of the number of executors; one under way has no ``why``, and ``got`` is how many are there."""

    at_ms: int
    cause: str
    before: int
    wanted: int
    got: int = 0
    why: str = ""


@dataclass(frozen=True, slots=True)
class Unmet:
    """Something that the scenario asks for and that did not happen, or not before the end."""

    at_ms: int
    wish: str
    why: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a scenario. Times are virtual; ``digest`` is the hash over every event and command."""

    name: str
    seed: int
    state: str
    reason: str
    took_ms: int
    first_task_ms: int | None
    container_s: int
    hosts: int
    hosts_used: int
    executors: int
    tasks: int
    failed_attempts: int
    copies: int
    copies_won: int
    gained_ms: int
    wasted_ms: int
    blocked_hosts: int
    rescales: tuple[Rescale, ...]
    unmet: tuple[Unmet, ...]
    events: int
    commands: int
    digest: str


class Simulation:
    """Hands events to the core, and what it answers to Spark and the cluster a moment later."""

    def __init__(self, plan: SimulationPlan) -> None:
        self._plan = plan
        self._core = Negotiator(plan.settings)
        self._clock = Clock()
        self._trace = Trace()
        self._standstill = Standstill(plan)
        rng = random.Random(plan.seed)
        self._spark = Scheduler(plan, clock=self._clock, rng=rng, tell=self._tell, over=self._program_ends)
        self._cluster = ManyHosts(
            plan,
            clock=self._clock,
            rng=rng,
            tell=self._tell,
            came=self._executor_came,
            gone=self._executor_goes,
            host_dies=self._spark.host_dies,
        )
        self._timers: dict[str, tuple[int, int]] = {}
        self._put_off: dict[str, int] = {}
        self._executors = 0
        self._there: set[str] = set()
        self._blocked: set[str] = set()
        self._rescales: list[Rescale] = []
        self._unmet: list[Unmet] = []
        self._scaled_ms = 0
        self._bounds_asked = ""
        self._waits_for = ""
        self._finished: cm.FinishApplication | cm.AbandonAttempt | None = None

    def run(self) -> Outcome:
        """Run it to the end of the program, or until it will not come any more."""
        self._begin()
        while self._finished is None and not self._stands_still() and self._clock.step(START_MS + _LONGEST_MS):
            pass
        why = self._why_it_ended()
        self._cluster.end()
        if self._rescales and not self._rescales[-1].why:
            self._rescales[-1] = replace(self._rescales[-1], got=len(self._there))
        ledger = self._core.speculation_view(self._clock.now_ms).ledger
        finished = self._finished
        return Outcome(
            name=self._plan.name,
            seed=self._plan.seed,
            state=finished.status if isinstance(finished, cm.FinishApplication) else "UNFINISHED",
            reason=why,
            took_ms=self._clock.now_ms - START_MS,
            first_task_ms=self._spark.first_task_ms,
            container_s=round(self._cluster.container_ms / 1000),
            hosts=len(self._plan.hosts),
            hosts_used=len(self._spark.hosts_used),
            executors=self._executors,
            tasks=self._plan.tasks,
            failed_attempts=self._spark.failures,
            copies=self._spark.copies,
            copies_won=ledger.copies_won,
            gained_ms=ledger.gained_ms,
            wasted_ms=ledger.wasted_ms,
            blocked_hosts=len(self._blocked),
            rescales=tuple(self._rescales),
            unmet=self._unmet_wishes(),
            events=self._trace.events,
            commands=self._trace.commands,
            digest=self._trace.digest,
        )

    def _stands_still(self) -> bool:
        """Whether the program will not come to its end."""
        return not self._spark.runs_tasks and (self._clock.idle or self._standstill.certain(self._clock.now_ms))

    def _why_it_ended(self) -> str:
        if self._finished is not None:
            return self._finished.reason
        if not self._stands_still():
            self._clock.now_ms = START_MS + _LONGEST_MS
            return "the program did not end within a week"
        waiting = self._spark.waiting
        if not waiting:
            return f"nothing happens any more; it waits: {self._waits_for}"
        return f"{waiting} tasks wait, no executor takes them" if waiting > 1 else "a task waits, no executor takes it"

    def _unmet_wishes(self) -> tuple[Unmet, ...]:
        ended_ms = self._clock.now_ms - START_MS
        late = [(at_ms, _said(wish)) for at_ms, wish in self._plan.wishes if at_ms > ended_ms]
        unmet = [*self._unmet, *(Unmet(at_ms, wish, "the job had ended") for at_ms, wish in late if wish)]
        if self._bounds_asked and self._waits_for.startswith(self._bounds_asked):
            unmet.append(
                Unmet(self._scaled_ms, f"scale to {self._bounds_asked}", f"in the end it waits: {self._waits_for}")
            )
        return tuple(sorted(unmet, key=lambda one: one.at_ms))

    def _begin(self) -> None:
        self._tell(
            ev.AttemptStarted(
                application_id="application_1_0001",
                attempt=1,
                epoch=1,
                container_id="container_0",
                host=self._plan.hosts[0].plan.name,
                placement_mode="blacklist",
            )
        )
        self._clock.after(100, self._cluster.begin)
        for at_ms, wish in self._plan.wishes:
            self._clock.at(START_MS + at_ms, partial(self._tell, wish))

    def _executor_came(self, executor_id: str, host: str) -> None:
        self._executors += 1
        self._there.add(executor_id)
        self._spark.executor_comes(executor_id, host)

    def _executor_goes(self, executor_id: str) -> None:
        self._there.discard(executor_id)
        self._spark.executor_goes(executor_id)

    def _driver_listens(self) -> None:
        self._tell(ev.DriverStarted(pid=1))
        self._tell(ev.DriverReady(driver_url="spark://CoarseGrainedScheduler@host1:1"))

    def _program_ends(self) -> None:
        self._tell(ev.DriverStopping())
        self._tell(ev.DriverFinished(exit_code=0))

    def _tell(self, event: ev.Event) -> None:
        if self._finished is not None:
            return
        now_ms = self._clock.now_ms
        commands = self._core.handle(event, now_ms)
        self._trace.add(now_ms, event, commands)
        self._standstill.heard(event, now_ms)
        for command in commands:
            match command:
                case cm.SetTimer(name=name, at_ms=at_ms):
                    self._timers[name] = now_ms, at_ms
                    self._put_off.pop(name, None)
                    self._clock.at(at_ms, partial(self._fire, name, at_ms))
                case cm.FinishApplication() | cm.AbandonAttempt():
                    self._finished = command
                case cm.BlockHost(host=host, level="application" | "cluster"):
                    self._blocked.add(host)
                # A block that yarnspec wanted itself is no wish of the scenario's.
                case cm.RefuseBlock(kind="block") | cm.RefuseScale() if wish := _said(event):
                    self._unmet.append(Unmet(now_ms - START_MS, wish, f"refused: {command.reason}"))
                case cm.ChangeBounds(least=least, most=most) if isinstance(event, ev.ScaleRequested):
                    self._scaled_ms, self._bounds_asked = now_ms - START_MS, f"{least} to {most} executors"
                case cm.EnterPhase(waits_for=waits_for) if not isinstance(event, ev.DriverStopping):
                    self._waits_for = waits_for
                case cm.BeginRescale():
                    self._rescales.append(Rescale(now_ms - START_MS, command.cause, command.before, command.wanted))
                case cm.EndRescale():
                    self._rescales[-1] = replace(self._rescales[-1], got=command.got, why=command.why)
        if commands:
            self._clock.after(self._plan.bridge_ms, partial(self._obey, commands))
        if isinstance(event, ev.Observed):
            self._look_sooner()

    def _fire(self, name: str, at_ms: int) -> None:
        # A timer of the same name that was asked for later replaces this one.
        asked_ms, due_ms = self._timers.get(name, (0, None))
        if due_ms != at_ms:
            return
        until_ms = asked_ms + self._least_ms()
        if name in _PERIODIC and until_ms > self._clock.now_ms:
            self._put_off[name] = until_ms
            self._clock.at(until_ms, partial(self._fire, name, at_ms))
            return
        self._put_off.pop(name, None)
        del self._timers[name]
        self._tell(ev.TimerFired(name=name, at_ms=at_ms))

    def _look_sooner(self) -> None:
        """A shorter task may have started since a timer was put off."""
        for name, until_ms in list(self._put_off.items()):
            asked_ms, at_ms = self._timers[name]
            if asked_ms + self._least_ms() < until_ms:
                self._fire(name, at_ms)

    def _least_ms(self) -> int:
        """How far apart periodic timers are at least."""
        return self._spark.pace.least_ms() if self._spark.runs_tasks else self._standstill.least_ms(self._clock.now_ms)

    def _obey(self, commands: list[Command]) -> None:
        for command in commands:
            match command:
                case cm.StartDriver():
                    self._clock.after(_DRIVER_MS, self._driver_listens)
                case cm.DeclareReady():
                    self._clock.after(_FIRST_JOB_MS, self._spark.next_job)
                case cm.UpdateTaskBlocks():
                    self._spark.block(command)
                case cm.LaunchCopy():
                    self._spark.copy(command)
                case cm.WithdrawCopy():
                    self._spark.withdraw(command)
                case cm.KillAttempt():
                    self._spark.kill(command)
                case cm.UpdatePlacement():
                    self._cluster.place(command.blocked_hosts, command.wanted, command.version)
                case cm.RequestContainers():
                    self._cluster.request(command.executor_ids)
                case cm.AskHeldBlocks():
                    held = self._spark.held(command.executor_id)
                    self._tell(ev.HeldBlocksTold(executor_id=command.executor_id, count=held))
                case cm.ReleaseContainer():
                    self._cluster.release(command.executor_id)
                case cm.RemoveExecutor():
                    self._executor_goes(command.executor_id)


def _said(wish: ev.Event) -> str:
    match wish:
        case ev.BlockRequested(host=host):
            return f"block {host}"
        case ev.ScaleRequested(least=least, most=most):
            return f"scale to {least} to {most} executors"
    return ""  # the end of a block


def simulate(plan: SimulationPlan) -> Outcome:
    """Run a scenario once; the same plan gives the same outcome in any process."""
    return Simulation(plan).run()
