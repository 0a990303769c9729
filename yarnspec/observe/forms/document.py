"""The status document: what ``yarnspec status -o json`` and the negotiator's REST show of an application.

``state`` is the ResourceManager's word while the application lives (NEW, NEW_SAVING, SUBMITTED, ACCEPTED, RUNNING) and
how it ended afterwards (SUCCEEDED, FAILED, KILLED). ``phase`` is ours and says what a running one is at. Fields are
only ever added. Times are milliseconds since the Unix epoch.
"""

from __future__ import annotations

import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import msgspec

from yarnspec.core.messages.commands import PlacementRule
from yarnspec.core.messages.events import PlacementInEffect
from yarnspec.core.messages.figures import StageMetrics

ENDED_STATES = frozenset({"SUCCEEDED", "FAILED", "KILLED"})

Phase = Literal["", "starting", "waiting", "executing", "finishing", "ended"]


@dataclass(frozen=True)
class Column:
    """The column of a field in a table of `yarnspec status`: its heading, and the text of a value that is not None."""

    heading: str
    text: Callable[[Any], str] = str


def columns_of(kind: type[msgspec.Struct]) -> dict[str, Callable[[Any], str]]:
    """The columns that the fields of a struct declare: each heading with the text of that field in a row."""
    found: dict[str, Callable[[Any], str]] = {}
    for name, hint in typing.get_type_hints(kind, include_extras=True).items():
        for column in getattr(hint, "__metadata__", ()):
            if isinstance(column, Column):
                found[column.heading] = _cell(name, column)
    return found


def _cell(name: str, column: Column) -> Callable[[Any], str]:
    return lambda row: "" if (value := getattr(row, name)) is None else column.text(value)


class ContainerStatus(msgspec.Struct, frozen=True, kw_only=True):
    """One container of the application; ALLOCATED until what runs in it has reported, then RUNNING, then COMPLETE.

    ``profile``: the number of the resource profile that its executor has; 0 is the usual size. ``rule``: the one by
    which the container was asked for when it came; empty: it could come anywhere, or the rule is not known.
    """

    id: str
    host: str
    role: Literal["am", "executor"]
    state: Literal["ALLOCATED", "RUNNING", "COMPLETE"]
    executor_id: str | None = None
    attempt: int = 1
    exit_code: int | None = None
    diagnostics: str = ""
    cores: int = 0
    profile: int = 0
    rule: PlacementRule = ""


class BlockStatus(msgspec.Struct, frozen=True, kw_only=True):
    """One block, of a host or (``executor_id``) of one executor.

    ``level`` is how far it reaches: ``task``, ``stage``, ``application`` or ``cluster``; ``stage`` and ``index`` say of
    which stage and task. ``cause`` is ``asked``, ``slow`` or ``faulty``.
    """

    level: str
    cause: str
    host: str
    reason: str
    by: str
    since_ms: int
    until_ms: int | None
    executor_id: str | None = None
    stage: int | None = None
    index: int | None = None


class BlockedHost(msgspec.Struct, frozen=True, kw_only=True):
    """A host that gets no new containers and tasks until ``until_ms`` (None: until somebody unblocks it)."""

    host: str
    reason: str
    until_ms: int | None
    by: str = ""


class StageStatus(msgspec.Struct, frozen=True, kw_only=True):
    """One stage attempt; ``finished`` counts tasks of the stage that are done, ``failed`` task attempts.

    ``metrics`` is None where speculation is off or has not looked at the stage. ``not_copied``: why no task of the
    stage is copied, however slow it is. A field with a ``Column`` is a column in the table of stages.
    """

    stage: int
    stage_attempt: int
    name: str
    tasks: int
    finished: int
    failed: int
    state: Annotated[Literal["RUNNING", "SUCCEEDED", "FAILED"], Column("STATE")]
    copies_running: int = 0
    gained_ms: int | None = None
    wasted_ms: int | None = None
    not_copied: str = ""
    metrics: StageMetrics | None = None


class TaskCounts(msgspec.Struct, frozen=True, kw_only=True):
    """Tasks of all stages so far; ``launched`` and ``failed`` count their attempts.

    ``launched`` is None where only events tell of the tasks: a launch is none.
    """

    launched: int | None = None
    running: int = 0
    finished: int = 0
    total: int = 0
    failed: int = 0


