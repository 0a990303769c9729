"""What happened, in the past tense: the only things that the core is told.

Every event is frozen and carries plain values, so that it can be written to the event log, read back and replayed.
Times are milliseconds since the Unix epoch.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from yarnspec.core.messages.observations import Observations

Level = Literal["task", "stage", "application", "cluster"]
"""How far a block reaches: one task of a stage, one stage, this application, every application.

The speculative execution proposal (FLINK-10644) has the same four.
"""

Cause = Literal["asked", "slow", "faulty"]


class Event(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Base of everything that is handed to ``Negotiator.handle``."""


class HostReport(msgspec.Struct, frozen=True, kw_only=True):
    """One NodeManager as the ResourceManager reports it; ``host`` is the node id without its port."""

    host: str
    rack: str = "/default-rack"
    state: str = "RUNNING"
    memory_mb: int = 0
    vcores: int = 0


class AttemptStarted(Event, frozen=True):
    """The AM container of an attempt runs and its negotiator begins.

    ``attempt_before``: how YARN says that the attempt before it ended; empty: there was none, or it is not known.
    """

    application_id: str
    attempt: int
    epoch: int
    container_id: str
    host: str
    placement_mode: Literal["blacklist", "constraints"]
    attempt_before: str = ""


class HostsReported(Event, frozen=True):
    """The cluster's hosts (NodeManagers) and their states as the ResourceManager knows them now, all of them.

    The event log of a large cluster would be full of them: there the first of an epoch is whole, the others hold only
    the hosts that changed, and the names of those that are ``gone``.
    """

    hosts: tuple[HostReport, ...]
    whole: bool = True
    gone: tuple[str, ...] = ()


class BlockRequested(Event, frozen=True):
    """Somebody wants a host kept out of placement: a user, a submit flag, or a detector of the core.

    ``executor_id``: block this executor only; ``stage`` and ``index`` say which stage and task when ``level`` is one
    of those. ``earlier``: an earlier attempt granted it. Like an exclusion at submit it is decided before the first
    container is asked for, and the host may be down or forgotten now.
    """

    host: str
    reason: str
    by: str
    duration_ms: int | None = None
    force: bool = False
    automatic: bool = False
    earlier: bool = False
    cause: Cause = "asked"
    level: Level = "application"
    executor_id: str = ""
    stage: int | None = None
    index: int | None = None


class UnblockRequested(Event, frozen=True):
    """Somebody wants a blocked host back."""

    host: str
    by: str
    level: Level = "application"
    executor_id: str = ""
    stage: int | None = None
    index: int | None = None


class ScaleRequested(Event, frozen=True):
    """Somebody wants at least and at most so many executors from now on; ``earlier``: in an earlier attempt.

    ``force``: although the hosts that are known have not room for the least.
    """

    least: int
    most: int
    by: str
    force: bool = False
    earlier: bool = False


