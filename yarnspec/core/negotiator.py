"""The one door of the core: ``handle(event, now_ms) -> commands``.

An event first goes to the part that it concerns, which answers with commands of its own. Then what there is is
compared with what is wanted, and the difference becomes commands, always in this order: containers withdrawn, the new
placement, containers asked for, timers. After the command that ends the attempt there are no more.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from typing import Any

from yarnspec.core import events as ev
from yarnspec.core.blame import blame, shorten
from yarnspec.core.blocklist import SUBMIT, TIMER_FAMILY, Blocklist
from yarnspec.core.commands import (
    AbandonAttempt,
    Command,
    FinishApplication,
    ReleaseContainer,
    RemoveExecutor,
    RequestContainers,
    StartDriver,
    StopDriver,
)
from yarnspec.core.containers import IDS_PER_EPOCH, Containers
from yarnspec.core.deaths import YoungDeath, YoungDeaths
from yarnspec.core.hosts import Hosts
from yarnspec.core.lifecycle import WAIT_TIMER, Lifecycle
from yarnspec.core.placement import Placement
from yarnspec.core.removals import REMOVED_TIMER_FAMILY, Removals
from yarnspec.core.settings import Settings
from yarnspec.core.timers import Timers
from yarnspec.core.view import View, view_of

BACKOFF_TIMER = "replacement-backoff"
HOSTS_TIMER = "hosts-wait"

_EXIT_FAILED = 1
_EXIT_NO_RESOURCES = 6
_KEPT_WARNINGS = 50


class Negotiator:
    """Decides, for one attempt of one application, what is to be done about what happened."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._timers = Timers()
        self._hosts = Hosts()
        self._blocklist = Blocklist(
            self._hosts, self._timers, share=settings.blocked_share, automatic_block_ms=settings.automatic_block_ms
        )
        self._containers = Containers(settings)
        self._removals = Removals(self._containers, self._timers, settings.removed_wait_ms)
        self._deaths = YoungDeaths(settings)
        self._placement = Placement()
        self._lifecycle = Lifecycle(settings, self._timers)
        self._attempt: ev.AttemptStarted | None = None
        # Exclusions that wait for the first report of hosts; no container is asked for before they are decided.
        self._exclusions = [
            ev.BlockRequested(host=host, reason="excluded at submit", by=SUBMIT, force=settings.force_excluded)
            for host in settings.excluded_hosts
        ]
        self._warnings: deque[str] = deque(maxlen=_KEPT_WARNINGS)
        self._counters: Counter[str] = Counter()
        self._routes: dict[type[ev.Event], Callable[[Any, int], list[Command]]] = {
            ev.AttemptStarted: self._attempt_started,
            ev.HostsReported: self._hosts_reported,
            ev.BlockRequested: self._block_requested,
            ev.UnblockRequested: lambda event, _: self._blocklist.release(event),
            ev.DriverStarted: self._driver_started,
            ev.DriverReady: self._driver_ready,
            ev.DriverStopping: self._driver_stopping,
            ev.DriverFinished: self._driver_finished,
            ev.DriverLost: self._driver_lost,
            ev.TargetExecutorsChanged: self._target_changed,
            ev.ExecutorsUnwanted: self._executors_unwanted,
            ev.RequestFailed: self._request_failed,
            ev.ContainerAllocated: self._container_allocated,
            ev.ContainerStarted: self._container_started,
            ev.ContainerLost: self._container_lost,
            ev.ExecutorRemoved: self._executor_removed,
            ev.ContainersPreempted: self._containers_preempted,
            ev.FeedLagged: self._feed_lagged,
            ev.PlacementAcknowledged: self._placement_acknowledged,
            ev.PendingExplained: self._pending_explained,
            ev.PlacementProblem: self._placement_problem,
            ev.ProgramWarned: self._program_warned,
            ev.TimerFired: self._timer_fired,
        }

    def handle(self, event: ev.Event, now_ms: int) -> list[Command]:
        """Take one event and give the commands that follow from it, in the order in which they are to be done."""
        self._counters[type(event).__name__] += 1
        if self._lifecycle.over:
            self._counters["after_end"] += 1
            return []
        route = self._routes.get(type(event))
        commands = route(event, now_ms) if route is not None else []
        if not self._lifecycle.over:
            commands += self._settle(ev.after(event), now_ms)
        return commands

    def view(self) -> View:
        """The state for the status document."""
        return view_of(
            attempt=self._attempt,
            lifecycle=self._lifecycle,
            containers=self._containers,
            blocklist=self._blocklist,
            placement=self._placement,
            warnings=tuple(self._warnings),
            counters={
                **dict(sorted(self._counters.items())),
                "stale_timers": self._timers.stale,
                "unknown_executors": self._containers.unknown,
                "young_deaths": self._deaths.total,
                "refused_blocks": self._blocklist.refused,
            },
        )

    # the attempt and the hosts

    def _attempt_started(self, event: ev.AttemptStarted, now_ms: int) -> list[Command]:
        if self._lifecycle.started:
            return self._stale()
        self._attempt = event
        self._lifecycle.begin(event.epoch)
        self._containers.begin_epoch(event.epoch)
        said = f"attempt {event.attempt} runs on {event.host}; epoch {event.epoch} begins"
        commands: list[Command] = [StartDriver(epoch=event.epoch, reason=said)]
        return commands + self._await_hosts(now_ms)

    def _await_hosts(self, now_ms: int) -> list[Command]:
        if not self._exclusions or not self._lifecycle.started or self._timers.wanted(HOSTS_TIMER):
            return []
        wait_ms = self._settings.hosts_wait_ms
        said = (
            f"no container is asked for until {len(self._exclusions)} excluded hosts are blocked, {wait_ms / 1000:g} s "
            "at most"
        )
        return [self._timers.set(HOSTS_TIMER, now_ms + wait_ms, said)]

    def _hosts_reported(self, event: ev.HostsReported, now_ms: int) -> list[Command]:
        self._hosts.replace(event.hosts)
        return self._decide_exclusions(now_ms) + self._blocklist.keep_one_host()

    def _decide_exclusions(self, now_ms: int) -> list[Command]:
        self._timers.cancel(HOSTS_TIMER)
        exclusions, self._exclusions = self._exclusions, []
        return [command for wish in exclusions for command in self._blocklist.request(wish, now_ms)]

    def _block_requested(self, event: ev.BlockRequested, now_ms: int) -> list[Command]:
        if (event.by == SUBMIT or event.earlier) and not self._hosts.reported:
            self._exclusions.append(event)
            return self._await_hosts(now_ms)
        return self._blocklist.request(event, now_ms)

    # the driver

    def _driver_started(self, event: ev.DriverStarted, _now_ms: int) -> list[Command]:
        self._lifecycle.address = event.address
        return []

    def _driver_ready(self, event: ev.DriverReady, _now_ms: int) -> list[Command]:
        if not self._lifecycle.started:
            return self._stale()
        lifecycle = self._lifecycle
        address = event.driver_url.rpartition("@")[2]
        commands: list[Command] = []
        if lifecycle.ready or lifecycle.stopping:
            commands = self._retire("its SparkContext stopped, and another one started")
            self._containers.aim(self._settings.initial_executors)
        elif lifecycle.address and address != lifecycle.address:
            commands = self._retire(f"it looks for the driver at {lifecycle.address}, which listens at {address}")
        lifecycle.address = address
        lifecycle.driver = "ready"
        if not self._timers.wanted(BACKOFF_TIMER):
            self._containers.held = 0
        return commands

    def _driver_stopping(self, _event: ev.DriverStopping, _now_ms: int) -> list[Command]:
        if not self._lifecycle.started:
            return self._stale()
        self._lifecycle.driver = "stopping"
        return self._retire("its SparkContext stopped")

    def _retire(self, why: str) -> list[Command]:
        return [
            ReleaseContainer(executor_id=executor_id, reason=f"executor {executor_id} is of no use any more: {why}")
            for executor_id in self._containers.retire(why)
        ]

    def _driver_finished(self, event: ev.DriverFinished, _now_ms: int) -> list[Command]:
        if not self._lifecycle.started:
            return self._stale()
        self._lifecycle.over = "finished"
        if event.exit_code == 0:
            said = event.reason or "the program ended with exit code 0"
            return [FinishApplication(status="SUCCEEDED", exit_code=0, reason=said)]
        said = f"the program ended with exit code {event.exit_code}" + (f": {event.reason}" if event.reason else "")
        return [
            FinishApplication(
                status="FAILED",
                exit_code=_EXIT_FAILED,
                reason=said,
                diagnostics=event.traceback or event.reason or said,
            )
        ]

    def _driver_lost(self, event: ev.DriverLost, _now_ms: int) -> list[Command]:
        if not self._lifecycle.started:
            return self._stale()
        self._lifecycle.over = "abandoned"
        said = f"the driver of epoch {self._lifecycle.epoch} was lost with exit code {event.exit_code}: {event.reason}"
        return [AbandonAttempt(exit_code=event.exit_code or _EXIT_FAILED, reason=said, diagnostics=said)]

    # the containers

    def _target_changed(self, event: ev.TargetExecutorsChanged, _now_ms: int) -> list[Command]:
        self._containers.aim(max(0, event.count))
        return []

    def _executors_unwanted(self, event: ev.ExecutorsUnwanted, _now_ms: int) -> list[Command]:
        said = f"Spark wants executors {', '.join(event.executor_ids)} ended ({self._containers.summary()})"
        return [
            ReleaseContainer(executor_id=executor_id, reason=said)
            for executor_id in event.executor_ids
            if self._containers.release(executor_id, "Spark wanted it ended")
        ]

    def _request_failed(self, event: ev.RequestFailed, now_ms: int) -> list[Command]:
        failed = sum(self._containers.request_failed(executor_id) for executor_id in event.executor_ids)
        self._warn(f"asking for containers failed: {event.message}")
        return self._hold_back(failed, f"{failed} requests failed: {shorten(event.message)}", now_ms)

    def _container_allocated(self, event: ev.ContainerAllocated, _now_ms: int) -> list[Command]:
        outcome = self._containers.allocated(event)
        if outcome == "taken" and event.host in self._blocklist:
            self._counters["allocated_on_blocked_host"] += 1
        return self._send_back(event.executor_id, event.container_id) if outcome == "unwanted" else []

    def _container_started(self, event: ev.ContainerStarted, now_ms: int) -> list[Command]:
        outcome = self._containers.started(event, now_ms)
        return self._send_back(event.executor_id, event.container_id) if outcome == "unwanted" else []

    def _send_back(self, executor_id: str, container_id: str) -> list[Command]:
        said = f"container {container_id} came for executor {executor_id} after its request was withdrawn"
        return [ReleaseContainer(executor_id=executor_id, reason=said)]

    def _executor_removed(self, event: ev.ExecutorRemoved, now_ms: int) -> list[Command]:
        return self._removals.removed(event, now_ms) if self._lifecycle.ready else []

    def _containers_preempted(self, event: ev.ContainersPreempted, _now_ms: int) -> list[Command]:
        self._containers.preemption_announced(event.container_ids)
        return []

    def _container_lost(self, event: ev.ContainerLost, now_ms: int) -> list[Command]:
        self._removals.ended(event.executor_id)
        row = self._containers.lost(event)
        if row is None or self._lifecycle.stopping or row.of_earlier_context:
            return []
        host = event.host or row.host
        if row.state == "releasing":
            said = f"executor {row.executor_id} ended on {host} as asked: {row.why} (exit code {event.exit_code})"
            return self._tell_spark(row.executor_id, event.exit_code, said, caused_by_app=False)
        verdict = blame(
            exit_code=event.exit_code,
            diagnostics=event.diagnostics,
            host=host,
            host_state=self._hosts.gone(host),
            memory_mb=self._settings.executor_memory_mb,
            preemption_announced=row.preemption_announced,
        )
        said = f"executor {row.executor_id} on {host or 'an unknown host'}: {verdict.text}"
        commands = self._tell_spark(row.executor_id, event.exit_code, said, caused_by_app=verdict.caused_by_app)
        was_healthy = row.healthy(now_ms, self._settings.young_ms)
        if was_healthy or self._containers.healthy(now_ms):
            self._deaths.saw_healthy(now_ms)
        if was_healthy or not verdict.repeats:
            return commands
        return commands + self._died_young(
            YoungDeath(now_ms, row.executor_id, host, event.exit_code, verdict.text), event.diagnostics, now_ms
        )

    def _tell_spark(self, executor_id: str, exit_code: int, reason: str, *, caused_by_app: bool) -> list[Command]:
        if not self._lifecycle.ready:
            return []
        return [
            RemoveExecutor(executor_id=executor_id, exit_code=exit_code, caused_by_app=caused_by_app, reason=reason)
        ]

    def _died_young(self, death: YoungDeath, diagnostics: str, now_ms: int) -> list[Command]:
        if not self._lifecycle.ready:
            # Where no driver listens yet every executor ends like this: ask again when there is one.
            self._containers.held += min(1, self._containers.missing)
            return []
        self._deaths.record(death)
        verdict = self._deaths.verdict(self._containers.target)
        if verdict:
            return self._fail(_EXIT_FAILED, verdict, diagnostics)
        counted, limit = len(self._deaths.counted), self._deaths.limit(self._containers.target)
        said = f"executor {death.executor_id} died young ({counted} such deaths, {limit} may be)"
        return self._hold_back(1, said, now_ms)

    def _hold_back(self, count: int, why: str, now_ms: int) -> list[Command]:
        count = min(count, self._containers.missing)
        self._containers.held += count
        if not count or self._timers.wanted(BACKOFF_TIMER):
            return []
        delay_ms = self._deaths.backoff_ms()
        said = f"{why}: replacements wait {delay_ms / 1000:g} s"
        return [self._timers.set(BACKOFF_TIMER, now_ms + delay_ms, said)]

    # the rest

    def _placement_acknowledged(self, event: ev.PlacementAcknowledged, _now_ms: int) -> list[Command]:
        return [] if self._placement.acknowledge(event.version) else self._stale()

    def _pending_explained(self, event: ev.PendingExplained, _now_ms: int) -> list[Command]:
        self._lifecycle.pending_reason = event.reason
        return []

    def _placement_problem(self, event: ev.PlacementProblem, _now_ms: int) -> list[Command]:
        return self._warn(f"placement: {event.message}")

    def _program_warned(self, event: ev.ProgramWarned, _now_ms: int) -> list[Command]:
        return self._warn(event.message or f"the program sets {event.key}, which yarnspec owns")

    def _feed_lagged(self, event: ev.FeedLagged, _now_ms: int) -> list[Command]:
        return self._warn(f"the ends of {event.count} tasks could not be told in time and are not among the events")

    def _timer_fired(self, event: ev.TimerFired, now_ms: int) -> list[Command]:
        due = self._timers.take(event, now_ms)
        if due is False:
            return []
        if due is not True:
            return [due]
        family, _, named = event.name.partition(":")
        if family == TIMER_FAMILY:
            return self._blocklist.expire(named)
        if family == REMOVED_TIMER_FAMILY:
            return self._removals.overdue(named)
        return self._single_timer_fired(event.name, now_ms)

    def _single_timer_fired(self, name: str, now_ms: int) -> list[Command]:
        if name == BACKOFF_TIMER:
            self._containers.held = 0
        elif name == HOSTS_TIMER:
            self._warn("the cluster's hosts could not be listed; the hosts excluded at submit are blocked unchecked")
            return self._decide_exclusions(now_ms)
        elif name == WAIT_TIMER:
            verdict = self._lifecycle.timed_out(self._containers, now_ms, self._blocklist.hosts)
            return self._fail(_EXIT_NO_RESOURCES, verdict, "") if verdict else []
        return []

    # what follows from every event

    def _settle(self, why: str, now_ms: int) -> list[Command]:
        commands: list[Command] = []
        asked: tuple[str, ...] = ()
        containers = self._containers
        if self._lifecycle.started and not self._lifecycle.stopping and not self._exclusions:
            before = containers.summary()
            commands += [
                ReleaseContainer(executor_id=executor_id, reason=f"more asked for than wanted ({before})")
                for executor_id in containers.withdraw_surplus()
            ]
            asked = containers.ask()
            if containers.missing and not containers.live:
                said = f"epoch {self._lifecycle.epoch} has used up its {IDS_PER_EPOCH - 1} executor ids"
                return commands + self._fail(_EXIT_FAILED, said, "")
        if containers.placements_changed or self._placement.blocked != self._blocklist.hosts:
            containers.placements_changed = False
            commands.append(self._placement.next(self._blocklist.hosts, containers.placements, why))
        if asked:
            said = f"{len(asked)} containers are missing {why} ({containers.summary()})"
            commands.append(RequestContainers(executor_ids=asked, reason=said))
        return commands + self._lifecycle.watch(containers, now_ms)

    def _fail(self, exit_code: int, reason: str, diagnostics: str) -> list[Command]:
        self._lifecycle.over = "finished"
        text = f"{reason}\n{shorten(diagnostics, 2000)}" if diagnostics.strip() else reason
        return [
            StopDriver(reason=reason),
            FinishApplication(status="FAILED", exit_code=exit_code, reason=reason, diagnostics=text),
        ]

    def _stale(self) -> list[Command]:
        self._counters["out_of_order"] += 1
        return []

    def _warn(self, message: str) -> list[Command]:
        if message not in self._warnings:
            self._warnings.append(message)
        return []
