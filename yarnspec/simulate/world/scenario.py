"""The scenario of a run: hosts and their speeds, jobs, what goes wrong and when. Plain values, drawn from a seed.

Times are milliseconds of virtual time since the start, work is milliseconds on a host at full speed.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

import msgspec

from yarnspec.core.detectors.registry import KINDS, DetectorSettings
from yarnspec.core.messages.events import (
    BlockRequested,
    ClusterBlock,
    ClusterBlocksRead,
    ScaleRequested,
    UnblockRequested,
)
from yarnspec.core.messages.observations import NONE, StageFlag
from yarnspec.core.messages.settings import (
    BlockSettings,
    ExecutorSettings,
    PlacementSettings,
    RecoverySettings,
    ResourcesSettings,
    Settings,
    SpeculationSettings,
)
from yarnspec.simulate.world.clock import START_MS

USER = "user"
_ORIGINALS_ONLY = (StageFlag.WRITES, StageFlag.READS, StageFlag.NO_COPIES, StageFlag.KEEPS)


@dataclass(frozen=True)
class HostPlan:
    """A host; ``speeds``: from when on its tasks take so many times as long, the first from 0 on."""

    name: str
    speeds: tuple[tuple[int, float], ...] = ((0, 1.0),)
    dies_ms: int | None = None
    fails: float = 0.0
    """The share of tasks that fail here, beside those that fail everywhere."""

    def end_ms(self, start_ms: int, work_ms: float) -> int:
        """When work that begins at a time is done."""
        at_ms = float(start_ms)
        for number, (_, factor) in enumerate(self.speeds):
            until_ms = self.speeds[number + 1][0] if number + 1 < len(self.speeds) else float("inf")
            if until_ms <= at_ms:
                continue
            if at_ms + work_ms * factor <= until_ms:
                return round(at_ms + work_ms * factor)
            work_ms -= (until_ms - at_ms) / factor
            at_ms = until_ms
        raise AssertionError("the last speed lasts for ever")


@dataclass(frozen=True)
class StagePlan:
    """A stage: the work and the known input (or ``NONE``) of each task."""

    stage: int
    work_ms: tuple[int, ...]
    input_bytes: tuple[int, ...]
    flags: StageFlag
    parents: tuple[int, ...] = ()

    @property
    def maps(self) -> bool:
        """Whether other stages read what it writes."""
        return StageFlag.MAP in self.flags


@dataclass(frozen=True)
class JobPlan:
    """A job, its stages in the order of their ids; the program runs one after the other."""

    job: int
    stages: tuple[StagePlan, ...]


@dataclass(frozen=True)
class Scenario:
    """One run's cluster, program and luck."""

    seed: int
    settings: Settings
    hosts: tuple[HostPlan, ...]
    jobs: tuple[JobPlan, ...]
    wishes: tuple[tuple[int, BlockRequested | UnblockRequested], ...] = ()
    slots: int = 2
    executors_per_host: int = 2
    container_ms: tuple[int, int] = (500, 3_000)
    never_comes: float = 0.0
    container_dies: float = 0.0
    task_fails: float = 0.0
    fetch_fails: float = 0.0
    bridge_ms: int = 5
    feed_ms: int = 50
    refused_ms: int = 5
    """How long it takes until the core hears that a copy will not start."""
    heartbeat_ms: int = 2_000
    cancelled_ms: int | None = None
    """When somebody cancels the job that runs then; no job after it starts."""
    lists: tuple[tuple[int, ClusterBlocksRead], ...] = ()
    """The cluster's list of blocked hosts as it is read at these times; nobody is on the last one."""
    targets: tuple[tuple[int, int], ...] = ()
    """How many executors dynamic allocation wants from these times on; of those that are too many the idle ones go."""
    scales: tuple[tuple[int, ScaleRequested], ...] = ()
    """Somebody asks for other bounds at these times, while the number is not Spark's."""
    forgets_ms: int | None = None
    """How long after a job's end Spark forgets its shuffles; None: never, as somebody holds on to them."""

    @classmethod
    def draw(cls, seed: int) -> Scenario:
        """The scenario of a seed."""
        rng = random.Random(seed)
        # Later additions draw from a stream of their own, so that scenarios stay what they were.
        later = random.Random(seed + (1 << 33))
        hosts = _hosts(rng)
        slots = rng.choice((1, 2, 2, 4))
        executors = rng.randint(2, max(2, len(hosts)))
        settings = _settings(rng, executors, slots)
        lo_ms = rng.choice((200, 500, 2_000))
        drawn = cls(
            seed=seed,
            settings=settings,
            hosts=hosts,
            jobs=_jobs(rng, slots),
            wishes=_wishes(rng, hosts),
            slots=slots,
            executors_per_host=rng.choice((1, 2, 3)) if executors < len(hosts) else rng.choice((2, 3)),
            container_ms=(lo_ms, lo_ms + rng.choice((100, 2_000, 20_000))),
            never_comes=rng.choice((0.0, 0.0, 0.15)),
            container_dies=rng.choice((0.0, 0.0, 0.1, 0.2)),
            task_fails=rng.choice((0.0, 0.0, 0.03, 0.1)),
            fetch_fails=rng.choice((0.0, 0.0, 0.05, 0.1)),
            bridge_ms=rng.choice((1, 5, 40)),
            feed_ms=rng.choice((50, 100, 250)),
            refused_ms=rng.choice((5, 100, 5_000)),
            heartbeat_ms=settings.detector.heartbeat_interval_ms,
            cancelled_ms=rng.randint(3_000, 15_000) if rng.random() < 0.04 else None,
            lists=_lists(later, hosts) if later.random() < 0.15 else (),
            targets=_targets(later, executors) if later.random() < 0.15 else (),
        )._with_live_adoption(later)
        drawn = replace(drawn, forgets_ms=later.choice((None, 0, 1_000, 30_000)))
        drawn = drawn._with_spreading(on=random.Random(seed + (1 << 36)).random() < 0.5)
        return drawn._with_scales(random.Random(seed + (1 << 37)), executors)

    def _with_scales(self, rng: random.Random, executors: int) -> Scenario:
        """Somebody scales the job down and up in some scenarios."""
        if self.targets or rng.random() >= 0.2:
            return self
        resources = ResourcesSettings(
            rescale_cooldown_ms=rng.choice((0, 2_000)),
            rescale_stabilization_ms=rng.choice((0, 1_000)),
            rescale_max_delay_ms=rng.choice((-1, 0, 1_000)),
        )
        times = sorted(rng.randint(1_000, 20_000) for _ in range(rng.randint(1, 5)))
        most = [rng.randint(1, executors + 2) for _ in times]
        return replace(
            self,
            settings=msgspec.structs.replace(self.settings, resources=resources),
            scales=tuple((at_ms, ScaleRequested(least=1, most=count, by=USER, force=True))
                         for at_ms, count in zip(times, most, strict=True)),
        )  # fmt: skip

    def _with_spreading(self, *, on: bool) -> Scenario:
        """Containers are spread over the hosts in some scenarios."""
        placement = msgspec.structs.replace(self.settings.placement, spread=on)
        return replace(self, settings=msgspec.structs.replace(self.settings, placement=placement))

    def _with_live_adoption(self, rng: random.Random) -> Scenario:
        """The outputs of executors that die wait for others, in some scenarios; and more executors die in them."""
        if rng.random() >= 0.2:
            return self
        recovery = RecoverySettings(
            enabled=True, live_adoption=True, live_adoption_deadline_ms=rng.choice((2_000, 15_000))
        )
        settings = msgspec.structs.replace(self.settings, recovery=recovery)
        return replace(self, settings=settings, container_dies=max(self.container_dies, rng.choice((0.2, 0.5))))


