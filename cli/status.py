"""`yarnspec status`: what an application is doing, and where."""

from __future__ import annotations

import time
from collections.abc import Callable

import click
from rich.console import Console
from rich.table import Table

from yarnspec.cli.names import application_argument
from yarnspec.cli.printing import (
    STATE_STYLES,
    Form,
    columns,
    output_option,
    plain,
    print_document,
    settings_options,
    stdout_console,
)
from yarnspec.gateway.application.handle import Application
from yarnspec.observe.forms.document import (
    BlockStatus,
    ContainerStatus,
    RecoveryStatus,
    RescaleStatus,
    SpeculationStatus,
    StageStatus,
    StatusDocument,
    columns_of,
)
from yarnspec.observe.forms.moments import at_time, span, until
from yarnspec.observe.forms.resource_words import asks_in_words, resources_in_words
from yarnspec.observe.status.progress import short_stage, stage_number
from yarnspec.options import Options
from yarnspec.units import format_size

_SHOWN_ENDED_CONTAINERS = 20
_SHOWN_ENDED_STAGES = 10
_SHORTEST_STAGE = 12
_SHOWN_REASONS = 3
_SHOWN_RESCALES = 5
_BETWEEN_COLUMNS = 2

EXAMPLES = """
\b
Examples:
  yarnspec status application_1700000000000_0001
  yarnspec status application_1700000000000_0001 -o json | jq -r '.containers[].host'
"""


@click.command(epilog=EXAMPLES)
@application_argument
@output_option
@settings_options
def command(*, application: str, form: Form, settings: Options) -> None:
    """Show what an application is doing, and where.

    The output has state, attempt, containers by host, blocked hosts, progress, recovery, and links. The command works
    while the application runs and after its end. Later versions only add fields to the JSON and YAML forms. The exit
    code is 0 for a failed application, too.
    """
    with Application.from_id(application, settings=settings) as found:
        document = found.status()
    if form == "table":
        print_status(document, stdout_console(), int(time.time() * 1000))
    else:
        print_document(document, form)


def print_status(document: StatusDocument, console: Console, now_ms: int) -> None:
    """The status as a page of a few tables."""
    console.print(_summary(document, now_ms))
    if document.containers:
        console.print()
        console.print(_containers(document))
    if document.blocks or document.blocked_hosts:
        console.print()
        console.print(_blocks(document, now_ms))
    if document.stages:
        console.print()
        shown = _shown_stages(document)
        console.print(_stages(shown, console.width))
        for line in _without_copies(shown):
            console.print(plain(line))
    for warning in document.warnings:
        console.print()
        count = document.warning_counts.get(warning, 1)
        console.print(plain(f"warning: {warning}" + (f" ({count:,} times)" if count > 1 else ""), "yellow"))


def _summary(document: StatusDocument, now_ms: int) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="bold")
    table.add_column(overflow="fold")

    def row(name: str, value: str | None, style: str = "") -> None:
        if value:
            table.add_row(name, plain(value, style))

    row("application", document.application_id)
    row("name", document.name)
    row("state", _state(document), STATE_STYLES.get(document.state, ""))
    if document.final is not None and document.final.status != "SUCCEEDED":
        row("because", document.final.reason or document.final.diagnostics or "no reason was given")
    row("user, queue", ", ".join(filter(None, (document.user, document.queue))))
    if document.started_ms is not None:
        end_ms = document.finished_ms if document.finished_ms is not None else now_ms
        row("started", f"{at_time(document.started_ms)}, {_ran(document)} {span(end_ms - document.started_ms)}")
    row("placement", ", ".join(filter(None, (document.placement_mode, document.placement_constraint))))
    if not document.ended:
        row("executors", f"{document.running_containers} of {document.wanted_containers} run")
        row("waiting for", document.pending_reason, "yellow")
        row("asked for", asks_in_words(document.asks, constraint=document.placement_constraint))
        row("relaxed", next((one.reason for one in reversed(document.relaxations) if one.holds), None), "yellow")
    if document.resources is not None:
        row("resources", resources_in_words(document.resources, document.wanted_containers, now_ms))
        row("rescales", "\n".join(_rescale(one, now_ms) for one in document.resources.rescales[-_SHOWN_RESCALES:]))
    if document.tasks.total:
        row("tasks", _tasks(document))
    if document.speculation is not None:
        row("slow tasks", _speculation(document.speculation))
    if document.driver_restarts is not None:
        row("driver", document.driver_restarts.why, "yellow")
    if document.recovery is not None:
        row("recovery", _recovery(document.recovery))
    if document.refused:
        refused = ", ".join(f"{count} {kind}" for kind, count in document.refused.items())
        row("refused", f"{refused} of drivers and application masters that were over", "yellow")
    if document.dropped_containers:
        row("released", f"{document.dropped_containers} containers that came on a blocked host, before launch")
    row("YARN", document.links.resource_manager)
    row("page", document.links.page)
    row("Spark", document.links.spark_ui)
    row("report", document.links.report)
    return table


