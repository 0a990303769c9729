"""Where containers would be asked for, and where those of an application are: what ``yarnspec plan`` shows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

import msgspec

from yarnspec.core.blocking.hosts import Hosts
from yarnspec.core.containers.executor_table import ExecutorTable
from yarnspec.core.containers.placing import Placing
from yarnspec.core.containers.profiles import lacks
from yarnspec.core.messages.commands import PlacementRule
from yarnspec.core.messages.events import ExecutorProfile, HostReport
from yarnspec.core.messages.settings import Settings
from yarnspec.core.messages.timers import Timers
from yarnspec.core.options.placement import PlacementSettings
from yarnspec.gateway.application.handle import Application
from yarnspec.gateway.cluster.access import Cluster
from yarnspec.gateway.flags.request import SubmitRequest
from yarnspec.gateway.submit.constraintcheck import check_constraint
from yarnspec.gateway.submit.listedhosts import listed_hosts
from yarnspec.gateway.submit.preparation import read_request
from yarnspec.observe.forms.document import ContainerStatus, ProfileStatus, StatusDocument
from yarnspec.units import format_duration
from yarnspec.yarn.rm.constraint import constraint_of, in_effect
from yarnspec.yarn.rm.hosts import ALL_STATES, report_of
from yarnspec.yarn.rm.placement_mode import resolve
from yarnspec.yarn.rm.rm_reports import Host


class PlannedContainer(msgspec.Struct, frozen=True, kw_only=True):
    """An executor's container with its slots. ``hosts``: where else it may come; ``rule``: why it is there.

    ``profile``: the resource profile of its executor; 0 is the usual size.
    """

    executor_id: str
    state: Literal["planned", "asked", "ALLOCATED", "RUNNING"]
    slots: int
    profile: int = 0
    rule: PlacementRule = ""
    hosts: tuple[str, ...] = ()


class PlannedHost(msgspec.Struct, frozen=True, kw_only=True):
    """A host with the containers of the application; ``why_not`` says why it takes none."""

    host: str
    free_memory_mb: int
    why_not: str = ""
    containers: tuple[PlannedContainer, ...] = ()


class PlacementPlan(msgspec.Struct, frozen=True, kw_only=True):
    """Hosts, containers and slots, and the rules behind them; ``anywhere``: containers without a host of their own.

    ``profiles``: the sizes of the executors that are not of the usual one.
    """

    schema: int = 1
    application_id: str = ""
    mode: str
    constraint: str = ""
    hosts: tuple[PlannedHost, ...]
    anywhere: tuple[PlannedContainer, ...] = ()
    not_asked_for: int = 0
    profiles: tuple[ProfileStatus, ...] = ()
    rules: tuple[str, ...] = ()
    relaxed: tuple[str, ...] = ()


def plan_of_request(request: SubmitRequest) -> PlacementPlan:
    """The containers that a submit would ask for now. Nothing is submitted.

    The application master's container comes first and takes room on a host that nobody knows before.

    Raises:
        UsageError, NotFound, ClusterUnreachable: as for a submit.
    """
    read = read_request(request)
    translation, sizes = read.translation, read.sizes
    options = translation.options.placement
    cluster = Cluster.from_environment(translation.options)
    try:
        hosts = cluster.rm.hosts(ALL_STATES)
        queue = cluster.rm.queue(translation.yarn.queue)
        mode = resolve(options.mode, cluster.rm, options.host_attribute)
        check_constraint(options, mode, hosts, label=sizes.executor.label)
        running = [host.host for host in hosts if host.state == "RUNNING"]
        listed, _ = listed_hosts(cluster, translation.options, running, translation.exclude_hosts)
    finally:
        cluster.close()
    settings = Settings(
        initial_executors=sizes.initial_executors,
        executor_memory_mb=sizes.executor.container_memory_mb,
        executor_vcores=sizes.executor.cores,
        executor_label=sizes.executor.label,
        queue_label=queue.default_label,
        executor_resources=sizes.executor.resources,
        placement=in_effect(options),
    )
    blocked = dict.fromkeys(listed, "it is on the cluster's list of blocked hosts")
    blocked |= dict.fromkeys(translation.exclude_hosts, "it is excluded at submit")
    # YARN tells only application masters whether the scheduler counts cores. One that does never gives more than a
    # host has.
    counts_cores = all(host.used_vcores <= host.vcores for host in hosts)
    reports = [report_of(host, constraint_of(options), counts_cores=counts_cores) for host in hosts]
    return _planned(settings, reports, blocked, mode=mode.mode, slots=sizes.executor.slots)


def _planned(
    settings: Settings, hosts: Iterable[HostReport], blocked: dict[str, str], *, mode: str, slots: int
) -> PlacementPlan:
    known, table = Hosts(), ExecutorTable(settings)
    known.replace(tuple(hosts))
    placing = Placing(
        settings,
        containers=table,
        hosts=known,
        timers=Timers(),
        blocked=lambda: tuple(sorted(blocked)),
        factor=lambda _: 1.0,
    )
    placing.ask()
    placing.settle(0)
    asked = [
        PlannedContainer(executor_id=one.id, state="planned", slots=slots, rule=one.rule, hosts=one.hosts)
        for one in table.asks.wanted
    ]
    return PlacementPlan(
        mode=mode,
        constraint=settings.placement.constraint,
        hosts=tuple(
            PlannedHost(
                host=one.host,
                free_memory_mb=one.free_memory_mb or 0,
                why_not=blocked.get(one.host, "") or _why_unfit(one, table.profiles.usual),
                containers=tuple(each for each in asked if each.hosts[:1] == (one.host,)),
            )
            for one in sorted(known.reports.values(), key=lambda one: one.host)
        ),
        anywhere=tuple(each for each in asked if not each.hosts),
        not_asked_for=table.missing,
        rules=rules(settings.placement),
    )


def _why_unfit(host: HostReport, size: ExecutorProfile) -> str:
    if host.state != "RUNNING":
        return f"it is {host.state}"
    return lacks(host, size) or ("" if host.suits else "your constraint does not hold there")


def plan_of_application(application: Application) -> PlacementPlan:
    """Where the containers of a running application are, and what it asks for."""
    return _where(application.status(), application.cluster.rm.hosts(ALL_STATES))


def _where(document: StatusDocument, hosts: Iterable[Host]) -> PlacementPlan:
    blocked = {one.host: one.reason for one in document.blocked_hosts}
    there = [one for one in document.containers if one.role == "executor" and one.state != "COMPLETE"]
    slots = {one.id: one.slots for one in document.profiles}
    asked = [
        PlannedContainer(
            executor_id="",
            state="asked",
            slots=slots.get(ask.profile, 0),
            profile=ask.profile,
            rule=ask.rule,
            hosts=ask.hosts,
        )
        for ask in document.asks
        for _ in range(ask.containers)
    ]
    return PlacementPlan(
        application_id=document.application_id,
        mode=document.placement_mode,
        constraint=document.placement_constraint,
        hosts=tuple(
            PlannedHost(
                host=host.host,
                free_memory_mb=max(0, host.memory_mb - host.used_memory_mb),
                why_not=blocked.get(host.host, "") or (f"it is {host.state}" if host.state != "RUNNING" else ""),
                containers=(
                    *(_drawn(one, slots) for one in there if one.host == host.host),
                    *(each for each in asked if each.hosts[:1] == (host.host,)),
                ),
            )
            for host in sorted(hosts, key=lambda one: one.host)
        ),
        anywhere=tuple(each for each in asked if not each.hosts),
        profiles=document.profiles,
        relaxed=tuple(one.reason for one in document.relaxations),
    )


def _drawn(one: ContainerStatus, slots: Mapping[int, int]) -> PlannedContainer:
    """An executor's container as it is now; ``slots``: those of the profiles beside the usual one."""
    return PlannedContainer(
        executor_id=one.executor_id or "",
        state="ALLOCATED" if one.state == "ALLOCATED" else "RUNNING",
        slots=slots.get(one.profile, one.cores),
        profile=one.profile,
    )


def rules(options: PlacementSettings) -> tuple[str, ...]:
    """The rules that hold, the hard ones first, and what would be relaxed."""
    said = ["hard: no container on a blocked host"]
    if options.constraint:
        said.append(f"hard: {options.constraint}")
    if options.max_per_host:
        said.append(f"hard: at most {options.max_per_host} executors on one host")
    if options.spread:
        wait = format_duration(options.spread_wait_ms)
        wider = "one other host, then on any of the emptiest, then anywhere"
        wider = "another host below the limit" if options.max_per_host else wider
        said.append(f"soft: spread. What does not come within {wait} may come on {wider}")
    return tuple(said)
