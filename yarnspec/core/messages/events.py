"""The events: everything that the core is told, in the past tense.

Every event is frozen and carries plain values, so that it can be written to the event log, read back and replayed.
Times are milliseconds since the Unix epoch.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import msgspec

from yarnspec.core.messages.observations import Observations

Level = Literal["task", "stage", "application", "cluster"]
"""How far a block reaches: one task of a stage, one stage, this application, every application.

The speculative execution proposal (FLINK-10644) has the same four.
"""

Cause = Literal["asked", "slow", "faulty"]


class Event(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Base of everything that is handed to ``Negotiator.handle``."""

    MESSAGE: ClassVar[str] = ""
    """The message of the driver that becomes this event, if the two have the same fields."""


class HostReport(msgspec.Struct, frozen=True, kw_only=True):
    """One host as the ResourceManager reports its NodeManager; ``host`` is the node id without its port.

    ``state``: YARN's, or UNREACHABLE: YARN calls the host RUNNING, and its NodeManager does not answer us.
    ``free_memory_mb``: memory that no container of any application uses; null if it is not told. ``free_vcores``: the
    same for cores; null if the scheduler does not count them. The event log has both as they were when the host changed
    otherwise. ``resources``: how much the host has in all of each further resource type; ``free_resources``: how much
    of that is free. ``suits``: the user's constraint can hold there, by the host's attributes.
    """

    host: str
    rack: str = "/default-rack"
    state: str = "RUNNING"
    memory_mb: int = 0
    vcores: int = 0
    free_memory_mb: int | None = None
    free_vcores: int | None = None
    resources: dict[str, int] = {}
    free_resources: dict[str, int] = {}
    labels: tuple[str, ...] = ()
    suits: bool = True


class PlacementInEffect(msgspec.Struct, frozen=True, kw_only=True):
    """The options of placement that hold in an attempt, beside its mode and the user's constraint.

    ``max_per_host``: 0 is no limit; ``limited_by`` is the option that it comes from. ``label``: the node label of the
    hosts that executors may be on; empty: they may be on those without one.
    """

    spread: bool
    spread_wait_ms: int
    max_per_host: int = 0
    limited_by: str = "placement.max_per_host"
    label: str = ""


class AttemptStarted(Event, frozen=True):
    """The AM container of an attempt runs and its negotiator begins.

    ``placement``: the options of placement that hold. ``attempt_before``: how the attempt before it ended, in YARN's
    words. Empty: there was none, or it is not known.
    """

    application_id: str
    attempt: int
    epoch: int
    container_id: str
    host: str
    placement_mode: Literal["blacklist", "constraints"]
    placement_constraint: str = ""
    placement: PlacementInEffect | None = None
    attempt_before: str = ""


class HostsReported(Event, frozen=True):
    """All hosts of the cluster and their states, as the ResourceManager knows them now.

    In the event log only the first record of an epoch is ``whole``. All hosts of a large cluster would fill the log. So
    the other records hold only the hosts that changed, and the names of those that are ``gone``.
    """

    hosts: tuple[HostReport, ...]
    whole: bool = True
    gone: tuple[str, ...] = ()


class BlockRequested(Event, frozen=True):
    """Somebody wants a host kept out of placement: a user, a submit flag, or a detector of the core.

    ``executor_id``: block this executor only. ``stage`` and ``index`` name the stage and the task if ``level`` is stage
    or task. ``earlier``: an earlier attempt granted the block. Like an exclusion at submit it is decided before the
    first container is asked for, and the host may be down or forgotten now.
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


class HostExcluded(Event, frozen=True):
    """Spark starts no task of any stage on a host until it says otherwise: so many executors there failed tasks.

    Told only with ``spark.excludeOnFailure.enabled``. ``timeout_ms``: ``spark.excludeOnFailure.timeout``.
    """

    MESSAGE = "host_excluded"

    host: str
    failures: int = 0
    timeout_ms: int = 3_600_000


class HostUnexcluded(Event, frozen=True):
    """Spark takes a host again that it had excluded."""

    MESSAGE = "host_unexcluded"

    host: str


class ScaleRequested(Event, frozen=True):
    """Somebody wants at least and at most so many executors from now on; ``earlier``: in an earlier attempt.

    ``force``: although the hosts that are known have not room for the least. ``ran_with``: the earlier attempt ran with
    so many executors, and never had the least; 0: it had.
    """

    least: int
    most: int
    by: str
    force: bool = False
    earlier: bool = False
    ran_with: int = 0


class ClusterBlock(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of the list of blocked hosts that all applications of a cluster share.

    ``admin``: the owner of the list added the entry. Anybody may add to the list, so entries of others are accepted
    within limits only.
    """

    host: str
    reason: str
    by: str
    since_ms: int
    until_ms: int | None
    admin: bool = False


