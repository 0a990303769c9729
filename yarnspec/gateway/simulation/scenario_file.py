"""A scenario of the simulator in a file: hosts, executors, the program, and what goes wrong."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import partial
from importlib import resources
from pathlib import Path
from typing import NamedTuple

import msgspec

from yarnspec import options as yarnspec_options
from yarnspec.core.messages.events import BlockRequested, Event, ScaleRequested, UnblockRequested
from yarnspec.core.messages.observations import NONE, StageFlag
from yarnspec.core.messages.settings import RecoverySettings, Settings
from yarnspec.errors import UsageError
from yarnspec.gateway.simulation.located import Section, count, duration, number, read_yaml, share, size, truth
from yarnspec.options import Options
from yarnspec.simulate.whatif.plan import HostLife, SimulationPlan
from yarnspec.simulate.world.scenario import HostPlan, JobPlan, StagePlan

_MEMORY_MB = 1024
_SKEWED = 5
_GROUPS = ("placement", "resources", "executor", "speculation", "detector", "blocklist")
_UNUSED = (
    "placement.mode",
    "placement.host_attribute",
    "placement.constraint",
    "placement.tags",
    "placement.spread_tasks",
    "placement.task_seed",
    "placement.locality_weight",
    "blocklist.cluster_directory",
    "blocklist.cluster_refresh",
)
"""Options of these groups that describe what the simulator does not have."""
_ELSEWHERE = {"resources.min_executors", "resources.max_executors"}
MOST_HOSTS, MOST_TASKS = 50_000, 1_000_000


class WhatIfScenario(NamedTuple):
    """A file's scenario. ``warnings`` tells of aliases among its options, and of those without effect."""

    plan: SimulationPlan
    warnings: tuple[str, ...]


def scenario_text(path: Path) -> str:
    """The text of a file, or of a scenario that yarnspec ships, by its name; raise UsageError where there is none."""
    shipped = {
        one.name.removesuffix(".yaml"): one for one in resources.files("yarnspec.conf").joinpath("scenarios").iterdir()
    }
    try:
        if path.name == str(path) and path.stem in shipped and not path.exists():
            return shipped[path.stem].read_text(encoding="utf-8")
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        message = f"cannot read {path}: {why}. yarnspec ships the scenarios {', '.join(sorted(shipped))}"
        raise UsageError(message) from error


def read_scenario(text: str, file: str, seed: int | None = None) -> WhatIfScenario:
    """Read a scenario; raise UsageError with line and key for what is wrong in it. ``seed`` wins over the file's."""
    top = read_yaml(text, file)
    top.only("name", "seed", "hosts", "executors", "faults", "scale", "block", "options", "jobs")
    chosen = top.read("seed", 1, partial(count, least=0, most=2**53))
    seed = chosen if seed is None else seed
    name = top.read("name", file, str)
    loaded = _options(top)
    settings, slots, faults = _executors(top, loaded.options)
    hosts = _hosts(top)
    jobs = _jobs(top, random.Random(seed))  # noqa: S311 - chance from a seed
    plan = SimulationPlan(
        name=name,
        seed=seed,
        settings=settings.core,
        hosts=hosts,
        jobs=jobs,
        slots=slots,
        container_ms=settings.container_ms,
        wishes=tuple(sorted([*_scales(top), *_blocks(top, hosts)], key=lambda one: one[0])),
        heartbeat_ms=settings.core.detector.heartbeat_interval_ms,
        never_comes=faults.never_comes,
        container_dies=faults.container_dies,
        task_fails=faults.task_fails,
        fetch_fails=faults.fetch_fails,
    )
    unused = [
        f"{file}: options.{name} has no effect: the simulator does not use it"
        for name in sorted(loaded.asked)
        if name.split(".")[0] not in _GROUPS or name in _UNUSED
    ]
    return WhatIfScenario(plan, (*loaded.warnings, *unused))


class _Faults(NamedTuple):
    never_comes: float
    container_dies: float
    task_fails: float
    fetch_fails: float


class _ReadExecutors(NamedTuple):
    core: Settings
    container_ms: tuple[int, int]


