"""`yarnspec top`: an application at a glance, drawn again and again."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Generic, TypeVar

import click
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from yarnspec.cli.names import application_argument
from yarnspec.cli.printing import columns, plain, settings_options, stdout_console
from yarnspec.core.messages.events import RunningAttempt
from yarnspec.errors import ClusterUnreachable, NotFound
from yarnspec.gateway.application.handle import Application
from yarnspec.observe.forms.document import StageStatus, StatusDocument
from yarnspec.observe.forms.moments import span, until
from yarnspec.observe.status.progress import picture, short_stage, stage_number
from yarnspec.options import Options

_Thing = TypeVar("_Thing")
_ROWS = 35
"""So many rows the tables share where no terminal's height limits them."""

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
            console.print(glance(*_look(found), _now_ms()))
            return
        with Live(console=console, screen=False, auto_refresh=False) as live:
            while True:
                try:
                    document, running = _look(found)
                    shown, ended = fitting(document, running, _now_ms(), console), document.ended
                except ClusterUnreachable as error:  # it may be back at the next look
                    shown, ended = plain(error.message, "yellow"), False
                live.update(shown, refresh=True)
                if ended:
                    return
                time.sleep(every)


def _look(application: Application) -> tuple[StatusDocument, tuple[RunningAttempt, ...]]:
    document = application.status()
    running: tuple[RunningAttempt, ...] = ()
    if not document.ended:
        with suppress(ClusterUnreachable, NotFound):  # it starts, or it has just ended
            running = application.client.running()
    return document, running


def _now_ms() -> int:
    return int(time.time() * 1000)


def fitting(
    document: StatusDocument, running: tuple[RunningAttempt, ...], now_ms: int, console: Console
) -> RenderableType:
    """The picture with as many rows as the terminal has room for."""
    height = console.height - 1  # the cursor stands below
    rows = height
    while True:
        drawn = glance(document, running, now_ms, rows)
        surplus = len(console.render_lines(drawn)) - height
        if surplus <= 0 or rows <= 0:
            return drawn
        rows -= surplus


def glance(
    document: StatusDocument, running: tuple[RunningAttempt, ...], now_ms: int, rows: int = _ROWS
) -> RenderableType:
    """The picture. Hosts, stages and attempts share the rows evenly; none gets more than it has."""
    tables: tuple[_Table[Any], ...] = (_hosts(document, running, now_ms), _stages(document), _attempts(running, now_ms))
    shares = [0] * len(tables)
    while sum(shares) < min(rows, sum(len(one.things) for one in tables)):
        for at, one in enumerate(tables):
            shares[at] += shares[at] < len(one.things) and sum(shares) < rows
    parts: list[RenderableType] = [picture(document, now_ms, blocked=False)]
    for one, share in zip(tables, shares, strict=True):
        if share:
            parts += [Text(""), one.drawn(share)]
    return Group(*parts)


class _Table(Generic[_Thing]):
    """A table of which the first rows are drawn. ``row``: the cells of a thing, made only if it is drawn."""

    def __init__(
        self, names: tuple[str, ...], things: Sequence[_Thing], row: Callable[[_Thing], Sequence[RenderableType]]
    ) -> None:
        self.things = things
        self._names = names
        self._row = row

    def drawn(self, rows: int) -> RenderableType:
        """The table in so many rows; the last one says how many are left out."""
        shown = self.things if rows >= len(self.things) else self.things[: max(1, rows - 1)]
        table = columns(*self._names)
        for one in shown:
            table.add_row(*self._row(one))
        if left := len(self.things) - len(shown):
            table.add_row(f"{left} more")
        return table


def _hosts(document: StatusDocument, running: tuple[RunningAttempt, ...], now_ms: int) -> _Table[str]:
    live = [one for one in document.containers if one.state != "COMPLETE"]
    blocked = {one.host: one for one in document.blocked_hosts}
    executors = Counter(one.host for one in live if one.role == "executor")
    tasks = Counter(one.host for one in running)
    master = next((one.host for one in live if one.role == "am"), "")
    hosts = set() if document.ended else {*executors, *tasks, *blocked, *filter(None, (master,))}

    def row(host: str) -> Sequence[RenderableType]:
        words = ["driver"] if host == master else []
        if host in blocked:
            words.append(f"blocked {until(blocked[host].until_ms, now_ms)}: {blocked[host].reason}")
        state = plain(", ".join(words), "yellow" if host in blocked else "")
        state.no_wrap, state.overflow = True, "ellipsis"
        return plain(host), str(executors[host]), str(tasks[host]), state

    in_order = sorted(hosts, key=lambda one: (one not in blocked, one))
    return _Table(("HOST", "EXECUTORS", "TASKS", "STATE"), in_order, row)


def _stages(document: StatusDocument) -> _Table[StageStatus]:
    def row(one: StageStatus) -> Sequence[RenderableType]:
        slow = one.metrics.slow_tasks if one.metrics is not None else 0
        counts = f"{one.finished} of {one.tasks}", str(one.failed), str(slow), str(one.copies_running)
        return stage_number(one), *counts, plain(short_stage(one.name))

    running = [one for one in document.stages if one.state == "RUNNING"]
    return _Table(("STAGE", "DONE", "FAILED", "SLOW", "COPIES", "NAME"), running, row)


def _attempts(running: tuple[RunningAttempt, ...], now_ms: int) -> _Table[RunningAttempt]:
    def row(one: RunningAttempt) -> Sequence[RenderableType]:
        task, which = f"{one.stage}.{one.index}", plain("copy" if one.speculative else "", "cyan")
        return task, plain(one.host), plain(one.executor_id), span(now_ms - one.launch_ms), which

    longest_first = sorted(running, key=lambda one: one.launch_ms)
    return _Table(("TASK", "HOST", "EXECUTOR", "RUNS FOR", ""), longest_first, row)
