"""The commands: everything that the core answers, in the imperative. ``recoverycommands.py`` has those of recovery.

Every command carries its ``reason``: the facts and numbers that led to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

import msgspec

from yarnspec.core.journal.journalrecords import JournalRecord
from yarnspec.core.messages.events import Cause, ExecutorProfile, Level
from yarnspec.core.messages.figures import LedgerFigures, StageSpeculation

EXIT_FAILED = 1
EXIT_NO_RESOURCES = 6
EXIT_KILLED = 7
"""The exit codes of an application that did not succeed (docs/json.md)."""


class Command(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Base of everything that ``Negotiator.handle`` returns."""

    IN_JOURNAL: ClassVar[bool] = False
    """Whether the journal carries the command out: ``am/journal/background_journal.py``."""

    reason: str

    def records(self) -> tuple[JournalRecord, ...]:
        """The summary records that carry the command out. Empty where the journal does more than to write records."""
        return ()


PlacementRule = Literal["", "spread", "prefer", "several", "require", "limit", "avoid"]
"""The rule behind the place of a container that is asked for; empty: it may come anywhere.

``spread``: the one host with the fewest of ours. ``prefer``: a host with data of waiting tasks. ``several``: one of the
emptiest hosts. ``require``: a host with saved outputs. ``limit``: a host below ``placement.max_per_host``. ``avoid``:
anywhere but on certain hosts.
"""
RULE_WORDS: Mapping[PlacementRule, str] = {
    "": "anywhere",
    "spread": "to spread them, on",
    "prefer": "near the data of tasks, on",
    "several": "on one of",
    "require": "for saved outputs, on",
    "limit": "below the limit, on",
    "avoid": "anywhere but on certain hosts",
}
"""The words for a rule, before the names of hosts."""


class WantedContainer(msgspec.Struct, frozen=True, kw_only=True):
    """One container that is still to come: its size and where it may, must or must not be placed.

    ``resources``: how many it needs of further resource types, by YARN's name. ``profile``: the number of the resource
    profile whose executor will run in it. ``takes_late``: other hosts were asked before; if one of them gives the
    container while the ResourceManager hears of these ``hosts``, it is taken.
    """

    id: str
    memory_mb: int
    vcores: int
    resources: dict[str, int] = {}
    profile: int = 0
    label: str = ""
    hosts: tuple[str, ...] = ()
    not_hosts: tuple[str, ...] = ()
    strict: bool = False
    takes_late: bool = False
    rule: PlacementRule = ""


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """A task attempt that a detector found slow, with the numbers that it was judged by."""

    stage: int
    stage_attempt: int
    index: int
    attempt: int
    task_id: int
    host: str
    executor_id: str
    detector: str
    elapsed_ms: int
    numbers: dict[str, float]
    reason: str

    @property
    def factor(self) -> float | None:
        """How many times as long the task takes as what it was compared with; None where there was nothing."""
        if "ratio" in self.numbers:
            return self.numbers["ratio"]
        return self.elapsed_ms / self.threshold_ms if self.threshold_ms else None

    @property
    def threshold_ms(self) -> float | None:
        """The running time from which the task is slow; None from a detector that weighs more than time."""
        return self.numbers.get("baseline_ms")


class BeginEpoch(Command, frozen=True):
    """The driver died and starts once more in this attempt, its ``restart``-th.

    Everything that belongs to one epoch begins anew: its events and journal, the driver's address and its bridge.
    ``StartDriver`` starts the driver itself, once the journal has said which work is saved.
    """

    epoch: int
    restart: int


class StartDriver(Command, frozen=True):
    """Start the user's program and its JVM for this epoch.

    ``awaits_negotiator``: tasks start when the negotiator says so; else by Spark's own rule.
    """

    epoch: int
    awaits_negotiator: bool = False


class StopDriver(Command, frozen=True):
    """End the driver's processes in order, by force after a grace period."""


ApplicationPhaseName = Literal[
    "created", "waiting_for_resources", "creating_graph", "executing", "restarting", "finished", "failed"
]


class EnterPhase(Command, frozen=True):
    """The application is in this phase now, or waits for something else in it: for the event log and the status.

    The job goes on with ``sufficient`` executors, and can use ``desired``. Without bounds ``sufficient`` is 0, and
    ``desired`` the number at which Spark starts the job; 0 once it has started. ``asked_for``: how many are asked for
    in all; null where Spark says how many, without bounds. ``until_ms``: when the wait ends at the latest; null if
    nobody knows.
    """

    phase: ApplicationPhaseName
    sufficient: int = 0
    desired: int = 0
    asked_for: int | None = None
    waits_for: str = ""
    until_ms: int | None = None