class ClusterBlocksRead(Event, frozen=True):
    """The cluster's whole list of blocked hosts as it is now. ``problems``: the entries that were not believed."""

    blocks: tuple[ClusterBlock, ...]
    problems: tuple[str, ...] = ()


class DriverStarted(Event, frozen=True):
    """The driver's process runs (its JVM and the user's Python program).

    ``address`` (``host:port``): where executors look for the driver that are asked for before it is ready.
    """

    pid: int
    address: str = ""


class DriverReady(Event, frozen=True):
    """The driver's scheduler backend listens: executors can register from now on.

    Told once for each SparkContext. A later one never knew the executors of those before. If the planned port was
    taken, ``driver_url`` has another one. ``executor``: the size of the usual executors by the program's configuration.
    ``dynamic_bounds``: those of dynamic allocation by the same; zeros: it is off. Null: as submitted.
    """

    driver_url: str
    ui_url: str | None = None
    executor: ExecutorProfile | None = None
    dynamic_bounds: tuple[int, int] | None = None


class DriverLost(Event, frozen=True):
    """The driver's process ended, but not by the program's own end: by a signal or a crash of the JVM.

    ``killed``: somebody outside ended it, which proves nothing about the program.
    """

    exit_code: int
    reason: str
    killed: bool = False


class DriverFinished(Event, frozen=True):
    """The user's program ended by itself. ``exit_code`` 0 is success, any other one is the program's own failure."""

    exit_code: int
    reason: str = ""
    traceback: str = ""


class DriverStopping(Event, frozen=True):
    """Spark's context is stopping in order: executors that end from now on are not replaced."""


class ExecutorProfile(msgspec.Struct, frozen=True, kw_only=True):
    """Executors of one size, as a resource profile asks for them, and how many of them Spark wants.

    ``id`` is Spark's number of the profile, 0 for the usual executors. ``memory_mb`` is the container's, ``heap_mb``
    the JVM's. ``slots``: how many tasks such an executor runs at once. ``resources``: by YARN's name.
    """

    id: int
    count: int
    memory_mb: int
    heap_mb: int = 0
    cores: int = 1
    slots: int = 1
    resources: dict[str, int] = {}


class LocalTasks(msgspec.Struct, frozen=True, kw_only=True):
    """The tasks of a resource profile's stages whose data lie on hosts, by dynamic allocation's count.

    ``hosts``: how many of the ``tasks`` have data on each host. A task with data on several hosts counts on each. Of
    very many hosts only those with the most tasks are told. ``total``: the sum over all hosts, told or not.
    """

    profile: int = 0
    tasks: int
    total: int
    hosts: dict[str, int]


class TargetExecutorsChanged(Event, frozen=True):
    """Spark wants this many executors in all (fixed number, or dynamic allocation's current wish).

    ``profiles``: beside them it wants executors of other sizes, each for the stages of one resource profile.
    ``local_tasks``: near which hosts it would like them, for each profile with such tasks.
    """

    count: int
    profiles: tuple[ExecutorProfile, ...] = ()
    local_tasks: tuple[LocalTasks, ...] = ()

    @property
    def of_profiles(self) -> int:
        """How many executors of other sizes it wants."""
        return sum(one.count for one in self.profiles)


class ExecutorsUnwanted(Event, frozen=True):
    """Spark wants these executors ended (dynamic allocation's scale-down)."""

    executor_ids: tuple[str, ...]


class ExecutorsDecommissioned(Event, frozen=True):
    """Spark lets these executors finish: they get no more tasks, move their blocks, and end by themselves."""

    MESSAGE = "executors_decommissioned"

    executor_ids: tuple[str, ...]