def _state(document: StatusDocument) -> str:
    words = document.state
    if not document.ended and document.phase:
        words += f" ({document.phase})"
    if document.attempt:
        words += f", attempt {document.attempt}"
    if document.epoch > document.attempt:
        words += f", epoch {document.epoch}"
    return words if document.final is None else f"{words}, exit code {document.final.exit_code}"


def _rescale(rescale: RescaleStatus, now_ms: int) -> str:
    end_ms = rescale.end_ms if rescale.end_ms is not None else now_ms
    return (
        f"{rescale.number}: {rescale.cause}: {rescale.before} -> {rescale.wanted} executors, got {rescale.got} in "
        f"{span(end_ms - rescale.begin_ms)}: {rescale.why or 'goes on'}"
    )


def _ran(document: StatusDocument) -> str:
    return "ran" if document.ended else "runs for"


def _tasks(document: StatusDocument) -> str:
    tasks = document.tasks
    words = f"{tasks.finished} of {tasks.total} done"
    if tasks.running:
        words += f", {tasks.running} running"
    if tasks.failed:
        words += f", {tasks.failed} attempts failed"
    return words


def _speculation(speculation: SpeculationStatus) -> str:
    ledger = speculation.ledger
    if not speculation.enabled and not ledger.copies_launched:
        return "nobody looks for them (speculation.enabled is false)"
    words = [f"nobody looks for them any more: {speculation.stopped}"] if speculation.stopped else []
    words += [f"{speculation.slow_tasks} now" if speculation.slow_tasks else "none now"]
    if ledger.copies_launched:
        copies = f"{ledger.copies_launched} copies, {ledger.copies_won} of them first"
        words.append(f"{copies}, {ledger.copies_running} running" if ledger.copies_running else copies)
    if speculation.waiting_copies:
        words.append(f"{speculation.waiting_copies} copies wait for a slot")
    if speculation.extra_containers:
        words.append(f"{speculation.extra_containers} containers for copies")
    if ledger.gained_ms is not None and ledger.copies_launched:
        words.append(f"about {span(ledger.gained_ms)} of tasks gained")
    if ledger.wasted_ms:
        words.append(f"{span(ledger.wasted_ms)} wasted")
    return "; ".join(words)