class CopyTotals(msgspec.Struct, frozen=True, kw_only=True):
    """The ledger of copies, in counts of copies and in milliseconds of task time.

    ``gained_ms``: how much earlier tasks ended than they would have without their copies, as estimated when each copy
    won; None: not known. ``spent_ms``: time that copies ran; ``wasted_ms``: the part of it of copies that did not win.
    """

    copies_launched: int = 0
    copies_running: int = 0
    copies_won: int = 0
    copies_failed: int = 0
    copies_cancelled: int = 0
    copies_refused: int = 0
    copies_withdrawn: int = 0
    gained_ms: int | None = None
    spent_ms: int | None = None
    wasted_ms: int | None = None


class SpeculationStatus(msgspec.Struct, frozen=True, kw_only=True):
    """Slow tasks and copies of the whole application.

    ``stopped``: the fault of ours that ended the search for the rest of the attempt; empty while all is well.
    """

    enabled: bool
    stopped: str = ""
    detector: str = ""
    slow_tasks: int = 0
    waiting_copies: int = 0
    extra_containers: int = 0
    ledger: CopyTotals = CopyTotals()


class ReusedShuffle(msgspec.Struct, frozen=True, kw_only=True):
    """A shuffle of an earlier epoch that this one goes on with; ``restored`` of its ``maps`` need not run again."""

    shuffle: int
    description: str = ""
    maps: int = 0
    restored: int = 0
    waited_ms: int = 0


class KeptOnHost(msgspec.Struct, frozen=True, kw_only=True):
    """Map outputs on a host whose executors are gone; ``dropped``: those for which there was no room or use."""

    host: str
    outputs: int = 0
    bytes: int = 0
    dropped: int = 0


class LiveAdoption(msgspec.Struct, frozen=True, kw_only=True):
    """An executor died while its driver lives: of its map outputs ``adopted`` were taken over, ``lost`` run again.

    ``why`` it ended, empty while they are waited for.
    """

    executor_id: str
    host: str
    outputs: int
    adopted: int = 0
    lost: int = 0
    waited_ms: int = 0
    why: str = ""


class RecoveryStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The finished work that is kept for a next driver, and the work of earlier ones that this driver goes on with.

    ``why_not``: the reason why nothing of earlier epochs is used, or that ended the recording, or the newest limit that
    was told. ``done_again``: the parts of the program that no next driver can go on with, told as they begin: cached
    data, streams, stages that write by themselves.
    ``carried_over``: what this attempt knows of hosts and copies from earlier ones, or why it knows nothing.
    ``saved_outputs`` were recorded by earlier epochs, ``restored_outputs`` of them are used again,
    ``not_restored`` says of the others how many, and why.
    ``durable_outputs`` of this epoch are in the journal, on disk; one that was computed again counts again.
    ``not_recorded``: how many shuffles of this epoch are not recorded, by the reason; those above by its one.
    ``committed_writes`` of this epoch are recorded, ``skipped_writes`` of earlier ones are not done again.
    ``live``: the newest executors whose outputs were waited for in this epoch, by ``recovery.live_adoption``.
    """

    recording: bool
    why_not: str = ""
    done_again: tuple[str, ...] = ()
    carried_over: str = ""
    recorded_shuffles: int = 0
    durable_outputs: int = 0
    not_recorded: dict[str, int] = {}
    committed_writes: int = 0
    skipped_writes: int = 0
    saved_shuffles: int = 0
    saved_outputs: int = 0
    restored_outputs: int = 0
    not_restored: dict[str, int] = {}
    reused: tuple[ReusedShuffle, ...] = ()
    lost_hosts: dict[str, str] = {}
    kept: tuple[KeptOnHost, ...] = ()
    live: tuple[LiveAdoption, ...] = ()


class RescaleStatus(msgspec.Struct, frozen=True, kw_only=True):
    """One change of the number of executors: ``cause``, from how many to how many, how many came, and why it ended.

    ``end_ms`` None: it goes on.
    """

    number: int
    cause: str
    before: int
    wanted: int
    got: int = 0
    begin_ms: int
    end_ms: int | None = None
    why: str = ""


class ResourcesStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The application's phase by its resources, and what it waits for until when.

    ``have`` executors are registered on hosts that are not blocked. ``sufficient`` are the least that the job starts
    with, ``desired`` all that it can use. Without bounds ``sufficient`` is 0, and ``desired`` the number at which Spark
    starts the job; 0 once it has started. ``until_ms``: when the wait is over at the latest; None: there is no end.
    ``rescales``: the newest changes of the number of executors, oldest first.
    """

    phase: str
    since_ms: int
    have: int
    sufficient: int
    desired: int
    waits_for: str = ""
    until_ms: int | None = None
    rescales: tuple[RescaleStatus, ...] = ()


