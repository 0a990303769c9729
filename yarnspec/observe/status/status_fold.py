"""The fold of an application's records into its status document, live in the AM and from the history alike.

``StatusFold.apply`` takes one record after the other and never raises: types that this version does not know and
records that contradict earlier ones change nothing. Records of several epochs may follow each other; a new attempt ends
the containers of the one before, and each new epoch begins its stages anew.

Memory is bounded: of containers and stages that have ended only the newest are kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import msgspec

from yarnspec.core.messages import commands, events
from yarnspec.core.messages import recoverycommands as rc
from yarnspec.core.messages.observations import Observations
from yarnspec.core.messages.recoveryevents import EpochRefused
from yarnspec.observe.forms.document import ContainerStatus, DriverRestarts, Final, Links, Phase, StatusDocument
from yarnspec.observe.forms.records import Record, UnreadableRecordError
from yarnspec.observe.status.asks import AsksFold
from yarnspec.observe.status.blocks import Blocks
from yarnspec.observe.status.copies import CopyCounts
from yarnspec.observe.status.early_starts import ContainerEvent, EarlyStarts
from yarnspec.observe.status.profiles import ProfilesFold
from yarnspec.observe.status.recovery_counts import Kept
from yarnspec.observe.status.resources import ResourcesFold
from yarnspec.observe.status.stages import Stages

_ENDED_CONTAINERS = 2000
_WARNINGS = 100


class About(msgspec.Struct, frozen=True, kw_only=True):
    """Facts about an application that the caller knows and the records do not say."""

    name: str = ""
    user: str = ""
    queue: str = ""
    resource_manager_url: str | None = None
    page: bool = False
    """Whether YARN's link leads to yarnspec's own page, and Spark's is one further."""


