"""`yarnspec top`: an application at a glance, drawn again and again."""

from __future__ import annotations

import time
from collections import Counter
from contextlib import suppress

import click
from rich.console import Group, RenderableType
from rich.live import Live
from rich.text import Text

from yarnspec.cli.names import application_argument
from yarnspec.cli.printing import columns, plain, settings_options, stdout_console
from yarnspec.core.messages.events import RunningAttempt
from yarnspec.errors import ClusterUnreachable, NotFound
from yarnspec.gateway.application.handle import Application
from yarnspec.observe.forms.document import StatusDocument
from yarnspec.observe.forms.moments import span, until
from yarnspec.observe.status.progress import picture, short_stage, stage_number
from yarnspec.options import Options

_HOSTS, _STAGES, _ATTEMPTS = 15, 8, 12

EXAMPLES = """
\b
Examples:
  yarnspec top last
  yarnspec top application_1700000000000_0001 --every 5
"""


@click.command(epilog=EXAMPLES)
@application_argument
@click.option(
    "--every", type=click.FloatRange(min=0.5), default=2.0, show_default=True, help="Seconds between two looks."
)
@settings_options
def command(*, application: str, every: float, settings: Options) -> None:
    """Watch an application: its hosts, its stages, and the task attempts that have run longest.

    The picture is drawn again every few seconds while the application runs. ^C ends the command. Where stdout is no
    terminal, the command prints the picture once. `yarnspec explain` has the whole reason of a block.
    """
    console = stdout_console()
    with Application.from_id(application, settings=settings) as found:
        if not console.is_terminal:
            console.print(_look(found)[0])
            return
        with Live(console=console, screen=False, auto_refresh=False) as live:
            while True:
                try:
                    shown, ended = _look(found)
                except ClusterUnreachable as error:  # it may be back at the next look
                    shown, ended = plain(error.message, "yellow"), False
                live.update(shown, refresh=True)
                if ended:
                    return
                time.sleep(every)


def _look(application: Application) -> tuple[RenderableType, bool]:
    document = application.status()
    running: tuple[RunningAttempt, ...] = ()
    if not document.ended:
        with suppress(ClusterUnreachable, NotFound):  # it starts, or it has just ended
            running = application.client.running()
    return glance(document, running, int(time.time() * 1000)), document.ended


def glance(document: StatusDocument, running: tuple[RunningAttempt, ...], now_ms: int) -> RenderableType:
    """The picture."""
    parts: list[RenderableType] = [picture(document, now_ms)]
    for made in (_hosts(document, running, now_ms), _stages(document), _attempts(running, now_ms)):
        if made is not None:
            parts += [Text(""), made]
    return Group(*parts)


def _hosts(document: StatusDocument, running: tuple[RunningAttempt, ...], now_ms: int) -> RenderableType | None:
    live = [one for one in document.containers if one.state != "COMPLETE"]
    blocked = {one.host: one for one in document.blocked_hosts}
    executors = Counter(one.host for one in live if one.role == "executor")
    tasks = Counter(one.host for one in running)
    master = next((one.host for one in live if one.role == "am"), "")
    hosts = sorted({*executors, *tasks, *blocked, *filter(None, (master,))})
    if document.ended or not hosts:
        return None
    table = columns("HOST", "EXECUTORS", "TASKS", "STATE")
    hosts.sort(key=lambda one: (one not in blocked, one))
    for host in hosts[:_HOSTS]:
        words = ["driver"] if host == master else []
        if host in blocked:
            words.append(f"blocked {until(blocked[host].until_ms, now_ms)}: {blocked[host].reason}")
        state = plain(", ".join(words), "yellow" if host in blocked else "")
        state.no_wrap, state.overflow = True, "ellipsis"
        table.add_row(plain(host), str(executors[host]), str(tasks[host]), state)
    if len(hosts) > _HOSTS:
        table.add_row(f"{len(hosts) - _HOSTS} more", "", "", "")
    return table


def _stages(document: StatusDocument) -> RenderableType | None:
    stages = [one for one in document.stages if one.state == "RUNNING"][-_STAGES:]
    if not stages:
        return None
    table = columns("STAGE", "DONE", "FAILED", "SLOW", "COPIES", "NAME")
    for one in stages:
        slow = one.metrics.slow_tasks if one.metrics is not None else 0
        table.add_row(
            stage_number(one), f"{one.finished} of {one.tasks}", str(one.failed), str(slow), str(one.copies_running),
            plain(short_stage(one.name)),
        )  # fmt: skip
    return table


def _attempts(running: tuple[RunningAttempt, ...], now_ms: int) -> RenderableType | None:
    if not running:
        return None
    table = columns("TASK", "HOST", "EXECUTOR", "RUNS FOR", "")
    for one in sorted(running, key=lambda one: one.launch_ms)[:_ATTEMPTS]:
        table.add_row(
            f"{one.stage}.{one.index}", plain(one.host), plain(one.executor_id), span(now_ms - one.launch_ms),
            plain("copy" if one.speculative else "", "cyan"),
        )  # fmt: skip
    return table