def _options(top: Section) -> yarnspec_options.Loaded:
    given: list[str] = []
    for name, value, refuse in top.section("options").settings():
        try:
            asked = _load([f"{name}={value}"]).asked
        except UsageError as error:
            refuse(error.message.removeprefix("--set: "))
            raise AssertionError from error
        if asked & _ELSEWHERE:
            refuse("write it in executors: min, max")
        given.append(f"{name}={value}")
    return _load(given)


def _load(settings: list[str]) -> yarnspec_options.Loaded:
    return yarnspec_options.load(None, settings, {}, settings_source="scenario")


def _core_settings(options: Options, base: Settings) -> Settings:
    """The core's settings with other options."""
    return msgspec.structs.replace(
        base,
        placement=options.placement,
        resources=options.resources,
        executor=options.executor,
        speculation=options.speculation,
        detector=options.detector,
        blocks=options.blocklist,
    )


def _executors(top: Section, options: Options) -> tuple[_ReadExecutors, int, _Faults]:
    section = top.section("executors")
    section.only("count", "min", "max", "cores", "container_after", "never_comes", "die")
    cores = section.read("cores", 1, count)
    least = section.read("min", 0, partial(count, least=0))
    most = section.read("max", 0, partial(count, least=0))
    wanted = section.read("count", most or 2, count)
    if most and "count" in section and wanted != most:
        section.refuse("'count' and 'max' both say how many executors are asked for: give one", key="count")
    if least and not most:
        most = wanted
    if least > most > 0:
        section.refuse(f"at least {least} executors are more than the {most} that are asked for", key="min")
    delays = section.items("container_after", duration) or [500, 3_000]
    if len(delays) != len(("least", "most")) or delays[0] > delays[1]:
        section.refuse("it must be two durations, the shorter one first", key="container_after")
    fails = top.section("faults")
    fails.only("task_fails", "fetch_fails")
    faults = _Faults(
        section.read("never_comes", 0.0, share), section.read("die", 0.0, share),
        fails.read("task_fails", 0.0, share), fails.read("fetch_fails", 0.0, share),
    )  # fmt: skip
    if most:
        resources = msgspec.structs.replace(options.resources, min_executors=max(1, least), max_executors=most)
        options = msgspec.structs.replace(options, resources=resources)
    base = Settings(
        initial_executors=wanted, executor_memory_mb=_MEMORY_MB, executor_vcores=cores,
        recovery=RecoverySettings(enabled=False),
    )  # fmt: skip
    return _ReadExecutors(_core_settings(options, base), (delays[0], delays[1])), cores, faults


def _hosts(top: Section) -> tuple[HostLife, ...]:
    hosts: list[HostLife] = []
    for section in top.sections("hosts"):
        section.only("count", "name", "executors", "slow", "from", "until", "arrives", "every", "dies", "fails")
        how_many = section.read("count", 1, partial(count, most=MOST_HOSTS))
        name = section.read("name", "", str)
        room = section.read("executors", 1, count)
        slow = section.read("slow", 1.0, partial(number, least=0.01, most=1_000))
        from_ms, until_ms = section.read("from", 0, duration), section.read("until", 0, duration)
        arrives_ms, every_ms = section.read("arrives", 0, duration), section.read("every", 0, duration)
        dies_ms = section.read("dies", -1, duration)
        fails = section.read("fails", 0.0, share)
        for key in ("from", "until"):
            if key in section and "slow" not in section:
                section.refuse("it says when the host is slow: add 'slow', or write 'arrives' or 'dies'", key=key)
        if until_ms and until_ms <= from_ms:
            section.refuse("it must be later than 'from'", key="until")
        if 0 <= dies_ms <= arrives_ms + (how_many - 1) * every_ms:
            section.refuse("it must be later than the last one arrives: both count from the start", key="dies")
        speeds: tuple[tuple[int, float], ...] = ((0, slow),) if not from_ms else ((0, 1.0), (from_ms, slow))
        if until_ms:
            speeds += ((until_ms, 1.0),)
        for index in range(how_many):
            named = f"host{len(hosts) + 1}" if not name else name if how_many == 1 else f"{name}{index + 1}"
            plan = HostPlan(named, speeds, dies_ms=None if dies_ms < 0 else dies_ms, fails=fails)
            hosts.append(HostLife(plan, arrives_ms + index * every_ms, room))
    if not hosts:
        top.refuse("there must be hosts: a list with 'count' and more", key="hosts")
    names = [one.plan.name for one in hosts]
    if len(set(names)) < len(names):
        top.refuse("two hosts have the same name", key="hosts")
    if len(hosts) > MOST_HOSTS:
        top.refuse(f"{len(hosts)} hosts are more than the {MOST_HOSTS} that can be simulated", key="hosts")
    return tuple(hosts)