class StatusFold:
    """The status of one application, after each record; see the module."""

    def __init__(self, application_id: str) -> None:
        self._application_id = application_id
        self._attempt = 0
        self._epoch = 0
        self._placement_mode = ""
        self._placement_constraint = ""
        self._placement: events.PlacementInEffect | None = None
        self._started_ms: int | None = None
        self._finished_ms: int | None = None
        self._phase: Phase = ""
        self._given_up = 0
        self._live: dict[str, ContainerStatus] = {}
        self._early_starts = EarlyStarts()
        self._ended: dict[str, ContainerStatus] = {}
        self._dropped = 0
        self._asks = AsksFold()
        self._blocks = Blocks()
        self._copies = CopyCounts()
        self._kept = Kept()
        self._resources = ResourcesFold()
        self._restarts: DriverRestarts | None = None
        self._refused: dict[int, dict[str, int]] = {}
        self._list_problems: tuple[str, ...] = ()
        self._wanted = 0
        self._profiles = ProfilesFold()
        self._asked_for: int | None = None
        self._pending_reason = ""
        self._stages = Stages()
        self._spark_ui: str | None = None
        self._warnings: dict[str, tuple[str, int]] = {}
        self._final: Final | None = None

    def apply(self, record: Record) -> None:
        """Take in the next record."""
        try:
            message = record.message()
        except UnreadableRecordError:
            return
        if message is None:
            return
        self._epoch = max(self._epoch, record.epoch)
        if self._started_ms is None:
            self._started_ms = record.time_ms
        self._asks.apply(message, record.time_ms)
        self._copies.apply(message)
        self._kept.apply(message)
        self._resources.apply(message, record.time_ms)
        self._profiles.apply(message)
        if isinstance(message, commands.Command):
            self._blocks.apply(message, record.time_ms)
            self._apply_command(message, record.time_ms)
        else:
            self._apply_event(message)

    def observe(self, rows: Observations) -> None:
        """Take in observations, as if their records had been applied (``observe/forms/observation_lines.py``)."""
        self._stages.observe(rows)

    def document(
        self, about: About | None = None, *, warnings: Iterable[str] = (), running_tasks: int = 0
    ) -> StatusDocument:
        """The status now; ``warnings`` come on top of those from the records."""
        about = about or About()
        containers = sorted((*self._ended.values(), *self._live.values()), key=lambda one: one.id)
        hosts = [one.host for one in self._live.values() if one.role == "executor" and one.state == "RUNNING"]
        running = len(hosts)
        wanted = self._wanted + self._profiles.wanted
        ended = self._final is not None
        on_blocked = any(one.role == "am" and one.host in self._blocks for one in self._live.values())
        if on_blocked:
            warnings = ("the application master's container sits on a blocked host", *warnings)
        return StatusDocument(
            application_id=self._application_id,
            name=about.name,
            user=about.user,
            queue=about.queue,
            state=self._final.status if self._final is not None else "RUNNING",
            phase=self._phase_with(running),
            attempt=self._attempt,
            epoch=self._epoch,
            placement_mode=self._placement_mode,
            placement_constraint=self._placement_constraint,
            placement=self._placement,
            started_ms=self._started_ms,
            finished_ms=self._finished_ms,
            am_on_blocked_host=on_blocked,
            containers=tuple(containers),
            dropped_containers=self._dropped,
            blocked_hosts=self._blocks.hosts(),
            blocks=self._blocks.all(),
            wanted_containers=wanted,
            running_containers=running,
            pending_reason=self._pending_reason if running < wanted and not ended else "",
            asks=self._asks.status(),
            relaxations=self._asks.relaxations(),
            usual_executor=self._profiles.usual(self._wanted),
            profiles=self._profiles.status({one.profile for one in self._live.values()}),
            resources=self._resources.status(sum(host not in self._blocks for host in hosts)),
            stages=tuple(self._copies.with_metrics(stage) for stage in self._stages.newest()),
            tasks=self._stages.counts(running_tasks),
            speculation=self._copies.status(ended=ended),
            recovery=self._kept.status(),
            driver_restarts=self._restarts,
            refused=dict(sum((Counter(one) for one in self._refused.values()), Counter())),
            links=Links(
                resource_manager=about.resource_manager_url,
                spark_ui=None if ended else self._spark_page(about),
                page=None if ended or not about.page else self._proxied(about),
            ),
            warnings=tuple(
                dict.fromkeys((*(text for text, _ in self._warnings.values()), *self._list_problems, *warnings))
            ),
            warning_counts={text: times for text, times in self._warnings.values() if times > 1},
            final=self._final,
        )

    def _spark_page(self, about: About) -> str | None:
        """Spark's pages through YARN's proxy: their own links lead there, and who is let in is YARN's to say."""
        proxied = self._proxied(about)
        if self._spark_ui is None or proxied is None:
            return self._spark_ui
        return f"{proxied}spark/jobs/" if about.page else proxied

    def _proxied(self, about: About) -> str | None:
        root, separator, _ = (about.resource_manager_url or "").partition("/cluster/")
        return f"{root}/proxy/{self._application_id}/" if separator else None

    def _phase_with(self, running: int) -> Phase:
        if self._final is not None:
            return "finishing" if self._live_executors() else "ended"
        if self._phase == "executing" and running == 0 and self._wanted + self._profiles.wanted > 0:
            return "waiting"
        return self._phase

    def _live_executors(self) -> bool:
        return any(one.role == "executor" for one in self._live.values())

    def _apply_event(self, event: events.Event) -> None:
        match event:
            case events.AttemptStarted():
                self._attempt_started(event)
            case events.TargetExecutorsChanged():
                self._wanted = max(0, event.count) if self._asked_for is None else self._asked_for
            case events.ClusterBlocksRead():
                self._list_problems = event.problems
            case events.PendingExplained():
                self._pending_reason = event.reason
            case events.StageStarted():
                self._stages.started(event)
            case events.StageFinished():
                self._stages.finished(event)
            case events.TaskFinished():
                self._stages.task_finished(event)
            case _:
                self._apply_driver_event(event)
                self._apply_container_event(event)

    def _apply_driver_event(self, event: events.Event) -> None:
        match event:
            case events.DriverStarted():
                self._phase = "starting"
            case events.DriverReady():
                self._phase = "executing"
                self._spark_ui = event.ui_url
            case events.DriverLost():
                self._phase = "starting"
                self._spark_ui = None
                self._stages.driver_lost()
            case events.DriverStopping() | events.DriverFinished():
                self._phase = "finishing"
            case EpochRefused(epoch=epoch, refused=refused):
                self._refused.setdefault(epoch, {}).update(refused)

    def _apply_container_event(self, event: events.Event) -> None:
        match event:
            case events.ContainerAllocated() | events.ContainerStarted() | events.ContainerLost():
                for each in self._early_starts.in_order(event):
                    self._container(each)
            case events.ContainerDropped():
                self._dropped += 1

    def _apply_command(self, command: commands.Command, time_ms: int) -> None:
        match command:
            case commands.EnterPhase(asked_for=asked_for):
                self._asked_for = asked_for
                self._wanted = self._wanted if asked_for is None else asked_for
            case commands.Warn():
                self._warn(command.reason, about=command.about, times=command.times)
            case commands.RefuseBlock():
                self._warn(
                    f"not {command.kind}ed: {command.host}: {command.reason}", about=f"{command.kind} {command.host}"
                )
            case rc.ReportRecoveryLimit(about="cached" | "stream"):
                pass  # that is in order, and said of the kept work
            case rc.ReportRecoveryLimit() | rc.CarryOver(failed=True):
                self._warn(command.reason)
            case commands.BeginEpoch():
                self._epoch = max(self._epoch, command.epoch)
                self._restarts = DriverRestarts(count=command.restart, why=command.reason)
                self._copies.epoch_over()
                self._kept = Kept()
                self._stages = Stages()
                self._warn(command.reason)
            case commands.AbandonAttempt():
                self._phase = "finishing"
                self._given_up = self._attempt
                self._warn(f"application attempt {self._attempt} was given up: {command.reason}")
            case commands.FinishApplication():
                self._finished_ms = time_ms
                self._final = Final(
                    status=command.status,
                    exit_code=command.exit_code,
                    reason=command.reason,
                    diagnostics=command.diagnostics,
                )

    def _attempt_started(self, event: events.AttemptStarted) -> None:
        for container in list(self._live.values()):
            self._end(container, None, "its attempt ended")
        self._attempt = max(self._attempt, event.attempt)
        if event.attempt_before and self._given_up != event.attempt - 1:
            self._warn(f"application attempt {event.attempt - 1} was lost: {event.attempt_before}")
        self._placement_mode = event.placement_mode
        self._placement_constraint = event.placement_constraint
        self._placement = event.placement
        self._phase = "starting"
        self._spark_ui = None
        self._wanted = 0
        self._pending_reason = ""
        self._blocks.clear()
        self._copies = CopyCounts()
        self._kept = Kept()
        self._restarts = None
        self._list_problems = ()
        self._stages = Stages()
        self._final = None
        self._finished_ms = None
        self._ended.pop(event.container_id, None)  # the same AM may begin again with a new driver
        self._live[event.container_id] = ContainerStatus(
            id=event.container_id, host=event.host, role="am", state="RUNNING", attempt=event.attempt
        )

    def _container(self, event: ContainerEvent) -> None:
        rule = self._asks.came(event) if isinstance(event, events.ContainerAllocated) else ""
        known = self._live.get(event.container_id)
        if isinstance(event, events.ContainerLost):
            if known is not None:
                self._end(known, event.exit_code, event.diagnostics)
            return
        if event.container_id in self._ended or (known is not None and known.role == "am"):
            return
        if known is not None and known.state == "RUNNING":
            return
        self._live[event.container_id] = ContainerStatus(
            id=event.container_id,
            host=event.host,
            role="executor",
            state="RUNNING" if isinstance(event, events.ContainerStarted) else "ALLOCATED",
            executor_id=event.executor_id,
            attempt=self._attempt,
            cores=event.cores if isinstance(event, events.ContainerStarted) else 0,
            profile=self._profiles.of(event.executor_id),
            rule=known.rule if known is not None else rule,
        )

    def _end(self, container: ContainerStatus, exit_code: int | None, diagnostics: str) -> None:
        del self._live[container.id]
        self._ended[container.id] = msgspec.structs.replace(
            container, state="COMPLETE", exit_code=exit_code, diagnostics=diagnostics
        )
        while len(self._ended) > _ENDED_CONTAINERS:
            del self._ended[next(iter(self._ended))]

    def _warn(self, text: str, about: str = "", times: int = 1) -> None:
        """The newest of several with the same text, or ``about`` the same, is the one that is shown, with a count."""
        _, before = self._warnings.pop(about or text, ("", 0))
        self._warnings[about or text] = text, before + times
        while len(self._warnings) > _WARNINGS:
            del self._warnings[next(iter(self._warnings))]


def fold(application_id: str, records: Iterable[Record], about: About | None = None) -> StatusDocument:
    """The status after all these records."""
    state = StatusFold(application_id)
    for record in records:
        state.apply(record)
    return state.document(about)