class DeclareReady(Command, frozen=True):
    """Tell Spark's scheduler backend that it is ready: the program goes on, and tasks start."""


class CloseGate(Command, frozen=True):
    """Keep executors from the driver that were asked for so far and have not registered.

    They are given back, but YARN may start some of them first. Executors that are asked for from now on may come.
    """


class ChangeBounds(Command, frozen=True):
    """At least and at most so many executors are to be there from now on; ``reason`` says when it takes effect.

    ``ran_with``: the job runs with so many executors, and never had the least; 0: it had. Told again when that changes.
    """

    least: int
    most: int
    by: str
    ran_with: int = 0


class RefuseScale(Command, frozen=True):
    """A request for other bounds was refused; ``reason`` says why."""

    least: int
    most: int


class KeepSurplus(Command, frozen=True):
    """One executor too many is not given back yet, as ``reason`` says. For the event log: nothing is to be done."""

    executor_id: str


RescaleCause = Literal["new requirements", "new resources"]


class BeginRescale(Command, frozen=True):
    """The number of executors changes from ``before`` to ``wanted``, the ``number``-th time: for log and status."""

    number: int
    cause: RescaleCause
    wanted: int
    before: int


class EndRescale(Command, frozen=True):
    """The rescale that began last is over with ``got`` executors, and ``why``: for the event log and the status."""

    number: int
    got: int
    why: str


class RequestContainers(Command, frozen=True):
    """Ask Skein for one container for each executor id. The ids are new, and never used again in this application.

    ``profile``: the size of these executors; null for the size that was submitted.
    """

    executor_ids: tuple[str, ...]
    profile: ExecutorProfile | None = None


class ReleaseContainer(Command, frozen=True):
    """Give back an executor's container, or withdraw the request when none was allocated yet."""

    executor_id: str


class UpdatePlacement(Command, frozen=True):
    """The whole desired placement, replacing what was there: blocked hosts and containers still to come."""

    version: int
    blocked_hosts: tuple[str, ...]
    wanted: tuple[WantedContainer, ...]


class RelaxPlacement(Command, frozen=True):
    """Ask for containers under fewer rules than before, as ``reason`` says. For the event log: nothing is to be done.

    ``rule`` gave way for the containers ``wanted``; ``hosts`` are those on which they did not come. The placement that
    follows has the new rules.
    """

    rule: PlacementRule
    wanted: tuple[str, ...]
    hosts: tuple[str, ...] = ()


class BlockHost(Command, frozen=True):
    """Keep new tasks off a host until ``until_ms``, and at level application or cluster new containers too.

    If ``until_ms`` is null, the block lasts until somebody unblocks the host. ``stage`` and ``index`` name the stage
    and the task if ``level`` is stage or task.
    """

    host: str
    until_ms: int | None
    by: str
    cause: Cause = "asked"
    level: Level = "application"
    stage: int | None = None
    index: int | None = None


class UnblockHost(Command, frozen=True):
    """Let containers and tasks onto a host again."""

    host: str
    level: Level = "application"
    stage: int | None = None
    index: int | None = None


class BlockExecutor(Command, frozen=True):
    """Keep new tasks off one executor until ``until_ms`` (null: until somebody unblocks it)."""

    executor_id: str
    host: str
    until_ms: int | None
    by: str
    cause: Cause = "asked"
    level: Level = "application"
    stage: int | None = None
    index: int | None = None


class UnblockExecutor(Command, frozen=True):
    """Let tasks onto an executor again."""

    executor_id: str
    level: Level = "application"
    stage: int | None = None
    index: int | None = None


class TaskBlock(msgspec.Struct, frozen=True, kw_only=True):
    """Hosts and executors on which no task of this stage starts. With ``index`` only that task does not."""

    stage: int
    index: int | None = None
    hosts: tuple[str, ...] = ()
    executors: tuple[str, ...] = ()


class UpdateTaskBlocks(Command, frozen=True):
    """The whole list of places where Spark must start no task. Each list replaces the one before.

    ``hosts`` and ``executors`` take no task at all. ``stages`` has the places that take no task of one stage, or not
    one task.
    """

    hosts: tuple[str, ...]
    executors: tuple[str, ...] = ()
    stages: tuple[TaskBlock, ...] = ()


