"""The loop in the AM container: events in, one at a time, to the core; its commands out, one at a time, to the world.

Everything that may change the application goes through this one thread. Other threads only post events. Each event and
each command is logged before it is performed. Rows of observations are logged only if they are events of their own
(``observe/forms/observation_lines.py``).
"""

from __future__ import annotations

import heapq
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, TypeVar

import msgspec
import structlog

from yarnspec.am.executors.executor_containers import ExecutorContainers
from yarnspec.am.executors.placement_file import PlacementFile
from yarnspec.am.journal.background_journal import BackgroundJournal
from yarnspec.am.loop.driver_commands import ORDERS, DriverCommandQueue, grouped
from yarnspec.am.loop.inbox import Inbox, Question
from yarnspec.core.lifecycle.refusals import COMMANDS
from yarnspec.core.messages import commands, events
from yarnspec.core.messages import recoverycommands as rc
from yarnspec.core.messages.commands import AbandonAttempt, Command, FinishApplication
from yarnspec.core.messages.events import Event
from yarnspec.core.messages.recoveryevents import EpochRefused
from yarnspec.core.negotiator import Negotiator
from yarnspec.observe.forms.document import StatusDocument
from yarnspec.observe.log.attempt_log import EventLogs
from yarnspec.observe.status.status_fold import About, StatusFold
from yarnspec.spark.bridge import DriverBridge
from yarnspec.yarn.skein.am_client import ContainerServiceError

_log = structlog.get_logger()

Ending = FinishApplication | AbandonAttempt
"""The commands after which the loop ends."""

T = TypeVar("T")

_LONGEST_WAIT_S = 5.0
_WRITE_AGAIN_MS = 1_000


class RestartableDriver(Protocol):
    """The driver, as far as the shell needs it."""

    @property
    def address(self) -> str:
        """``host:port`` at which executors that are asked for now will look for it."""

    @property
    def epoch(self) -> int:
        """The number of the running epoch."""

    @property
    def recording(self) -> BackgroundJournal | None:
        """The journal of this epoch, or None if nothing is recorded."""

    def begin(self, epoch: int) -> None:
        """The next epoch begins. Its driver is not started yet."""

    def listens_at(self, address: str) -> None:
        """The driver really listens there: the planned port may have been taken."""

    def open_gate(self) -> None:
        """Executors may look for the driver."""

    def close_gate(self) -> None:
        """No executor may that was asked for so far."""

    def start(self, *, awaits_negotiator: bool) -> int:
        """Start it; returns its process id."""

    def stop(self) -> None:
        """End it and everything below it."""


