"""Where containers would be asked for, and where those of an application are: what ``yarnspec plan`` shows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal

import msgspec

from yarnspec.core.blocking.hosts import Hosts
from yarnspec.core.containers.executor_table import ExecutorTable
from yarnspec.core.containers.placing import Placing
from yarnspec.core.containers.profiles import USUAL, lacks, lacks_now, why_none_may, why_nowhere
from yarnspec.core.messages.commands import PlacementRule, RelaxPlacement, Warn
from yarnspec.core.messages.events import ExecutorProfile, HostReport, PlacementInEffect
from yarnspec.core.messages.settings import Settings
from yarnspec.core.messages.timers import Timers
from yarnspec.gateway.application.handle import Application
from yarnspec.gateway.cluster.access import Cluster
from yarnspec.gateway.flags.request import SubmitRequest
from yarnspec.gateway.submit.clustercheck import ask_cluster
from yarnspec.gateway.submit.preparation import read_request
from yarnspec.observe.forms.document import ContainerStatus, ProfileStatus, StatusDocument
from yarnspec.units import counted, format_duration
from yarnspec.yarn.rm.constraint import constraint_of, in_effect, parse
from yarnspec.yarn.rm.hosts import ALL_STATES, likely_reports
from yarnspec.yarn.rm.rm_reports import Host

_NONE_AT_THE_START = "0 executors are asked for at the start; dynamic allocation asks for more"


class PlannedContainer(msgspec.Struct, frozen=True, kw_only=True):
    """An executor's container with its slots. ``hosts``: where else it may come; ``rule``: why it is there.

    ``slots``: 0 if the application has not told them yet. ``profile``: the resource profile of its executor; 0 is the
    usual size.
    """

    executor_id: str
    state: Literal["planned", "asked", "ALLOCATED", "RUNNING"]
    slots: int
    profile: int = 0
    rule: PlacementRule = ""
    hosts: tuple[str, ...] = ()


class PlannedHost(msgspec.Struct, frozen=True, kw_only=True):
    """A host with the containers of the application; ``why_not`` says why it takes no more."""

    host: str
    free_memory_mb: int
    why_not: str = ""
    containers: tuple[PlannedContainer, ...] = ()


class PlacementPlan(msgspec.Struct, frozen=True, kw_only=True):
    """Hosts, containers and slots, and the rules behind them; ``anywhere``: containers without a host of their own.

    ``not_asked_for``: how many more executors are wanted, and ``why_not_asked_for`` says it in words. ``profiles``: the
    sizes of the executors that are not of the usual one. ``relaxed``: why soft rules gave way, or would. ``warnings``:
    why the plan may be wrong, and which executors no host takes.
    """

    schema: int = 1
    application_id: str = ""
    mode: str
    constraint: str = ""
    hosts: tuple[PlannedHost, ...]
    anywhere: tuple[PlannedContainer, ...] = ()
    not_asked_for: int = 0
    why_not_asked_for: str = ""
    profiles: tuple[ProfileStatus, ...] = ()
    rules: tuple[str, ...] = ()
    relaxed: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def plan_of_request(request: SubmitRequest) -> PlacementPlan:
    """The containers that a submit would ask for now. Nothing is submitted.

    The application master's container comes first and takes room on a host that nobody knows before.

    Raises:
        UsageError, NotFound, ClusterUnreachable: as for a submit.
    """
    read = read_request(request)
    translation, sizes = read.translation, read.sizes
    cluster = Cluster.from_environment(translation.options)
    try:
        answer = ask_cluster(cluster, translation, sizes, force=request.force)
    finally:
        cluster.close()
    options = translation.options.placement
    settings = Settings(
        initial_executors=sizes.initial_executors,
        executor_memory_mb=sizes.executor.container_memory_mb,
        executor_vcores=sizes.executor.cores,
        executor_label=sizes.executor.label,
        queue_label=answer.queue_label,
        executor_resources=sizes.executor.resources,
        largest_container=(answer.largest.memory_mb, answer.largest.vcores),
        memory_step_mb=answer.memory_step_mb,
        placement=options,
    )
    reports = likely_reports(answer.hosts, constraint_of(options))
    planned = _planned(in_effect(settings), reports, answer.kept_off, mode=answer.mode.mode, slots=sizes.executor.slots)
    return msgspec.structs.replace(planned, warnings=answer.warnings)


def _planned(
    settings: Settings, hosts: Sequence[HostReport], blocked: Mapping[str, str], *, mode: str, slots: int
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
    told = [*placing.settle(0), *placing.tell_not_asked()]
    asked = [
        PlannedContainer(executor_id=one.id, state="planned", slots=slots, rule=one.rule, hosts=one.hosts)
        for one in table.asks.wanted
    ]
    none_yet = "" if settings.initial_executors else _NONE_AT_THE_START
    in_effect_now = settings.placement_in_effect
    return PlacementPlan(
        mode=mode,
        constraint=settings.placement.constraint,
        hosts=tuple(
            _drawn_host(one, asked, blocked, sizes=(table.profiles.usual,), label=in_effect_now.label) for one in hosts
        ),
        anywhere=tuple(each for each in asked if not each.hosts),
        not_asked_for=settings.initial_executors - len(asked),
        why_not_asked_for="".join(one.reason for one in told if isinstance(one, Warn)) or none_yet,
        rules=rules(settings.placement.constraint, in_effect_now),
        relaxed=tuple(one.reason for one in told if isinstance(one, RelaxPlacement)),
    )


def _drawn_host(
    host: HostReport,
    asked: Iterable[PlannedContainer],
    blocked: Mapping[str, str],
    *,
    sizes: Sequence[ExecutorProfile],
    label: str,
    there: Iterable[PlannedContainer] = (),
) -> PlannedHost:
    """A host with what is ``there`` and what is asked for there. One that has neither may just be full."""
    containers = (*there, *(each for each in asked if each.hosts[:1] == (host.host,)))
    why_not = blocked.get(host.host, "") or _why_unfit(host, sizes, label)
    if not why_not and not containers:
        why_not = _of_all([lacks_now(host, size) for size in sizes])
    return PlannedHost(host=host.host, free_memory_mb=host.free_memory_mb or 0, why_not=why_not, containers=containers)


def _why_unfit(host: HostReport, sizes: Sequence[ExecutorProfile], label: str) -> str:
    """Why executors of none of these sizes may be on a host, whether it has room now or not."""
    return why_none_may(host, label) or _of_all([lacks(host, size) for size in sizes])


def _of_all(reasons: Sequence[str]) -> str:
    """The first of these reasons if there is one for each size."""
    return reasons[0] if reasons and all(reasons) else ""


def plan_of_application(application: Application) -> PlacementPlan:
    """Where the containers of a running application are, and what it asks for."""
    return _where(application.status(), application.cluster.rm.hosts(ALL_STATES))


def _where(document: StatusDocument, hosts: Collection[Host]) -> PlacementPlan:
    blocked = {one.host: one.reason for one in document.blocked_hosts}
    there = [one for one in document.containers if one.role == "executor" and one.state != "COMPLETE"]
    told = [*filter(None, (document.usual_executor,)), *document.profiles]
    sizes = [_size_of(one) for one in told]
    slots = {one.id: one.slots for one in told}
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
    placement = document.placement
    reports = likely_reports(hosts, parse(document.placement_constraint) if document.placement_constraint else None)
    if placement is None:  # Which label the executors need is not known: no host is unfit for its labels.
        reports = [msgspec.structs.replace(one, labels=()) for one in reports]
    label = placement.label if placement is not None else ""
    drawn = [
        _drawn_host(
            host,
            asked,
            blocked,
            sizes=sizes,
            label=label,
            there=[_drawn(one, slots) for one in there if one.host == host.host],
        )
        for host in reports
    ]
    # Executors for copies come beside the number that is wanted. With some of them this is too few, never too many.
    missing = 0 if document.ended else max(0, document.wanted_containers - len(there) - len(asked))
    usable = [one for one in reports if one.host not in blocked and not _why_unfit(one, sizes, label)]
    wanted = () if document.ended else [size for size in sizes if size.count]
    nowhere = {_of_profile(size): why for size in wanted if (why := why_nowhere(reports, size, label, blocked))}
    why_none = "; ".join(f"no host takes any{whose}" for whose in nowhere) if usable else "no host takes any"
    if usable and placement is not None and (most := placement.max_per_host):
        full = {one.host for one in drawn if len(one.containers) >= most}
        if {one.host for one in usable} <= full:
            why_none = f"at most {most} may be on one host ({placement.limited_by})"
    return PlacementPlan(
        application_id=document.application_id,
        mode=document.placement_mode,
        constraint=document.placement_constraint,
        hosts=tuple(drawn),
        anywhere=tuple(each for each in asked if not each.hosts),
        warnings=tuple(f"no running host takes executors{whose}: {why}" for whose, why in nowhere.items()),
        not_asked_for=missing,
        why_not_asked_for=_missing_in_words(missing, why_none),
        profiles=document.profiles,
        rules=() if placement is None else rules(document.placement_constraint, placement),
        relaxed=tuple(one.reason for one in document.relaxations if one.holds and not document.ended),
    )


def _size_of(one: ProfileStatus) -> ExecutorProfile:
    return ExecutorProfile(
        id=one.id, count=one.wanted, memory_mb=one.memory_mb, cores=one.cores, slots=one.slots, resources=one.resources
    )


def _of_profile(size: ExecutorProfile) -> str:
    return "" if size.id == USUAL else f" of profile {size.id}"


def _missing_in_words(missing: int, why: str) -> str:
    if not missing:
        return ""
    said = f"{counted(missing, 'executor is', 'executors are')} not asked for now"
    return f"{said}: {why}" if why else said


def _drawn(one: ContainerStatus, slots: Mapping[int, int]) -> PlannedContainer:
    """An executor's container as it is now; ``slots``: those of each profile that is known."""
    return PlannedContainer(
        executor_id=one.executor_id or "",
        state="ALLOCATED" if one.state == "ALLOCATED" else "RUNNING",
        slots=slots.get(one.profile, one.cores),
        profile=one.profile,
        rule=one.rule,
    )


def rules(constraint: str, placement: PlacementInEffect) -> tuple[str, ...]:
    """The rules that hold, the hard ones first, and what would be relaxed."""
    said = ["hard: no container on a blocked host"]
    most = placement.max_per_host
    if placement.label:
        said.append(f"hard: only hosts with the node label {placement.label}")
    if constraint:
        said.append(f"hard: {constraint}")
    if most:
        said.append(f"hard: at most {counted(most, 'executor')} on one host")
    if placement.spread:
        wait = format_duration(placement.spread_wait_ms)
        wider = "one other host, then on any of the emptiest, then anywhere"
        wider = "one other host, then on any host below the limit" if most else wider
        said.append(
            "soft: spread (the application's id decides between equal hosts). "
            f"What does not come within {wait} may come on {wider}"
        )
    elif constraint and not most and parse(constraint).follows_tags(()):
        said.append("no spreading: with in or cardinality only the ResourceManager knows the hosts")
    else:
        said.append("no spreading: placement.spread is false")
    return tuple(said)