class LaunchCopy(Command, frozen=True):
    """Start another attempt of a running task, on none of ``not_hosts``.

    ``attempts_max``: how many attempts of the task may run at once, the new one included.
    """

    stage: int
    stage_attempt: int
    index: int
    not_hosts: tuple[str, ...]
    attempts_max: int = 2


class WithdrawCopy(Command, frozen=True):
    """Forget a copy that was asked for and has not started."""

    stage: int
    stage_attempt: int
    index: int


class AskHeldBlocks(Command, frozen=True):
    """Ask the driver which data an executor holds. ``HeldBlocksTold`` answers."""

    executor_id: str


class KillAttempt(Command, frozen=True):
    """End one attempt of a task. Spark does not count this as a failure of the task."""

    stage: int
    stage_attempt: int
    index: int
    task_id: int


class JudgeTasks(Command, frozen=True):
    """A detector's verdicts on running tasks, for the event log: nothing is to be done.

    ``untold``: at most so many further tasks of running stages are slow at this moment, beside these and those of
    earlier records.
    """

    verdicts: tuple[Verdict, ...]
    untold: int = 0


class WithholdCopies(Command, frozen=True):
    """Copy none of these slow tasks of a stage for now; ``reason`` says why. For the event log: nothing is to be done.

    Told once for each task and reason, with the numbers of that moment. A reason that still holds, or holds again, is
    not told a second time.
    """

    stage: int
    stage_attempt: int
    indexes: tuple[int, ...]


class Summarize(Command, frozen=True):
    """Tell the log about speculation so far; ``reason`` is the text.

    Told at three times. Every ``speculation.log_interval`` while stages run, ``stages`` has their metrics of then. At
    the end of each stage it has the last ones; ``ledger`` is null if the stage had neither slow tasks nor copies. And
    when the SparkContext or the program ends.
    """

    stages: tuple[StageSpeculation, ...] = ()
    ledger: LedgerFigures | None = None


class RefuseBlock(Command, frozen=True):
    """A request to block (or unblock) a host was refused; ``reason`` says why."""

    host: str
    kind: Literal["block", "unblock"] = "block"


class CreditCopy(Command, frozen=True):
    """A copy finished its task first. For the event log: nothing is to be done.

    ``gained_ms``: about how much earlier than the original would have, as the ledger counts it; 0 where nobody knows.
    """

    stage: int
    stage_attempt: int
    index: int
    task_id: int
    gained_ms: int


class SlowHostNotBlocked(Command, frozen=True):
    """Leave a slow or faulty host in use; ``reason`` says why. For the event log: nothing is to be done.

    Told once for each host and reason, with the numbers of that moment. Told again if the host was to be blocked in
    between.
    """

    host: str
    cause: Cause = "slow"


class RemoveExecutor(Command, frozen=True):
    """Tell Spark that an executor is gone or about to go, and whether the application is to blame (a task failure).

    One that yarnspec gives back is told twice: when it is released, and when its container has ended. The first may get
    lost while the driver cannot be reached.
    """

    executor_id: str
    exit_code: int
    caused_by_app: bool


class DecommissionHost(Command, frozen=True):
    """Tell the driver that YARN takes a host out of service, so that Spark decommissions its executors there."""

    host: str


class CheckHosts(Command, frozen=True):
    """Ask the NodeManagers of these hosts whether they are there: YARN may know of a dead host only after minutes.

    A later ``HostsReported`` has the answer. A host whose NodeManager does not answer is UNREACHABLE there.
    """

    hosts: tuple[str, ...]


class Warn(Command, frozen=True):
    """Tell people of a problem; ``reason`` is the text. For the log and the status: nothing is to be done.

    Warnings with the same ``about`` are one warning, whatever their words. With an empty ``about``, those with the same
    text are one. ``times``: how often it happened since it was last told.
    """

    about: str = ""
    times: int = 1


class SetTimer(Command, frozen=True):
    """Send ``TimerFired`` with this name at ``at_ms``; a timer of the same name is replaced."""

    name: str
    at_ms: int


class FinishApplication(Command, frozen=True):
    """End the application for good, without another attempt, with this exit code for ``submit --wait``."""

    status: Literal["SUCCEEDED", "FAILED", "KILLED"]
    exit_code: int
    diagnostics: str = ""


class AbandonAttempt(Command, frozen=True):
    """End this attempt as crashed, so that YARN starts the next one while attempts are left."""

    exit_code: int
    diagnostics: str = ""
