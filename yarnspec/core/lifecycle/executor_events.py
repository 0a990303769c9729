"""Handles the events of containers and their executors: allocated, registered, lost and replaced.

``ExecutorTable`` is the table. This file decides what follows from its changes. Whose fault was an end, and what is
Spark told? How long does a replacement wait, and when are further replacements of no use?
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from yarnspec.core.blocking.hosts import UNREACHABLE, Hosts
from yarnspec.core.containers.blame import blame, shorten
from yarnspec.core.containers.deaths import YoungDeath, YoungDeaths
from yarnspec.core.containers.executor_rows import Executor
from yarnspec.core.containers.executor_table import ExecutorTable
from yarnspec.core.containers.profiles import USUAL, why_nowhere
from yarnspec.core.containers.removals import Removals
from yarnspec.core.lifecycle.driver import Route
from yarnspec.core.lifecycle.phases import Lifecycle
from yarnspec.core.messages import events as ev
from yarnspec.core.messages.commands import (
    EXIT_FAILED,
    EXIT_NO_RESOURCES,
    Command,
    DecommissionHost,
    ReleaseContainer,
    RemoveExecutor,
    Warn,
)
from yarnspec.core.messages.settings import Settings
from yarnspec.core.messages.timers import Timers

BACKOFF_TIMER = "replacement-backoff"
LEFT_OVER_TIMER = "left-over-executors"


class Executors:
    """Follows the executors of one attempt.

    ``blocked`` tells the hosts that get no container. ``goal`` says how many executors there shall be when Spark wants
    so many. Three calls return the commands that follow elsewhere. ``came`` is called when an executor has registered,
    and ``gone`` with every row that leaves the table. ``died_young`` is called with every death that counts as a failed
    start.
    """

    def __init__(
        self,
        settings: Settings,
        lifecycle: Lifecycle,
        containers: ExecutorTable,
        hosts: Hosts,
        timers: Timers,
        *,
        blocked: Callable[[], Iterable[str]],
        goal: Callable[[int], int],
        came: Callable[[int], list[Command]],
        gone: Callable[[Executor, int], list[Command]],
        died_young: Callable[[YoungDeath, int], list[Command]],
    ) -> None:
        self._settings = settings
        self._lifecycle = lifecycle
        self._containers = containers
        self._hosts = hosts
        self._timers = timers
        self._label = settings.executor_label or settings.queue_label
        self._blocked = blocked
        self._goal = goal
        self._came = came
        self._gone = gone
        self._told_young = died_young
        self._removals = Removals(containers, hosts, timers, settings.removed_wait_ms)
        self._deaths = YoungDeaths(settings)
        self._warned_of: set[str] = set()

    @property
    def routes(self) -> dict[type[ev.Event], Route]:
        """The events that this part handles."""
        return {
            ev.TargetExecutorsChanged: self._target_changed,
            ev.ExecutorsUnwanted: self._unwanted,
            ev.ExecutorsDecommissioned: self._decommissioned,
            ev.RequestFailed: self._request_failed,
            ev.ContainerAllocated: self._allocated,
            ev.ContainerStarted: self._started,
            ev.ContainerLost: self._lost,
            ev.ExecutorRemoved: self._removed,
            ev.ContainersPreempted: self._preempted,
        }

    def removal_overdue(self, executor_id: str) -> list[Command]:
        """YARN has not told of the end of a container whose executor Spark gave up."""
        return self._removals.overdue(executor_id)

    def driver_lost(self, now_ms: int) -> list[Command]:
        """The driver died and is started again: nothing that its executors did counts against those of the next one.

        They end by themselves when their connection breaks. After ``removed_wait_ms`` (10 s) yarnspec ends the rest.
        """
        self._containers.held = 0
        self._containers.profiles_held = False
        self._timers.cancel(BACKOFF_TIMER)
        self._deaths.forget()
        left = self._containers.left_over
        if not left:
            return []
        wait_ms = self._settings.removed_wait_ms
        said = f"{len(left)} executors of the driver that was lost have to end within {wait_ms / 1000:g} s"
        return [self._timers.set(LEFT_OVER_TIMER, now_ms + wait_ms, said)]

    def left_over_overdue(self) -> list[Command]:
        """Executors of a driver that was lost ought to have ended by now."""
        return [
            ReleaseContainer(executor_id=one, reason=f"executor {one} has not ended although its driver was lost")
            for one in self._containers.left_over
        ]

    def hosts_reported(self) -> list[Command]:
        """Look what the hosts' states mean for the executors there."""
        return self._removals.on_unreachable_hosts() + self._start_elsewhere() + self.leave_hosts()

    def _start_elsewhere(self) -> list[Command]:
        """Give back containers that start on hosts whose NodeManagers do not answer, so that others are asked for."""
        return [
            ReleaseContainer(
                executor_id=row.executor_id,
                reason=f"executor {row.executor_id} has not registered, and {row.host} does not answer",
            )
            for row in self._containers.rows
            if row.state == "allocated"
            and self._hosts.gone(row.host) == UNREACHABLE
            and self._containers.release(row.executor_id, "its host does not answer")
        ]

    def leave_hosts(self) -> list[Command]:
        """Tell Spark of hosts that YARN decommissions, so that its executors there finish; if the user wants that."""
        leaving = self._hosts.leaving if self._settings.decommissions and not self._lifecycle.stopping else ()
        if not leaving:
            return []
        found: dict[str, list[str]] = {}
        for executor_id, host in self._containers.running().items():
            row = self._containers.row(executor_id)
            if host in leaving and row is not None and not row.told_to_leave:
                row.told_to_leave = True
                found.setdefault(host, []).append(executor_id)
        return [
            DecommissionHost(host=host, reason=f"YARN decommissions {host}, which has executors {', '.join(ids)}")
            for host, ids in sorted(found.items())
        ]

    def release_held(self) -> None:
        """Ask for what was held back for want of a driver."""
        if not self._timers.wanted(BACKOFF_TIMER):
            self._containers.held = 0
            self._containers.profiles_held = False

    def _target_changed(self, event: ev.TargetExecutorsChanged, _now_ms: int) -> list[Command]:
        self._containers.aim(self._goal(max(0, event.count)))
        self._containers.profiles.aim(event.profiles, event.local_tasks)
        above = self._above_the_maximum()
        if above:
            return self._lifecycle.fail(EXIT_NO_RESOURCES, above)
        return self._warn_of_sizes()

    def _warn_of_sizes(self) -> list[Command]:
        """Warn of each size that no running host takes. The submit has warned of the size that it knew."""
        commands: list[Command] = []
        for number, needs, why in self._nowhere():
            if needs not in self._warned_of and (number != USUAL or self._set_in_code is not None):
                self._warned_of.add(needs)
                commands.append(Warn(reason=f"{needs}, and {why}; its tasks wait"))
        return commands

    def fit_nowhere(self) -> list[str]:
        """Words for each size that Spark wants and that no running host takes: nothing of it comes."""
        return [f"{needs}, and {why}" for _, needs, why in self._nowhere()]

    def _nowhere(self) -> Iterator[tuple[int, str, str]]:
        """The profile, what it needs, and why no running host takes it."""
        profiles, blocked = self._containers.profiles, dict.fromkeys(self._blocked(), "it is blocked")
        wanted = [one for one in profiles.others if one.count]
        for one in [*wanted, profiles.usual] if self._containers.target > 0 else wanted:
            if why := why_nowhere(self._hosts.reports.values(), one, self._label, blocked):
                yield one.id, self._needs(one), f"no running host takes one: {why}"

    def _above_the_maximum(self) -> str:
        """Words for a size set in the code of which YARN gives no container; empty if there is none."""
        size, largest = self._set_in_code, self._settings.largest_container
        if size is None or largest is None or (size.memory_mb <= largest[0] and size.cores <= largest[1]):
            return ""
        return f"{self._needs(size)}, but YARN's largest container here is {largest[0]} MiB and {largest[1]} cores"

    @property
    def _set_in_code(self) -> ev.ExecutorProfile | None:
        """The usual size, if executors of it are wanted and the submit has not checked it."""
        return self._containers.profiles.to_tell(USUAL) if self._containers.target > 0 else None

    def _needs(self, size: ev.ExecutorProfile) -> str:
        whose = f" of resource profile {size.id}"
        if size.id == USUAL:
            in_code = " of the size that the program sets (spark.executor.memory, .cores, .resource.*)"
            whose = in_code if self._set_in_code is not None else ""
        types = "".join(f", {count} of {name}" for name, count in sorted(size.resources.items()))
        return f"an executor{whose} needs {size.memory_mb} MiB, {size.cores} cores{types}"

    def _unwanted(self, event: ev.ExecutorsUnwanted, _now_ms: int) -> list[Command]:
        said = f"Spark wants executors {', '.join(event.executor_ids)} ended ({self._containers.summary()})"
        return [
            ReleaseContainer(executor_id=executor_id, reason=said)
            for executor_id in event.executor_ids
            if self._containers.release(executor_id, "Spark wanted it ended")
        ]

    def _request_failed(self, event: ev.RequestFailed, now_ms: int) -> list[Command]:
        rows = [self._containers.row(executor_id) for executor_id in event.executor_ids]
        profile = max((row.profile for row in rows if row is not None), default=USUAL)
        failed = sum(self._containers.request_failed(executor_id) for executor_id in event.executor_ids)
        warned = Warn(reason=f"asking for containers failed: {shorten(event.message)}", about="asking for containers")
        said = f"{failed} requests failed: {shorten(event.message)}"
        return [warned, *self._hold_back(failed, said, now_ms, profile)]

    def _allocated(self, event: ev.ContainerAllocated, _now_ms: int) -> list[Command]:
        outcome = self._containers.allocated(event)
        return self._send_back(event.executor_id, event.container_id) if outcome == "unwanted" else []

    def _started(self, event: ev.ContainerStarted, now_ms: int) -> list[Command]:
        outcome = self._containers.started(event, now_ms)
        if outcome == "unwanted":
            return self._send_back(event.executor_id, event.container_id)
        if outcome != "taken":
            return []
        return self._came(now_ms) + (self.leave_hosts() if event.host in self._hosts.leaving else [])

    def _send_back(self, executor_id: str, container_id: str) -> list[Command]:
        said = f"container {container_id} came for executor {executor_id} after its request was withdrawn"
        return [ReleaseContainer(executor_id=executor_id, reason=said)]

    def _removed(self, event: ev.ExecutorRemoved, now_ms: int) -> list[Command]:
        return self._removals.removed(event, now_ms) if self._lifecycle.ready else []

    def _preempted(self, event: ev.ContainersPreempted, _now_ms: int) -> list[Command]:
        self._containers.preemption_announced(event.container_ids)
        return []

    def _decommissioned(self, event: ev.ExecutorsDecommissioned, _now_ms: int) -> list[Command]:
        for executor_id in event.executor_ids:
            row = self._containers.row(executor_id)
            if row is not None and row.state == "running":
                row.decommissioned, row.why = True, "Spark decommissioned it"
        return []

    def _lost(self, event: ev.ContainerLost, now_ms: int) -> list[Command]:
        self._removals.ended(event.executor_id)
        row = self._containers.lost(event)
        if row is None:
            return []
        commands = self._gone(row, now_ms)
        if self._lifecycle.stopping or row.of_earlier_context:
            return commands
        host = event.host or row.host
        if row.state == "releasing" or (row.decommissioned and event.exit_code == 0):
            said = f"executor {row.executor_id} ended on {host} as asked: {row.why} (exit code {event.exit_code})"
            return commands + self._tell_spark(row.executor_id, event.exit_code, said, caused_by_app=False)
        verdict = blame(
            exit_code=event.exit_code,
            diagnostics=event.diagnostics,
            host=host,
            host_state=self._hosts.gone(host),
            memory_mb=self._containers.profiles.of(row.profile).memory_mb,
            preemption_announced=row.preemption_announced,
            registered=row.state == "running",
        )
        said = f"executor {row.executor_id} on {host or 'an unknown host'}: {verdict.text}"
        commands += self._tell_spark(row.executor_id, event.exit_code, said, caused_by_app=verdict.caused_by_app)
        was_healthy = row.healthy(now_ms, self._settings.executor.young_age_ms)
        others_healthy = bool(self._containers.healthy(now_ms))
        if was_healthy or others_healthy:
            self._deaths.saw_healthy(now_ms)
        if was_healthy or not verdict.repeats:
            return commands
        death = YoungDeath(now_ms, row.executor_id, host, event.exit_code, verdict.text)
        return commands + self._died_young(death, event.diagnostics, now_ms, row)

    def _tell_spark(self, executor_id: str, exit_code: int, reason: str, *, caused_by_app: bool) -> list[Command]:
        if not self._lifecycle.ready:
            return []
        return [
            RemoveExecutor(executor_id=executor_id, exit_code=exit_code, caused_by_app=caused_by_app, reason=reason)
        ]

    def _died_young(self, death: YoungDeath, diagnostics: str, now_ms: int, row: Executor) -> list[Command]:
        if not self._lifecycle.ready:
            # Where no driver listens yet every executor ends like this: ask again when there is one.
            self._containers.held += min(1, self._containers.missing)
            return []
        self._deaths.record(death)
        commands = self._told_young(death, now_ms)
        wanted = self._containers.target + self._containers.profiles.wanted
        verdict = self._deaths.verdict(wanted)
        if verdict:
            return commands + self._lifecycle.fail(EXIT_FAILED, verdict, diagnostics)
        if row.extra or (row.registered_ms is not None and self._containers.requires(row.host)):
            return commands
        counted, limit = len(self._deaths.counted), self._deaths.limit(wanted)
        said = f"executor {death.executor_id} died young ({counted} such deaths, {limit} may be)"
        lived_ms = 0 if row.registered_ms is None else now_ms - row.registered_ms
        return commands + self._hold_back(1, said, now_ms, row.profile, lived_ms)

    def _hold_back(self, count: int, why: str, now_ms: int, profile: int = USUAL, lived_ms: int = 0) -> list[Command]:
        """Let replacements wait, less the time that the executor lived: what works for a while is no loop."""
        if profile == USUAL:
            count = min(count, self._containers.missing)
        if not count:
            return []
        waiting = self._timers.wanted(BACKOFF_TIMER)
        delay_ms = 0 if waiting else self._deaths.backoff_ms() - lived_ms
        if not waiting and delay_ms <= 0:
            return []
        if profile == USUAL:
            self._containers.held += count
        else:
            self._containers.profiles_held = True
        if waiting:
            return []
        said = f"{why}: replacements wait {delay_ms / 1000:g} s"
        return [self._timers.set(BACKOFF_TIMER, now_ms + delay_ms, said)]
