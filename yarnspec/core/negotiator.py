"""The one door of the core: ``handle(event, now_ms) -> commands``.

An event first goes to the part that it concerns, which answers with commands of its own. Then the difference between
the state and the wanted state becomes commands. Their order is always the same: places where Spark starts no task,
containers withdrawn, the new placement, containers asked for, timers. No command follows the one that ends the attempt.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from yarnspec.core.blocking.blocklist import SUBMIT, TIMER_FAMILY, Blocklist
from yarnspec.core.blocking.clusterlist import ClusterList
from yarnspec.core.blocking.hosts import Hosts
from yarnspec.core.blocking.taskblocks import TaskBlocks
from yarnspec.core.containers.executor_table import IDS_PER_EPOCH, ExecutorTable
from yarnspec.core.containers.placement_versions import PlacementVersions
from yarnspec.core.containers.placing import SPREAD_TIMER, Placing
from yarnspec.core.containers.removals import REMOVED_TIMER_FAMILY
from yarnspec.core.copies import explain
from yarnspec.core.copies.speculation import Speculation
from yarnspec.core.copies.speculationview import Explanation, SpeculationView
from yarnspec.core.lifecycle.application_phase import ApplicationPhase
from yarnspec.core.lifecycle.driver import Driver
from yarnspec.core.lifecycle.executor_events import BACKOFF_TIMER, LEFT_OVER_TIMER, Executors
from yarnspec.core.lifecycle.phases import WAIT_TIMER, Lifecycle
from yarnspec.core.lifecycle.refusals import Refusals
from yarnspec.core.lifecycle.resource_wait import Bounds
from yarnspec.core.lifecycle.warnings import Warnings
from yarnspec.core.messages import events as ev
from yarnspec.core.messages import recoveryevents as rec
from yarnspec.core.messages.commands import (
    EXIT_FAILED,
    EXIT_NO_RESOURCES,
    Command,
    ReleaseContainer,
    RequestContainers,
    Warn,
)
from yarnspec.core.messages.events import RunningAttempt
from yarnspec.core.messages.settings import Settings
from yarnspec.core.messages.timers import Timers
from yarnspec.core.recovery.epoch_recovery import EpochRecovery
from yarnspec.core.recovery.master_handover import CARRY_TIMER, MasterHandover
from yarnspec.core.recovery.saved_output_hosts import LIVE_TIMER_FAMILY, SavedOutputHosts
from yarnspec.core.tasks.running_attempts import running_attempts

HOSTS_TIMER = "hosts-wait"
SPREAD_HOSTS_TIMER = "hosts-wait-to-spread"

_SPREAD_WAITS_MS = 1_000
"""Spreading waits so long for the list of hosts: usually it is there before the driver."""


class Negotiator:
    """Decides, for one attempt of one application, what is to be done about what happened."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._out_of_order = 0
        self._timers = Timers()
        self._warnings = Warnings()
        self._refusals = Refusals()
        self._hosts = Hosts()
        self._containers = ExecutorTable(settings)
        self._blocklist = Blocklist(self._hosts, self._timers, settings, self._containers.running)
        self._cluster_list = ClusterList(self._blocklist, self._hosts, settings.placement.max_blocked_share)
        self._placement = PlacementVersions()
        self._task_blocks = TaskBlocks(self._containers.leaving)
        self._blocklist.register(self._placement)
        self._blocklist.register(self._task_blocks)
        self._bounds = Bounds(settings)
        self._lifecycle = Lifecycle(settings, self._timers, self._bounds)
        self._speculation = Speculation(
            settings,
            timers=self._timers,
            hosts=self._hosts,
            containers=self._containers,
            blocklist=self._blocklist,
            task_blocks=self._task_blocks,
        )
        self._placing = Placing(
            settings,
            containers=self._containers,
            hosts=self._hosts,
            timers=self._timers,
            blocked=lambda: self._placement.blocked,
            factor=self._speculation.speeds.factor,
        )
        self._phase = ApplicationPhase(
            settings,
            self._bounds,
            lifecycle=self._lifecycle,
            containers=self._containers,
            hosts=self._hosts,
            blocklist=self._blocklist,
            timers=self._timers,
            dismiss=self._speculation.dismiss,
            suits=self._placing.suits,
            uneven=self._placing.uneven,
        )
        self._executors = Executors(
            settings,
            self._lifecycle,
            self._containers,
            self._hosts,
            self._timers,
            blocked=lambda: self._placement.blocked,
            goal=self._bounds.goal,
            came=self._speculation.executor_came,
            gone=self._speculation.executor_gone,
            died_young=self._speculation.died_young,
        )
        self._carry = MasterHandover(
            lifecycle=self._lifecycle,
            timers=self._timers,
            blocklist=self._blocklist,
            speculation=self._speculation,
            enabled=settings.recovery.enabled,
        )
        self._recovery = self._recovery_of_an_epoch()
        self._driver = Driver(
            settings,
            self._lifecycle,
            self._containers,
            self._timers,
            goal=lambda: self._bounds.goal(settings.initial_executors),
            goal_again=self._bounds.goal_again,
            release_held=self._executors.release_held,
            context_over=self._speculation.context_over,
            context_begun=self._context_begun,
            epoch_over=self._epoch_over,
            epoch_begun=self._epoch_begun,
        )
        # Blocks that wait for the first report of hosts; no container is asked for before they are decided. Spreading
        # waits for the report too, but not for long.
        self._spread_waits = self._placing.spreads
        self._exclusions = [
            ev.BlockRequested(host=host, reason="excluded at submit", by=SUBMIT, force=settings.force_excluded)
            for host in settings.excluded_hosts
        ]
        self._cluster_list_waits = False
        self._routes: dict[type[ev.Event], Callable[[Any, int], list[Command]]] = {
            ev.AttemptStarted: self._attempt_started,
            ev.HostsReported: self._hosts_reported,
            ev.BlockRequested: self._block_requested,
            ev.UnblockRequested: self._unblock_requested,
            ev.HostExcluded: self._blocklist.excluded_by_spark,
            ev.HostUnexcluded: self._blocklist.taken_back_by_spark,
            ev.ClusterBlocksRead: self._cluster_blocks_read,
            ev.FeedLagged: self._feed_lagged,
            ev.PlacementAcknowledged: self._placement_acknowledged,
            ev.PendingExplained: self._pending_explained,
            ev.ProblemNoticed: self._problem_noticed,
            ev.ProgramWarned: self._program_warned,
            ev.TimerFired: self._timer_fired,
            ev.ScaleRequested: self._phase.scale,
            **self._driver.routes,
            **self._executors.routes,
            **self._recovery.routes,
            ev.DriverReady: self._driver_ready,
            rec.JournalReplayed: self._journal_replayed,
            **self._speculation.routes,
            ev.JobEnded: self._job_ended,
            ev.DriverLost: self._driver_lost,
        }
        self._timer_families: dict[str, Callable[[str, str, int], list[Command]]] = {
            TIMER_FAMILY: lambda name, _, now_ms: self._blocklist.expire(name, now_ms),
            REMOVED_TIMER_FAMILY: lambda _, executor_id, __: self._executors.removal_overdue(executor_id),
            LIVE_TIMER_FAMILY: lambda _, executor_id, __: self._recovery.live_overdue(executor_id),
        }
        self._single_timers: dict[str, Callable[[int], list[Command]]] = {
            BACKOFF_TIMER: self._backoff_over,
            HOSTS_TIMER: self._hosts_unknown,
            SPREAD_HOSTS_TIMER: self._spread_waited,
            WAIT_TIMER: self._wait_over,
            **self._phase.timers,
            LEFT_OVER_TIMER: lambda _: self._executors.left_over_overdue(),
            **self._driver.timers,
            **self._recovery.timers,
            **self._speculation.timers,
            CARRY_TIMER: lambda _: [],
            SPREAD_TIMER: lambda _: [],
        }

    def hears(self, epoch: int) -> bool:
        """Whether what the driver of this epoch tells is to be handed over; what is not is refused."""
        return self._lifecycle.hears(epoch)

    def refuse(self, event: ev.Event, epoch: int) -> rec.EpochRefused | None:
        """An event that is not heard changes nothing. It is counted if a driver told it."""
        return self._refusals.refuse(event, epoch)

    def handle(self, event: ev.Event, now_ms: int) -> list[Command]:
        """Take one event and give the commands that follow from it, in the order in which they are to be done."""
        if self._lifecycle.over:
            return []
        route = self._routes.get(type(event))
        commands = route(event, now_ms) if route is not None else []
        if not self._lifecycle.over:
            commands += self._phase.look(event, now_ms)
            commands += self._settle(ev.after(event), now_ms)
        if not self._lifecycle.over:
            commands += self._carry.look(event, now_ms)
        return self._warnings.paced(commands, now_ms)

    def speculation_view(self, now_ms: int) -> SpeculationView:
        """A view of slow tasks, copies and blocks."""
        return explain.view_of(self._speculation, now_ms)

    @property
    def hosts_left_in_use(self) -> dict[str, str]:
        """The hosts that nothing blocks by itself, with the reason and what detectors said of them."""
        return dict(self._blocklist.never_blocked.why)

    def running_attempts(self, most: int) -> tuple[RunningAttempt, ...]:
        """The task attempts that run now, at most so many."""
        return running_attempts(self._speculation.table, most)

    def explain_task(self, stage: int, index: int, now_ms: int) -> Explanation | None:
        """Why a task was or was not copied; None when nothing is known of it."""
        return explain.explain_task(self._speculation, stage, index, now_ms)

    def explain_host(self, host: str, now_ms: int) -> Explanation | None:
        """Why a host is or is not blocked; None when nobody has heard of it."""
        found = explain.explain_host(self._speculation, host, now_ms, known=host in self._hosts.known)
        if found is None:
            return None
        more = (*self._placing.explain(host), self._recovery.explain_host(host))
        return msgspec.structs.replace(found, lines=(*found.lines, *filter(None, more)))

    # the attempt, the hosts and what is blocked

    def _attempt_started(self, event: ev.AttemptStarted, now_ms: int) -> list[Command]:
        if self._lifecycle.started:
            return self._stale()
        self._lifecycle.begin(event.epoch)
        self._containers.begin_epoch(event.epoch)
        self._placing.begin(event.application_id)
        said = f"attempt {event.attempt} runs on {event.host}; epoch {event.epoch} begins"
        begun = self._recovery.begin(event.epoch, said, now_ms)
        return begun if self._lifecycle.over else begun + self._await_hosts(now_ms) + self._await_spread(now_ms)

    def _recovery_of_an_epoch(self, lost_writes: str = "") -> EpochRecovery:
        saved_output_hosts = SavedOutputHosts(
            self._settings.recovery,
            timers=self._timers,
            hosts=self._hosts,
            blocklist=self._blocklist,
            containers=self._containers,
        )
        return EpochRecovery(
            self._settings.recovery, self._lifecycle, self._timers, saved_output_hosts, lost_writes=lost_writes
        )

    def _context_begun(self, first: bool, now_ms: int) -> list[Command]:
        return self._recovery.driver_ready(first, now_ms)

    def _epoch_begun(self, epoch: int, why: str, now_ms: int) -> list[Command]:
        return self._recovery.begin(epoch, why, now_ms)

    def _epoch_over(self, now_ms: int) -> list[Command]:
        ended = self._phase.driver_lost()
        self._recovery.over()
        self._carry.epoch_over()
        self._speculation.epoch_over()
        self._recovery = self._recovery_of_an_epoch(self._recovery.lost_writes)
        self._routes.update(self._recovery.routes)
        self._routes[rec.JournalReplayed] = self._journal_replayed
        self._single_timers |= self._recovery.timers
        return ended + self._executors.driver_lost(now_ms)

    def _journal_replayed(self, event: rec.JournalReplayed, now_ms: int) -> list[Command]:
        # Before the driver is started and containers are asked for.
        carried = self._carry.replayed(event, now_ms)
        # The wishes come from the event log. The journal knows its hosts better.
        known = self._carry.restored
        self._exclusions = [one for one in self._exclusions if not one.earlier or one.host not in known]
        return carried + self._recovery.routes[rec.JournalReplayed](event, now_ms)

    def _await_hosts(self, now_ms: int) -> list[Command]:
        if not self._blocks_wait or not self._lifecycle.started or self._timers.wanted(HOSTS_TIMER):
            return []
        wait_ms = self._settings.placement.hosts_wait_ms
        what = f"{len(self._exclusions)} excluded hosts" if self._exclusions else "the hosts on the cluster's list"
        said = f"no container is asked for until {what} are blocked, {wait_ms / 1000:g} s at most"
        return [self._timers.set(HOSTS_TIMER, now_ms + wait_ms, said)]

    def _await_spread(self, now_ms: int) -> list[Command]:
        if not self._spread_waits:
            return []
        said = f"containers are spread over the hosts: these are waited for, {_SPREAD_WAITS_MS / 1000:g} s at most"
        return [self._timers.set(SPREAD_HOSTS_TIMER, now_ms + _SPREAD_WAITS_MS, said)]

    def _spread_waited(self, _now_ms: int) -> list[Command]:
        self._spread_waits = False
        return []

    @property
    def _blocks_wait(self) -> bool:
        return bool(self._exclusions) or self._cluster_list_waits

    @property
    def _undecided(self) -> bool:
        return self._blocks_wait or self._spread_waits

    def _hosts_reported(self, event: ev.HostsReported, now_ms: int) -> list[Command]:
        self._hosts.replace(event.hosts)
        self._cluster_list.changed = True
        self._spread_waits = False
        self._timers.cancel(SPREAD_HOSTS_TIMER)
        return self._decide_exclusions(now_ms) + self._blocklist.keep_enough() + self._executors.hosts_reported()

    def _decide_exclusions(self, now_ms: int) -> list[Command]:
        self._timers.cancel(HOSTS_TIMER)
        exclusions, self._exclusions = self._exclusions, []
        self._cluster_list_waits = False
        return [command for wish in exclusions for command in self._blocklist.request(wish, now_ms)]

    def _block_requested(self, event: ev.BlockRequested, now_ms: int) -> list[Command]:
        if (event.by == SUBMIT or event.earlier) and not self._hosts.reported:
            self._exclusions.append(event)
            return self._await_hosts(now_ms)
        if not event.earlier:
            self._carry.asked(event.host)
        return self._blocklist.request(event, now_ms)

    def _unblock_requested(self, event: ev.UnblockRequested, now_ms: int) -> list[Command]:
        # A user who unblocks a host vouches for it, whether it is blocked now or not.
        if event.level == "application" and not event.executor_id:
            self._speculation.forget_host(event.host, now_ms)
            self._carry.vouched(event.host)
        return self._blocklist.release(event)

    def _cluster_blocks_read(self, event: ev.ClusterBlocksRead, now_ms: int) -> list[Command]:
        self._cluster_list.read(event)
        if self._hosts.reported:
            return []
        self._cluster_list_waits = bool(event.blocks)
        return self._await_hosts(now_ms)

    # the rest

    def _placement_acknowledged(self, event: ev.PlacementAcknowledged, now_ms: int) -> list[Command]:
        if not self._placement.acknowledge(event.version):
            return self._stale()
        newest = event.version == self._placement.version
        return self._placing.acknowledged(now_ms) if newest else []

    def _pending_explained(self, event: ev.PendingExplained, _now_ms: int) -> list[Command]:
        self._lifecycle.pending_reason = event.reason
        return []

    def _problem_noticed(self, event: ev.ProblemNoticed, _now_ms: int) -> list[Command]:
        return [Warn(reason=event.message.strip() or "a part of the application master had a problem")]

    def _program_warned(self, event: ev.ProgramWarned, _now_ms: int) -> list[Command]:
        return [Warn(reason=event.message.strip() or f"the program sets {event.key}, which yarnspec owns")]

    def _feed_lagged(self, event: ev.FeedLagged, _now_ms: int) -> list[Command]:
        said = "observations of tasks were lost on their way and are not among the events"
        return [Warn(reason=said, times=event.count)]

    def _job_ended(self, event: ev.JobEnded, now_ms: int) -> list[Command]:
        return self._recovery.job_ended(event, now_ms) + self._speculation.routes[ev.JobEnded](event, now_ms)

    def _driver_ready(self, event: ev.DriverReady, now_ms: int) -> list[Command]:
        self._bounds.context_begins(event.dynamic_bounds)
        return self._driver.routes[ev.DriverReady](event, now_ms)

    def _driver_lost(self, event: ev.DriverLost, now_ms: int) -> list[Command]:
        # First: the journal of the epoch that has ended takes the record.
        return self._recovery.driver_lost(event) + self._driver.routes[ev.DriverLost](event, now_ms)

    def _timer_fired(self, event: ev.TimerFired, now_ms: int) -> list[Command]:
        due = self._timers.take(event, now_ms)
        if due is False:
            return []
        if due is not True:
            return [due]
        family, _, named = event.name.partition(":")
        if family in self._timer_families:
            return self._timer_families[family](event.name, named, now_ms)
        return self._single_timers[event.name](now_ms)

    def _backoff_over(self, _now_ms: int) -> list[Command]:
        self._containers.held = 0
        self._containers.profiles_held = False
        return []

    def _hosts_unknown(self, now_ms: int) -> list[Command]:
        said = (
            "the cluster's hosts could not be listed; the hosts excluded at submit are blocked unchecked, and the "
            "cluster's list is heeded as soon as they are known"
        )
        self._spread_waits = False
        return [Warn(reason=said), *self._decide_exclusions(now_ms)]

    def _wait_over(self, now_ms: int) -> list[Command]:
        verdict = self._lifecycle.timed_out(
            self._containers,
            self._phase.have,
            now_ms,
            blocked=self._blocklist.hosts,
            fit_nowhere=self._executors.fit_nowhere(),
        )
        return self._lifecycle.fail(EXIT_NO_RESOURCES, verdict) if verdict else self._phase.wait_over()

    # what follows from every event

    def _settle(self, why: str, now_ms: int) -> list[Command]:
        self._containers.absorb_extra()
        commands = self._cluster_list.settle(now_ms)
        commands += [*self._task_blocks.update(why), *self._recovery.settle()]
        asked: tuple[str, ...] = ()
        containers = self._containers
        waits = self._undecided or self._recovery.waits or self._placing.waits
        asks = self._lifecycle.lives and not self._lifecycle.stopping and not waits
        if asks:
            before = containers.summary()
            commands += [
                ReleaseContainer(executor_id=executor_id, reason=f"more asked for than wanted ({before})")
                for executor_id in containers.withdraw_surplus()
            ]
            asked = self._placing.ask()
            if containers.missing and not containers.live and not containers.ids_left:
                said = f"epoch {self._lifecycle.epoch} has used up its {IDS_PER_EPOCH - 1} executor ids"
                return commands + self._lifecycle.fail(EXIT_FAILED, said)
        commands += self._placing.settle(now_ms)
        if asks:
            commands += self._placing.tell_not_asked()
        if containers.asks.changed or self._placement.changed:
            containers.asks.changed = False
            commands.append(self._placement.next(containers.asks.wanted, why))
        for profile, ids in containers.by_profile(asked).items():
            kind = f" of resource profile {profile}" if profile else ""
            said = f"{len(ids)} containers{kind} are missing {why} ({containers.summary()})"
            size = containers.profiles.to_tell(profile)
            commands.append(RequestContainers(executor_ids=ids, profile=size, reason=said))
        return commands + self._lifecycle.watch(containers, now_ms)

    def _stale(self) -> list[Command]:
        self._out_of_order += 1
        return []