def _lists(rng: random.Random, hosts: tuple[HostPlan, ...]) -> tuple[tuple[int, ClusterBlocksRead], ...]:
    reads = []
    at_ms = 0
    for _ in range(rng.randint(1, 3)):
        at_ms += rng.randint(10, 8_000)
        names = rng.sample([host.name for host in hosts], rng.randint(1, len(hosts)))
        entries = [
            ClusterBlock(
                host=name, reason="a disk", by="ann", since_ms=START_MS + rng.randint(-5_000, at_ms),
                until_ms=START_MS + at_ms + rng.randint(1_000, 60_000), admin=rng.random() < 0.3,
            )
            for name in names
        ]  # fmt: skip
        reads.append((at_ms, ClusterBlocksRead(blocks=tuple(entries))))
    return (*reads, (at_ms + rng.randint(1_000, 30_000), ClusterBlocksRead(blocks=())))


def _targets(rng: random.Random, executors: int) -> tuple[tuple[int, int], ...]:
    times = sorted(rng.randint(2_000, 20_000) for _ in range(rng.randint(1, 4)))
    return tuple((at_ms, rng.randint(2, executors + 2)) for at_ms in times)


def _hosts(rng: random.Random) -> tuple[HostPlan, ...]:
    count = rng.randint(2, 8)
    # Somebody has to carry the job to its end: the first two hosts live, and one of them is healthy.
    hosts = [HostPlan("host1")]
    for number in range(2, count + 1):
        speeds: tuple[tuple[int, float], ...] = ((0, 1.0),)
        luck = rng.random()
        factor = rng.choice((1.5, 3.0, 5.0, 10.0))
        if luck < 0.25:
            speeds = ((0, factor),)
        elif luck < 0.35:
            speeds = ((0, 1.0), (rng.randint(2_000, 12_000), factor))
        elif luck < 0.45:
            speeds = ((0, factor), (rng.randint(4_000, 20_000), 1.0))
        hosts.append(
            HostPlan(
                f"host{number}",
                speeds,
                dies_ms=rng.randint(2_000, 25_000) if number > 2 and rng.random() < 0.06 else None,
                fails=0.6 if rng.random() < 0.1 else 0.0,
            )
        )
    return tuple(hosts)