class ContainerAllocated(Event, frozen=True):
    """YARN gave a container, and it was accepted. ``executor_id``: the executor that will run in it.

    ``wanted_id``: the placement that YARN's answer satisfied. Usually empty, which means ``executor_id``. Another one
    if the provider had bound that executor's request to another placement.
    """

    executor_id: str
    container_id: str
    host: str
    wanted_id: str = ""


class RequestFailed(Event, frozen=True):
    """The request for these executors' containers failed. They are asked for again, under new ids, after a pause."""

    executor_ids: tuple[str, ...]
    message: str = ""


class ContainerStarted(Event, frozen=True):
    """The executor in a container registered with the driver."""

    executor_id: str
    container_id: str
    host: str
    cores: int = 0


class ContainerDropped(Event, frozen=True):
    """YARN gave a container on a blocked host. The container was released before launch and asked for again."""

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
    """Spark gave up an executor, or lost its connection to it. Its container may still run."""

    executor_id: str
    reason: str = ""


class ContainersPreempted(Event, frozen=True):
    """YARN announces that it takes these containers back. If not ``strict``, YARN may still do without them."""

    container_ids: tuple[str, ...]
    strict: bool = True


class PlacementAcknowledged(Event, frozen=True):
    """A version of the desired placement went out with an allocate call that succeeded."""

    version: int


class ResourceManagerReconnected(Event, frozen=True):
    """The AM registered again after a restart or fail-over of the ResourceManager."""


class ProblemNoticed(Event, frozen=True):
    """A part of the AM could not do something. It goes on with the last good state. ``message``: for people."""

    message: str


class PendingExplained(Event, frozen=True):
    """The ResourceManager said why containers do not come. ``reason``: its own words; empty: it says nothing now."""

    reason: str


class Observed(Event, frozen=True):
    """Stages and tasks started, went on and ended. The event log has only the rows that are events of their own."""

    rows: Observations


class JobStarted(Event, frozen=True):
    """Spark began a job: one action of the program.

    ``parents``: the job's stages that read map outputs, each with the stages that write these.
    """

    job: int
    stages: tuple[int, ...]
    parents: tuple[tuple[int, tuple[int, ...]], ...] = ()


class JobEnded(Event, frozen=True):
    """A job ended. ``failure`` is empty if it succeeded. ``stream``: the job was a batch of a stream."""

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
"""The count for an executor that holds only map outputs of shuffles that Spark still knows; as in HeldBlocks.java."""


class HeldBlocksTold(Event, frozen=True):
    """The driver said how many blocks of cached or locally checkpointed data an executor holds.

    ``count``: 0 if it holds none, -2 if it holds nothing but map outputs of shuffles, -1 if the driver did not say.
    """

    executor_id: str
    count: int

    @property
    def held(self) -> str:
        """In words what it holds, if it holds something."""
        return "map outputs" if self.count == ONLY_MAP_OUTPUTS else "cached data, or the driver did not say"


class StageStarted(Event, frozen=True):
    """Spark submitted a stage attempt."""

    stage: int
    stage_attempt: int
    name: str
    tasks: int


class StageFinished(Event, frozen=True):
    """A stage attempt ended. ``failure`` is empty if it succeeded."""

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


class RunningAttempt(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A task attempt that runs."""

    stage: int
    stage_attempt: int
    index: int
    attempt: int
    task_id: int
    executor_id: str
    host: str
    launch_ms: int
    speculative: bool = False


class AttemptsStarted(Event, frozen=True):
    """Task attempts began. One that began and ended between two looks at the driver is told by its end only."""

    attempts: tuple[RunningAttempt, ...]


class FeedLagged(Event, frozen=True):
    """The driver observed more than the feed could carry: ``count`` rows of observations were lost on their way."""

    count: int


class ProgramWarned(Event, frozen=True):
    """The user's program overrides a setting that yarnspec owns, or does something that an option is not made for."""

    key: str
    value: str
    message: str


class TimerFired(Event, frozen=True):
    """A timer that ``SetTimer`` asked for is due. ``at_ms``: the time that the command named.

    A timer that is no longer wanted is dropped and counted.
    """

    name: str
    at_ms: int


def after(event: Event) -> str:
    """The event in few words, for the reasons of commands that follow from it. The event log has the whole event."""
    for field in ("executor_id", "host", "name", "count", "epoch"):
        value = getattr(event, field, None)
        if value is not None:
            return f"after {type(event).__name__} ({field} {value})"
    return f"after {type(event).__name__}"