def _recovery(recovery: RecoveryStatus) -> str:
    words = []
    if recovery.saved_outputs:
        used = f"{recovery.restored_outputs} of {recovery.saved_outputs} map outputs of earlier epochs used again"
        lost = ", ".join(f"{count}: {why}" for why, count in sorted(recovery.not_restored.items()))
        words.append(f"{used} ({lost})" if lost else used)
    if recovery.carried_over:
        words.append(recovery.carried_over)
    if recovery.lost_hosts:
        words.append(f"given up: what is on {', '.join(sorted(recovery.lost_hosts))}")
    if recovery.recording:
        recorded = f"{recovery.recorded_shuffles} shuffles recorded, {recovery.durable_outputs} map outputs on disk"
        words.append(f"{recorded} ({recovery.why_not})" if recovery.why_not else recorded)
    else:
        words.append(f"nothing is recorded: {recovery.why_not}" if recovery.why_not else "nothing is recorded")
    if recovery.not_recorded:
        words.append(_not_recorded(recovery.not_recorded))
    words += recovery.done_again[:_SHOWN_REASONS]
    if len(recovery.done_again) > _SHOWN_REASONS:
        words.append(f"{len(recovery.done_again) - _SHOWN_REASONS} more that would be done again (-o json)")
    if recovery.committed_writes:
        words.append(f"{recovery.committed_writes} writes recorded")
    if recovery.skipped_writes:
        words.append(f"{recovery.skipped_writes} writes of earlier epochs not done again")
    if recovery.kept:
        outputs = sum(one.outputs for one in recovery.kept)
        size = format_size(sum(one.bytes for one in recovery.kept) // 1024 * 1024)
        words.append(f"{outputs} outputs ({size}) of ended executors on {len(recovery.kept)} hosts")
    if recovery.live:
        adopted, gone = sum(one.adopted for one in recovery.live), sum(one.lost for one in recovery.live)
        waiting = sum(one.outputs for one in recovery.live if not one.why)
        said = f"of {len(recovery.live)} executors that died {adopted} outputs were taken over, {gone} lost"
        words.append(f"{said}, {waiting} are waited for" if waiting else said)
    return "; ".join(words)


def _not_recorded(reasons: dict[str, int]) -> str:
    most = sorted(reasons.items(), key=lambda one: (-one[1], one[0]))
    words = [f"{count}: {why}" for why, count in most[:_SHOWN_REASONS]]
    rest = sum(count for _, count in most[_SHOWN_REASONS:])
    if rest:
        words.append(f"{rest} for other reasons (-o json)")
    return f"{sum(reasons.values())} shuffles not recorded ({', '.join(words)})"


def _blocks(document: StatusDocument, now_ms: int) -> Table:
    table = columns("BLOCKED", "FOR", "HOW LONG", "REASON", "BY")
    blocks = document.blocks or tuple(
        BlockStatus(
            level="application",
            cause="asked",
            host=one.host,
            reason=one.reason,
            by=one.by,
            since_ms=now_ms,
            until_ms=one.until_ms,
        )
        for one in document.blocked_hosts
    )
    for one in blocks:
        table.add_row(
            plain(one.host if one.executor_id is None else f"executor {one.executor_id} on {one.host}"),
            plain(_reach(one)),
            "" if document.ended else until(one.until_ms, now_ms),
            plain(one.reason),
            plain(one.by),
        )
    return table


def _reach(block: BlockStatus) -> str:
    if block.level == "task":
        return f"task {block.stage}.{block.index}"
    return f"stage {block.stage}" if block.level == "stage" else f"the {block.level}"


def _containers(document: StatusDocument) -> Table:
    profiles = any(one.profile for one in document.containers)
    table = columns("CONTAINER", "HOST", "ROLE", *(["PROFILE"] if profiles else []), "STATE")
    live = [one for one in document.containers if one.state != "COMPLETE"]
    gone = [one for one in document.containers if one.state == "COMPLETE"]
    for one in (*live, *gone[-_SHOWN_ENDED_CONTAINERS:]):
        role = one.role if one.executor_id is None else f"{one.role} {one.executor_id}"
        profile = "" if one.executor_id is None else str(one.profile)
        table.add_row(
            plain(one.id), plain(one.host), plain(role), *([profile] if profiles else []), _container_state(one)
        )
    if len(gone) > _SHOWN_ENDED_CONTAINERS:
        table.add_row(f"and {len(gone) - _SHOWN_ENDED_CONTAINERS} that ended before (-o json)")
    return table


def _container_state(container: ContainerStatus) -> str:
    return container.state if container.exit_code is None else f"{container.state} {container.exit_code}"


def _shown_stages(document: StatusDocument) -> tuple[StageStatus, ...]:
    active = [one for one in document.stages if one.state == "RUNNING"]
    ended = [one for one in document.stages if one.state != "RUNNING"]
    return (*ended[-_SHOWN_ENDED_STAGES:], *active)


def _without_copies(shown: tuple[StageStatus, ...]) -> list[str]:
    """A line for each reason why no task of some stages is copied."""
    stages: dict[str, list[str]] = {}
    for one in shown:
        if one.not_copied:
            stages.setdefault(one.not_copied, []).append(stage_number(one))
    return [
        f"no task of {'stage' if len(numbers) == 1 else 'stages'} {', '.join(numbers)} is copied: {why}"
        for why, numbers in stages.items()
    ]


def _stages(shown: tuple[StageStatus, ...], width: int) -> Table:
    rows = [tuple(_STAGE_COLUMNS), *(tuple(cell(one) for cell in _STAGE_COLUMNS.values()) for one in shown)]
    if not any(row[-1] for row in rows[1:]):
        rows = [row[:-1] for row in rows]
    table = columns(*rows[0])
    for column in table.columns:
        column.no_wrap, column.overflow = True, "ellipsis"
    # One line for each stage: a name is cut where it does not fit beside the numbers.
    others = [at for at in range(len(rows[0])) if at != 1]
    rest = sum(max(len(row[at]) for row in rows) + _BETWEEN_COLUMNS for at in others)
    table.columns[1].max_width = max(_SHORTEST_STAGE, width - rest - _BETWEEN_COLUMNS)
    for row in rows[1:]:
        table.add_row(*(plain(cell) for cell in row))
    return table


def _stage_copies(stage: StageStatus) -> str:
    metrics = stage.metrics
    if metrics is None or not (metrics.slow_tasks or metrics.speculative_executions):
        return ""
    words = [f"{metrics.slow_tasks} slow"] if metrics.slow_tasks else []
    if metrics.speculative_executions:
        words.append(f"{metrics.effective_copies}/{metrics.speculative_executions} copies first")
    return ", ".join(words)


def _stage_tasks(stage: StageStatus) -> str:
    failed = f", {stage.failed} failed" if stage.failed else ""
    return f"{stage.finished}/{stage.tasks}{failed}"


_STAGE_COLUMNS: dict[str, Callable[[StageStatus], str]] = {
    "STAGE": stage_number,
    "NAME": lambda stage: short_stage(stage.name),
    "TASKS": _stage_tasks,
    **columns_of(StageStatus),
    "SLOW TASKS, COPIES": _stage_copies,
}
"""The table of stages: each heading with the text of a row. A column of one field is declared there (``Column``). The
name is cut where it does not fit; the last column is left out where it says nothing."""