def _settings(rng: random.Random, executors: int, slots: int) -> Settings:
    kinds = (next(iter(KINDS)), *KINDS)  # the default, which is the first, twice as often as the others
    return Settings(
        initial_executors=executors,
        executor_memory_mb=1408,
        executor_vcores=slots,
        excluded_hosts=("host2",) if rng.random() < 0.05 else (),
        placement=PlacementSettings(max_blocked_share=rng.choice((0.33, 0.5, 0.2))),
        executor=ExecutorSettings(young_age_ms=rng.choice((2_000, 30_000))),
        max_executor_failures=100,
        speculation=SpeculationSettings(
            max_concurrent_executions=rng.choice((2, 2, 2, 3)),
            max_share_of_stage=rng.choice((0.5, 1.0)),
            max_share_of_application=rng.choice((0.33, 1.0)),
            slot_patience_ms=rng.choice((500, 2_000)),
            container_idle_ms=rng.choice((2_000, 10_000)),
        ),
        detector=DetectorSettings(
            kind=rng.choice(kinds),
            check_interval_ms=rng.choice((500, 1_000)),
            baseline_lower_bound_ms=rng.choice((1_000, 3_000)),
            baseline_ratio=rng.choice((0.5, 0.75)),
            heartbeat_interval_ms=rng.choice((1_000, 2_000, 5_000)),
        ),
        blocks=BlockSettings(
            slow_duration_ms=rng.choice((5_000, 60_000)), faulty_duration_ms=rng.choice((10_000, 600_000))
        ),
    )


def _jobs(rng: random.Random, slots: int) -> tuple[JobPlan, ...]:
    stages = rng.randint(1, 4)
    left = rng.randint(max(4, stages), 40)
    jobs: list[JobPlan] = []
    of_job: list[StagePlan] = []
    for stage in range(stages):
        rest = stages - stage - 1
        tasks = left if not rest else rng.randint(1, left - rest)
        left -= tasks
        last = not rest or rng.random() < 0.3
        parents = tuple(one.stage for one in of_job if rng.random() < 0.7 or one is of_job[-1])
        of_job.append(_stage(rng, stage, tasks, parents if of_job else (), slots, last=last))
        if last:
            # A stage that no other reads would never run: the result reads all of these.
            read = {parent for one in of_job for parent in one.parents}
            unread = tuple(one.stage for one in of_job[:-1] if one.stage not in read)
            end = of_job[-1]
            of_job[-1] = StagePlan(
                end.stage, end.work_ms, end.input_bytes, end.flags, tuple(sorted({*end.parents, *unread}))
            )
            jobs.append(JobPlan(len(jobs), tuple(of_job)))
            of_job = []
    return tuple(jobs)


def _stage(
    rng: random.Random, stage: int, tasks: int, parents: tuple[int, ...], slots: int, *, last: bool
) -> StagePlan:
    flags = StageFlag(0)
    if not last:
        flags |= StageFlag.MAP
    else:
        alone = _ORIGINALS_ONLY[stage % len(_ORIGINALS_ONLY)]
        flags |= rng.choice((StageFlag(0), StageFlag.COMMITS, StageFlag.COMMITS, alone))
    if tasks <= slots and rng.random() < 0.3:
        flags |= StageFlag.BARRIER
    if rng.random() < 0.5:
        flags |= StageFlag.PYTHON
    usual_ms = rng.choice((200, 500, 1_000, 2_000))
    known = rng.random() < 0.6
    skewed = rng.random() < 0.3
    sizes = [rng.choice((1, 1, 1, 1, 5)) if skewed else rng.uniform(0.9, 1.1) for _ in range(tasks)]
    return StagePlan(
        stage,
        tuple(round(usual_ms * size) for size in sizes),
        tuple(round(1_000_000 * size) if known else NONE for size in sizes),
        flags,
        parents,
    )


def _wishes(
    rng: random.Random, hosts: tuple[HostPlan, ...]
) -> tuple[tuple[int, BlockRequested | UnblockRequested], ...]:
    if rng.random() < 0.7:
        return ()
    # Every block that a user asks for ends some time, by its duration or by the user: else the job might not.
    host = rng.choice(hosts).name
    at_ms = rng.randint(500, 10_000)
    duration_ms = rng.choice((None, 1_000, 10_000))
    wishes: list[tuple[int, BlockRequested | UnblockRequested]] = [
        (at_ms, BlockRequested(host=host, reason="disk", by=USER, duration_ms=duration_ms, force=rng.random() < 0.3))
    ]
    if duration_ms is None or rng.random() < 0.3:
        wishes.append((at_ms + rng.randint(500, 20_000), UnblockRequested(host=host, by=USER)))
    return tuple(wishes)