class DriverRestarts(msgspec.Struct, frozen=True, kw_only=True):
    """How often a driver that had died was started again in this attempt, and why the last time."""

    count: int
    why: str


class Links(msgspec.Struct, frozen=True, kw_only=True):
    """Pages about the application; None when there is none (any more).

    ``page`` is yarnspec's own while it runs, ``report`` the same as a file, in the history directory after the end.
    """

    resource_manager: str | None = None
    spark_ui: str | None = None
    page: str | None = None
    report: str | None = None


class Final(msgspec.Struct, frozen=True, kw_only=True):
    """How the application ended; ``exit_code`` is what ``yarnspec submit --wait`` answers."""

    status: str
    exit_code: int
    reason: str
    diagnostics: str = ""


class AskStatus(msgspec.Struct, frozen=True, kw_only=True):
    """So many containers are asked for by the same rule: on one of ``hosts``, or anywhere when there are none.

    ``rule`` is ``spread``, ``prefer``, ``several``, ``require``, ``limit``, ``avoid`` or empty
    (``commands.PlacementRule``). ``profile`` is the resource profile of their executors.
    """

    rule: PlacementRule
    containers: int
    hosts: tuple[str, ...] = ()
    profile: int = 0


class ProfileStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The executors of a resource profile, or the usual ones: ``wanted`` by Spark, and the size of each.

    ``memory_mb`` is the container's. ``slots``: how many tasks each runs at once. ``resources``: by YARN's name.
    """

    id: int
    wanted: int
    memory_mb: int
    cores: int
    slots: int
    resources: dict[str, int] = {}


class Relaxation(msgspec.Struct, frozen=True, kw_only=True):
    """A rule of placement gave way for so many containers, and why.

    ``holds``: one of them is still asked for in the way that the reason says.
    """

    time_ms: int
    rule: PlacementRule
    containers: int
    reason: str
    holds: bool = False


class StatusDocument(msgspec.Struct, frozen=True, kw_only=True):
    """An application at one moment.

    ``placement``: the options of placement that hold; None where no record tells them.
    ``usual_executor``: the size by the program's configuration; None before its SparkContext has told it.
    ``warnings``: each once; ``warning_counts``: how often, of those that came more than once.
    """

    schema: int = 1
    application_id: str
    name: str = ""
    user: str = ""
    queue: str = ""
    state: str
    phase: Phase = ""
    attempt: int = 0
    epoch: int = 0
    placement_mode: str = ""
    placement_constraint: str = ""
    placement: PlacementInEffect | None = None
    started_ms: int | None = None
    finished_ms: int | None = None
    am_on_blocked_host: bool = False
    containers: tuple[ContainerStatus, ...] = ()
    dropped_containers: int = 0
    blocked_hosts: tuple[BlockedHost, ...] = ()
    blocks: tuple[BlockStatus, ...] = ()
    wanted_containers: int = 0
    running_containers: int = 0
    pending_reason: str = ""
    asks: tuple[AskStatus, ...] = ()
    relaxations: tuple[Relaxation, ...] = ()
    usual_executor: ProfileStatus | None = None
    profiles: tuple[ProfileStatus, ...] = ()
    resources: ResourcesStatus | None = None
    stages: tuple[StageStatus, ...] = ()
    tasks: TaskCounts = TaskCounts()
    speculation: SpeculationStatus | None = None
    recovery: RecoveryStatus | None = None
    driver_restarts: DriverRestarts | None = None
    refused: dict[str, int] = {}
    links: Links = Links()
    warnings: tuple[str, ...] = ()
    warning_counts: dict[str, int] = {}
    final: Final | None = None

    @property
    def ended(self) -> bool:
        """Whether nothing will change any more."""
        return self.state in ENDED_STATES