class Shell:
    """Performs the core's commands.

    Args:
        negotiator: the core.
        log: the event logs.
        fold: the status, kept up with the log.
        containers: the executors' containers.
        placement: the file that the provider reads.
        driver: the driver of the running epoch.
        executor_environment: the environment of a new executor's container, by its id and its size (None: usual).
        check_hosts: asks the NodeManagers of these hosts whether they are there.
        show_spark: where Spark's page is now; without it YARN's link leads there.
        clock_ms: milliseconds since the Unix epoch.
    """

    def __init__(
        self,
        *,
        negotiator: Negotiator,
        log: EventLogs,
        fold: StatusFold,
        containers: ExecutorContainers,
        placement: PlacementFile,
        driver: RestartableDriver,
        executor_environment: Callable[[str, events.ExecutorProfile | None], dict[str, str]],
        check_hosts: Callable[[Sequence[str]], None],
        show_spark: Callable[[str], None] | None = None,
        clock_ms: Callable[[], int] = lambda: int(time.time() * 1000),
    ) -> None:
        self._negotiator = negotiator
        self._event_log = log
        self._fold = fold
        self._containers = containers
        self._placement = placement
        self._driver = driver
        self._executor_environment = executor_environment
        self._check_hosts = check_hosts
        self._show_spark = show_spark or placement.track
        self._clock_ms = clock_ms
        self._inbox = Inbox()
        self._orders = DriverCommandQueue(self.post)
        self._timers: dict[str, int] = {}
        self._timer_heap: list[tuple[int, str]] = []
        self._write_again_ms = 0
        self._told_problem = ""
        self._logged_hosts: dict[str, events.HostReport] | None = None
        self._ending: Ending | None = None
        self._fold_lock = threading.Lock()

    def document(self, about: About, warnings: Iterable[str] = ()) -> StatusDocument:
        """The status now. From any thread."""
        running_tasks = self._orders.running_tasks()
        with self._fold_lock:
            return self._fold.document(about, warnings=warnings, running_tasks=running_tasks)

    def post(self, event: Event, epoch: int | None = None) -> None:
        """Hand over an event. From any thread; returns at once, but for observations of which too many wait.

        ``epoch``: it is of the driver of this epoch, and of no meaning once that has died.
        """
        self._inbox.put(event, epoch)

    def ask(self, event: Event, deadline_s: float = 10.0) -> list[Command]:
        """Hand over an event and wait for what the core answered to it. From any thread but the shell's own.

        Raises:
            TimeoutError: no answer within the deadline.
        """
        question = Question(lambda _, __: self._handle(event))
        self._inbox.put(question)
        return question.wait(deadline_s)

    def inspect(self, ask: Callable[[Negotiator, int], T], deadline_s: float = 5.0) -> T:
        """Find something out about the core, between two events. From any thread but the shell's own.

        ``ask`` is called with the core and the time, and must neither change nor keep the core. After the end of the
        loop, when nothing changes the core any more, it is called here.

        Raises:
            TimeoutError: no answer within the deadline.
        """
        question = Question(ask)
        self._inbox.put(question)
        if self._inbox.closed:
            question.answer(self._negotiator, self._clock_ms())
        return question.wait(deadline_s)

    def run(self) -> Ending:
        """Work until the core ends the application or the attempt; returns that command."""
        while self._ending is None:
            message = self._inbox.get(self._until_next_timer_s())
            if isinstance(message, Question):
                message.answer(self._negotiator, self._clock_ms())
            elif message is not None and (message.epoch is None or self._hears(message.event, message.epoch)):
                self._handle(message.event)
            self._tick()
        self._inbox.close()
        return self._ending

    def note(self, command: Command) -> None:
        """Log a command that did not come from the core, as far as that is possible."""
        try:
            self._record(command, self._clock_ms())
        except Exception:
            _log.exception("a command could not be logged", command=type(command).__name__)

    def driver_connected(self, bridge: DriverBridge) -> None:
        """The driver's bridge is there: tell it where no task may start. From any thread."""
        self._orders.connected(bridge)

    def in_force(self, deadline_s: float) -> bool:
        """Wait until the driver has heard what was decided so far; False when it does not in time. From any thread."""
        return self._orders.settled(deadline_s)

    def _until_next_timer_s(self) -> float:
        longest_s = _WRITE_AGAIN_MS / 1000 if self._placement.problem else _LONGEST_WAIT_S
        if not self._timer_heap:
            return longest_s
        return min(longest_s, max(0.0, (self._timer_heap[0][0] - self._clock_ms()) / 1000))

    def _tick(self) -> None:
        self._fire_timers()
        problem = self._placement.problem
        if problem and self._clock_ms() >= self._write_again_ms:
            self._write_again_ms = self._clock_ms() + _WRITE_AGAIN_MS
            self._placement.write_again()
        if problem and problem != self._told_problem:
            self.post(events.ProblemNoticed(message=f"placement: {problem}"))
        self._told_problem = problem

    def _fire_timers(self) -> None:
        while self._ending is None and self._timer_heap and self._timer_heap[0][0] <= self._clock_ms():
            at_ms, name = heapq.heappop(self._timer_heap)
            if self._timers.get(name) == at_ms:
                del self._timers[name]
                self._handle(events.TimerFired(name=name, at_ms=at_ms))

    def _hears(self, event: Event, epoch: int) -> bool:
        if self._negotiator.hears(epoch):
            return True
        _log.info("a driver's message came after its end", epoch=epoch, type=type(event).__name__)
        refused = self._negotiator.refuse(event, epoch)
        if refused is not None:
            self._record(refused, self._clock_ms())
        return False

    def _handle(self, event: Event) -> list[Command]:
        now_ms = self._clock_ms()
        if not isinstance(event, events.TimerFired):
            self._record(event, now_ms)
        if isinstance(event, events.HostsReported):
            self._placement.know_hosts(event.hosts)
        elif isinstance(event, events.DriverReady):
            self._driver.listens_at(event.driver_url.rpartition("@")[2])
        elif isinstance(event, events.DriverLost):
            dropped = self._orders.driver_lost()
            if dropped:
                self._record(EpochRefused(epoch=self._driver.epoch, refused={COMMANDS: dropped}), now_ms)
        answer = self._negotiator.handle(event, now_ms)
        logged: list[Event | Command] = [*answer]
        if isinstance(event, events.TimerFired):
            # A look that finds nothing, each second, is not worth two records.
            logged = [] if _only_sets_again(event, answer) else [event, *answer]
        for message in logged:
            self._record(message, now_ms)
        for group in grouped(answer):
            try:
                self._perform(group)
            except Exception as error:
                _log.exception("a command failed", command=type(group[0]).__name__)
                # The name is that in the event log: `yarnspec events --type NAME` has all of the decision.
                said = f"{type(group[0]).__name__} ({group[0].reason})"
                self.post(events.ProblemNoticed(message=f"a decision was not carried out: {said}: {error}"))
        if isinstance(event, events.DriverReady):
            # Only now: the core may have given back executors that wait at the gate.
            self._driver.open_gate()
            if event.ui_url:
                self._show_spark(event.ui_url)
        return answer

    def _record(self, message: Event | Command, now_ms: int) -> None:
        if isinstance(message, events.Observed):
            self._event_log.append_rows(message.rows, now_ms)
            with self._fold_lock:
                self._fold.observe(message.rows)
            return
        if isinstance(message, events.HostsReported):
            message = self._changed_hosts(message)
            if not (message.whole or message.hosts or message.gone):
                return
        if isinstance(message, rc.RecordState):
            message = rc.RecordState(reason=message.reason)  # what it holds was told when it happened
        if isinstance(message, commands.BeginEpoch):
            self._event_log.begin_epoch(message.epoch)
            self._logged_hosts = None
        record = self._event_log.append(message, now_ms)
        with self._fold_lock:
            self._fold.apply(record)

    def _changed_hosts(self, report: events.HostsReported) -> events.HostsReported:
        """The news about these hosts that the event log does not have yet. What is free on them is no news."""
        now = {
            one.host: msgspec.structs.replace(
                one, free_memory_mb=None, free_vcores=None, free_resources=dict.fromkeys(one.free_resources, 0)
            )
            for one in report.hosts
        }
        logged, self._logged_hosts = self._logged_hosts, now
        if logged is None:
            return report
        return events.HostsReported(
            hosts=tuple(one for one in report.hosts if logged.get(one.host) != now[one.host]),
            whole=False,
            gone=tuple(sorted(logged.keys() - self._logged_hosts.keys())),
        )

    def _perform(self, group: list[Command]) -> None:
        command = group[0]
        if isinstance(command, ORDERS):
            self._orders.perform(group)
            return
        if command.IN_JOURNAL:
            if self._driver.recording is not None:
                self._driver.recording.perform(command)
            return
        match command:
            case commands.BeginEpoch() | commands.StartDriver() | commands.StopDriver():
                self._move_driver(command)
            case commands.CloseGate():
                self._driver.close_gate()
            case commands.RequestContainers():
                self._request(command)
            case commands.ReleaseContainer(executor_id=executor_id):
                # Where no task may start is told first: none must begin on an executor that goes.
                self._orders.then(lambda: self._containers.release(executor_id))
            case commands.UpdatePlacement(blocked_hosts=blocked):
                self._placement.update(command)
                self._orders.placement_blocks(blocked)
            case commands.CheckHosts(hosts=hosts):
                self._check_hosts(hosts)
            case commands.SetTimer(name=name, at_ms=at_ms):
                self._timers[name] = at_ms
                heapq.heappush(self._timer_heap, (at_ms, name))
            case commands.FinishApplication() | commands.AbandonAttempt():
                self._ending = command
            case _:
                _note_in_log(command)

    def _move_driver(self, command: commands.BeginEpoch | commands.StartDriver | commands.StopDriver) -> None:
        if isinstance(command, commands.StopDriver):
            self._driver.stop()
            return
        try:
            if isinstance(command, commands.BeginEpoch):
                self._driver.begin(command.epoch)
            else:
                pid = self._driver.start(awaits_negotiator=command.awaits_negotiator)
                self.post(events.DriverStarted(pid=pid, address=self._driver.address), self._driver.epoch)
        except Exception as error:
            _log.exception("the driver could not be started")
            self.post(events.DriverLost(exit_code=127, reason=f"the driver could not be started: {error}"))

    def _request(self, command: commands.RequestContainers) -> None:
        ids = command.executor_ids
        for number, executor_id in enumerate(ids):
            try:
                self._containers.request(executor_id, self._executor_environment(executor_id, command.profile))
            except ContainerServiceError as error:
                self.post(events.RequestFailed(executor_ids=ids[number:], message=str(error)))
                return


def _note_in_log(command: Command) -> None:
    """Write commands that need nothing else into the negotiator's log, beside the events."""
    match command:
        case rc.CarryOver():
            _log.info("carried over", said=command.reason)
        case commands.BlockHost() | commands.UnblockHost() | commands.RefuseBlock():
            _log.info(type(command).__name__, host=command.host, reason=command.reason)
        case commands.BlockExecutor() | commands.UnblockExecutor():
            _log.info(type(command).__name__, executor=command.executor_id, reason=command.reason)
        case rc.ReportRecoveryLimit():
            _log.warning("recovery", limit=command.reason)
        case commands.Warn(times=times):
            _log.warning("warning", said=command.reason, times=times)
        case commands.Summarize(ledger=ledger) if ledger is not None or not command.stages:
            _log.info("speculation so far", said=command.reason)


def _only_sets_again(event: events.TimerFired, answer: list[Command]) -> bool:
    return bool(answer) and all(isinstance(one, commands.SetTimer) and one.name == event.name for one in answer)