def _jobs(top: Section, rng: random.Random) -> tuple[JobPlan, ...]:
    jobs: list[JobPlan] = []
    tasks = 0
    for section in top.sections("jobs"):
        section.only("stages")
        first = sum(len(job.stages) for job in jobs)
        stages: list[StagePlan] = []
        listed = section.sections("stages")
        if not listed:
            section.refuse("it must have stages", key="stages")
        for number_, one in enumerate(listed):
            stages.append(_stage(one, first, number_, rng))
            tasks += len(stages[-1].work_ms)
        read = {parent for stage in stages for parent in stage.parents}
        jobs.append(JobPlan(len(jobs), tuple(_written(stage) if stage.stage in read else stage for stage in stages)))
    if not jobs:
        top.refuse("there must be jobs: a list with 'stages'", key="jobs")
    if tasks > MOST_TASKS:
        top.refuse(f"{tasks} tasks are more than the {MOST_TASKS} that can be simulated", key="jobs")
    return tuple(jobs)


def _written(stage: StagePlan) -> StagePlan:
    """A stage that another one reads; any other gives results, and runs as well."""
    return replace(stage, flags=stage.flags | StageFlag.MAP)


def _stage(section: Section, first: int, own: int, rng: random.Random) -> StagePlan:
    section.only("tasks", "works", "work", "skewed", "input", "parents", "python", "commits")
    works = section.items("works", duration)
    tasks = section.read("tasks", len(works), partial(count, most=MOST_TASKS))
    if works and tasks != len(works):
        section.refuse(f"'works' lists {len(works)} tasks: leave out 'tasks'", key="tasks")
    if not tasks:
        section.refuse("it must say how many 'tasks' there are, or list their 'works'")
    work_ms = section.read("work", 1_000, duration)
    skewed = section.read("skewed", 0.0, share)
    bytes_ = section.read("input", NONE, size)
    parents = section.items("parents", partial(count, least=0)) if "parents" in section else ([own - 1] if own else [])
    if any(one >= own for one in parents):
        section.refuse("a stage reads only stages before it, which are numbered from 0 in their job", key="parents")
    flags = StageFlag.PYTHON if section.read("python", default=False, convert=truth) else StageFlag(0)
    flags |= StageFlag.COMMITS if section.read("commits", default=False, convert=truth) else StageFlag(0)
    sizes = [_SKEWED if skewed and rng.random() < skewed else 1 for _ in range(tasks)]
    return StagePlan(
        first + own,
        tuple(works) or tuple(work_ms * one for one in sizes),
        tuple(NONE if bytes_ == NONE else bytes_ * one for one in sizes),
        flags,
        tuple(first + one for one in parents),
    )


def _scales(top: Section) -> list[tuple[int, Event]]:
    found: list[tuple[int, Event]] = []
    for section in top.sections("scale"):
        section.only("at", "min", "max")
        at_ms = section.read("at", 0, duration)
        least, most = section.read("min", 1, count), section.read("max", 0, partial(count, least=0))
        if most < least:
            section.refuse(f"'max' must be {least} or more", key="max")
        found.append((at_ms, ScaleRequested(least=least, most=most, by="scenario", force=True)))
    return found


def _blocks(top: Section, hosts: tuple[HostLife, ...]) -> list[tuple[int, Event]]:
    found: list[tuple[int, Event]] = []
    names = {one.plan.name for one in hosts}
    for section in top.sections("block"):
        section.only("host", "at", "for")
        host = section.read("host", "", str)
        at_ms, for_ms = section.read("at", 0, duration), section.read("for", 0, duration)
        if not host:
            section.refuse("it must name a host", key="host")
        if host not in names:
            section.refuse(f"there is no host '{host}'.{yarnspec_options.suggest(host, names)}", key="host")
        found.append((at_ms, BlockRequested(host=host, reason="the scenario says so", by="scenario", force=True)))
        if for_ms:
            found.append((at_ms + for_ms, UnblockRequested(host=host, by="scenario")))
    return found