class ClusterBlock(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of the list of blocked hosts that all applications of a cluster share.

    ``admin``: it is of whoever owns the list. Anybody may add to it, so what others add is taken within limits only.
    """

    host: str
    reason: str
    by: str
    since_ms: int
    until_ms: int | None
    admin: bool = False


class ClusterBlocksRead(Event, frozen=True):
    """The cluster's list of blocked hosts as it stands now, whole; ``problems`` are entries that were not believed."""

    blocks: tuple[ClusterBlock, ...]
    problems: tuple[str, ...] = ()


class DriverStarted(Event, frozen=True):
    """The driver's process runs (its JVM and the user's Python program).

    ``address`` (``host:port``) is where executors that are asked for before it is ready look for it.
    """

    pid: int
    address: str = ""


class DriverReady(Event, frozen=True):
    """The driver's scheduler backend listens: executors can register from now on.

    Once for each SparkContext; a later one never knew the executors of those before. The port in ``driver_url`` is
    another one than was planned when that was taken.
    """

    driver_url: str
    ui_url: str | None = None


class DriverLost(Event, frozen=True):
    """The driver's process ended in another way than the program's own end: a signal, a crash of the JVM.

    ``killed``: by somebody outside, which proves nothing about the program.
    """

    exit_code: int
    reason: str
    killed: bool = False


class DriverFinished(Event, frozen=True):
    """The user's program ended by itself; 0 is success, anything else is the program's own failure."""

    exit_code: int
    reason: str = ""
    traceback: str = ""


class DriverStopping(Event, frozen=True):
    """Spark's context is stopping in order: executors that end from now on are not replaced."""


class TargetExecutorsChanged(Event, frozen=True):
    """Spark wants this many executors in all (fixed number, or dynamic allocation's current wish)."""

    count: int


class ExecutorsUnwanted(Event, frozen=True):
    """Spark wants these executors ended (dynamic allocation's scale-down)."""

    executor_ids: tuple[str, ...]


class ContainerAllocated(Event, frozen=True):
    """YARN gave a container, and it was accepted; ``executor_id`` is what will run in it.

    ``wanted_id`` is the placement that YARN's answer satisfied. It is another one than ``executor_id`` when the
    provider had bound that executor's request to another placement; empty: the same one.
    """

    executor_id: str
    container_id: str
    host: str
    wanted_id: str = ""


class RequestFailed(Event, frozen=True):
    """These executors' containers could not be asked for; they are asked for again, under new ids, after a pause."""

    executor_ids: tuple[str, ...]
    message: str = ""


class ContainerStarted(Event, frozen=True):
    """The executor in a container registered with the driver."""

    executor_id: str
    container_id: str
    host: str
    cores: int = 0


class ContainerDropped(Event, frozen=True):
    """YARN gave a container on a blocked host; it was released before launch and asked for again."""

    container_id: str
    host: str


class ContainerLost(Event, frozen=True):
    """A container ended. ``exit_code`` is YARN's (137, 143, -100 released or lost, -102 preempted, -104 memory)."""

    executor_id: str
    container_id: str
    host: str
    exit_code: int
    diagnostics: str = ""


class ExecutorRemoved(Event, frozen=True):
    """Spark gave up an executor, or lost its connection to it; of its container this says nothing."""

    executor_id: str
    reason: str = ""


class ContainersPreempted(Event, frozen=True):
    """YARN announces that it takes these containers back; when not ``strict``, it may still do without."""

    container_ids: tuple[str, ...]
    strict: bool = True


class PlacementAcknowledged(Event, frozen=True):
    """A version of the desired placement went out with an allocate call that succeeded."""

    version: int


class ResourceManagerReconnected(Event, frozen=True):
    """The AM registered again after a restart or fail-over of the ResourceManager."""


class PlacementProblem(Event, frozen=True):
    """Something about placement could not be done, by the proxy provider in the AM's JVM or by the AM itself.

    It goes on with the last good state.
    """

    message: str


class PendingExplained(Event, frozen=True):
    """Why asked-for containers do not come, in the ResourceManager's own words (empty: nothing to say)."""

    reason: str


class Observed(Event, frozen=True):
    """Stages and tasks started, went on and ended. The event log holds the parts of it that are events of their own."""

    rows: Observations


class JobStarted(Event, frozen=True):
    """Spark began a job: one action of the program. ``parents``: its stages that read map outputs, and whose."""

    job: int
    stages: tuple[int, ...]
    parents: tuple[tuple[int, tuple[int, ...]], ...] = ()


class JobEnded(Event, frozen=True):
    """A job ended; ``failure`` is empty when it succeeded. ``stream``: it was a batch of one."""

    job: int
    failure: str = ""
    stream: bool = False


class CopyRefused(Event, frozen=True):
    """A copy that was asked for will not start: its task has ended, or its stage has."""

    stage: int
    stage_attempt: int
    index: int
    why: str


ONLY_MAP_OUTPUTS = -2
"""Of an executor that holds nothing but map outputs of shuffles that Spark has not forgotten; as in HeldBlocks.java."""


class HeldBlocksTold(Event, frozen=True):
    """So many blocks of cached or locally checkpointed data an executor holds.

    Of one without any: 0, or ``ONLY_MAP_OUTPUTS``. -1: the driver did not say.
    """

    executor_id: str
    count: int


class StageStarted(Event, frozen=True):
    """Spark submitted a stage attempt."""

    stage: int
    stage_attempt: int
    name: str
    tasks: int


class StageFinished(Event, frozen=True):
    """A stage attempt ended; ``failure`` is empty when it succeeded."""

    stage: int
    stage_attempt: int
    failure: str = ""


class TaskFinished(Event, frozen=True):
    """A task attempt ended."""

    stage: int
    stage_attempt: int
    index: int
    attempt: int
    task_id: int
    executor_id: str
    host: str
    state: str
    launch_ms: int
    finish_ms: int
    failure: str = ""
    speculative: bool = False


class FeedLagged(Event, frozen=True):
    """Tasks were observed faster than could be told: ``count`` rows of observations were lost on their way."""

    count: int


class ProgramWarned(Event, frozen=True):
    """The user's program overrides a setting that yarnspec owns, or does what one of its options is not made for."""

    key: str
    value: str
    message: str


class TimerFired(Event, frozen=True):
    """A timer that ``SetTimer`` asked for is due; ``at_ms`` is the time that the command named.

    One that is no longer wanted is dropped and counted.
    """

    name: str
    at_ms: int


def after(event: Event) -> str:
    """The event in few words, for the reasons of what follows from it; the event log has it whole."""
    for field in ("executor_id", "host", "name", "count", "epoch"):
        value = getattr(event, field, None)
        if value is not None:
            return f"after {type(event).__name__} ({field} {value})"
    return f"after {type(event).__name__}"
