"""The progress that ``submit --wait`` shows on stderr, from one status document after the other.

On a terminal: a few lines that are drawn again with each change. Elsewhere: one line for each change that matters.
The program's own output goes to stdout between the two, through ``write``, so that it never lands inside the picture.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import TracebackType
from typing import BinaryIO, Protocol, TextIO

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from yarnspec.observe.forms.document import StageStatus, StatusDocument
from yarnspec.observe.forms.told import visible

_SHOWN_STAGES = 4
_SHOWN_NAME = 44
_SHOWN_REASON = 160
_WAITING = "waiting: "
_WARNING = "warning: "
_NUMBERS = re.compile(r"\d+")
_DIRECTORIES = re.compile(r"(?<= at )/\S*/(?=[^/\s]+:\d+)")
_BAR_WIDTH = 24
_STYLES = {"SUCCEEDED": "green", "FAILED": "red", "KILLED": "red"}


class ProgressView(Protocol):
    """A view of one application; a context manager, safe for several threads."""

    def __enter__(self) -> ProgressView:
        """Begin."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End; a picture on the terminal goes away."""

    def show(self, document: StatusDocument) -> None:
        """This is what it is like now."""

    def say(self, line: str) -> None:
        """Print a line on stderr."""

    def write(self, data: bytes) -> None:
        """Print some of the program's output on stdout."""


def progress_on(stderr: TextIO, stdout: BinaryIO, environ: Mapping[str, str] = os.environ) -> ProgressView:
    """The view that suits where stderr goes."""
    if stderr.isatty() and environ.get("TERM", "") not in ("", "dumb"):
        return Picture(stderr, stdout)
    return Lines(stderr, stdout)


class Lines:
    """One line for each change: for files, pipes and CI."""

    def __init__(self, stderr: TextIO, stdout: BinaryIO) -> None:
        self._stderr = stderr
        self._stdout = stdout
        self._lock = threading.Lock()
        self._before: StatusDocument | None = None
        self._told: set[str] = set()

    def __enter__(self) -> Lines:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def show(self, document: StatusDocument) -> None:
        """Print what has changed; each warning, and each reason to wait, only once."""
        with self._lock:
            for line in changes(self._before, document):
                # The next reason of the same kind has other numbers.
                once = _NUMBERS.sub("", line) if line.startswith(_WAITING) else line
                if line.startswith((_WAITING, _WARNING)):
                    if once in self._told:
                        continue
                    self._told.add(once)
                self._print(line)
            self._before = document

    def say(self, line: str) -> None:
        """Print a line on stderr."""
        with self._lock:
            self._print(line)

    def write(self, data: bytes) -> None:
        """Print some of the program's output on stdout."""
        with self._lock:
            self._stdout.write(data)
            self._stdout.flush()

    def _print(self, line: str) -> None:
        self._stderr.write(f"{visible(line)}\n")
        self._stderr.flush()


class Picture:
    """A few lines on a terminal that are drawn again with each change."""

    def __init__(self, stderr: TextIO, stdout: BinaryIO, clock_s: Callable[[], float] = time.time) -> None:
        self._console = Console(file=stderr, highlight=False, force_terminal=True)
        self._stdout = stdout
        self._shares_terminal = stdout.isatty()
        self._clock_s = clock_s
        self._lock = threading.Lock()
        self._live: Live | None = None
        self._document: StatusDocument | None = None
        self._warned: set[str] = set()
        self._unfinished = b""

    def __enter__(self) -> Picture:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            self._away()
            self._document = None
            self._stdout.write(self._unfinished)
            self._stdout.flush()
            self._unfinished = b""

    def show(self, document: StatusDocument) -> None:
        """Draw."""
        with self._lock:
            self._document = document
            fresh = [warning for warning in document.warnings if warning not in self._warned]
            if fresh:
                self._away()
                for warning in fresh:
                    self._warned.add(warning)
                    self._console.print(Text(f"warning: {visible(warning)}", style="yellow"))
            self._draw()

    def say(self, line: str) -> None:
        """Print a line above the picture."""
        with self._lock:
            self._away()
            self._console.print(Text(visible(line)), soft_wrap=True)
            self._draw()

    def write(self, data: bytes) -> None:
        """Print output above the picture: whole lines, as long as both are on one terminal."""
        with self._lock:
            if not self._shares_terminal:
                self._stdout.write(data)
                self._stdout.flush()
                return
            lines, line_end, self._unfinished = (self._unfinished + data).rpartition(b"\n")
            if line_end:
                self._away()
                self._stdout.write(lines + line_end)
                self._stdout.flush()
                self._draw()

    def _draw(self) -> None:
        if self._document is None:
            return
        drawn = picture(self._document, int(self._clock_s() * 1000))
        if self._live is None:
            self._live = Live(
                drawn,
                console=self._console,
                auto_refresh=False,
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._live.start(refresh=True)
        else:
            self._live.update(drawn, refresh=True)

    def _away(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None


def changes(before: StatusDocument | None, now: StatusDocument) -> Iterator[str]:
    """The lines that are worth telling when one status follows another, in the order in which it happened.

    No time tells that order. So a state in which all comes to its end is told last, and any other one first.
    """
    was = before or StatusDocument(application_id=now.application_id, state="")
    state = [f"{now.application_id}: {state_in_words(now)}"] if state_in_words(was) != state_in_words(now) else []
    ends = now.ended or now.phase == "finishing"
    if not ends:
        yield from state
        yield from _needs(was, now)
    blocked_before = {one.host for one in was.blocked_hosts}
    blocked_now = {one.host: one.reason for one in now.blocked_hosts}
    for host in sorted(blocked_now.keys() - blocked_before):
        yield f"blocked: {host}: {blocked_now[host]}"
    for host in sorted(blocked_before - blocked_now.keys()):
        yield f"not blocked any more: {host}"
    for said in (_copies, _kept):
        if said(now) and said(was) != said(now):
            yield said(now)
    yield from _stages(was, now)
    yield from (f"{_WARNING}{warning}" for warning in now.warnings if warning not in was.warnings)
    if ends:
        yield from state


def state_in_words(document: StatusDocument) -> str:
    """State, phase and attempt."""
    words = document.state
    if document.phase and not document.ended:
        words += f", {document.phase}"
    return words if document.attempt <= 1 else f"{words}, attempt {document.attempt}"


def picture(document: StatusDocument, now_ms: int, *, blocked: bool = True) -> RenderableType:
    """The status in a few lines. ``blocked``: with the blocked hosts."""
    end_ms = document.finished_ms if document.finished_ms is not None else now_ms
    head = Text.assemble(
        (document.application_id, "bold"),
        "  ",
        (state_in_words(document), _STYLES.get(document.state, "cyan")),
        f"  {_stopwatch(end_ms - document.started_ms)}" if document.started_ms is not None else "",
        no_wrap=True,
        overflow="ellipsis",
    )
    lines: list[RenderableType] = [head]
    if not document.ended:
        lines.extend(_executors(document))
    active = [stage for stage in document.stages if stage.state == "RUNNING"]
    if active:
        table = Table.grid(padding=(0, 1, 0, 0))
        for stage in active[:_SHOWN_STAGES]:
            bar = ProgressBar(total=max(1, stage.tasks), completed=stage.finished, width=_BAR_WIDTH)
            name = Text(_shortened(short_stage(stage.name)), no_wrap=True, overflow="ellipsis")
            table.add_row(f"  stage {stage_number(stage)}", bar, f"{stage.finished}/{stage.tasks}", name)
        lines.append(table)
        if len(active) > _SHOWN_STAGES:
            lines.append(Text(f"  and {len(active) - _SHOWN_STAGES} more stages"))
    elif document.tasks.total:
        lines.append(Text(f"  tasks {document.tasks.finished}/{document.tasks.total}"))
    if not document.ended:
        lines.extend(Text(f"  {said}") for said in (_copies(document), _kept(document)) if said)
        lines.extend(
            Text(f"  blocked {one.host}: {visible(one.reason)}", no_wrap=True, overflow="ellipsis", style="yellow")
            for one in document.blocked_hosts[: _SHOWN_STAGES if blocked else 0]
        )
    return Group(*lines)


def _copies(document: StatusDocument) -> str:
    """Copies of slow tasks so far, in words; empty when there were none."""
    ledger = document.speculation.ledger if document.speculation is not None else None
    if ledger is None or not ledger.copies_launched:
        return ""
    running = f", {ledger.copies_running} running" if ledger.copies_running else ""
    return f"copies of slow tasks: {ledger.copies_launched} started, {ledger.copies_won} of them first{running}"


def _kept(document: StatusDocument) -> str:
    """The work of earlier attempts that is used again, in words; empty if nothing was saved."""
    recovery = document.recovery
    if recovery is None or not recovery.saved_outputs:
        return ""
    return f"{recovery.restored_outputs} of {recovery.saved_outputs} map outputs of earlier epochs are used again"


def stage_number(stage: StageStatus) -> str:
    """A stage's number, with that of its attempt where it is not the first."""
    return str(stage.stage) if stage.stage_attempt == 0 else f"{stage.stage}.{stage.stage_attempt}"


def short_stage(name: str) -> str:
    """A stage's name without the directories of the program's file, which are long and say nothing on YARN."""
    return _DIRECTORIES.sub("", visible(name))


def _stages(was: StatusDocument, now: StatusDocument) -> Iterator[str]:
    """Stages that have ended before those that run now, which may have waited for them."""
    known = {(one.stage, one.stage_attempt): one.state for one in was.stages}
    for stage in sorted(now.stages, key=lambda one: one.state == "RUNNING"):
        if known.get((stage.stage, stage.stage_attempt)) != stage.state:
            words = {"RUNNING": f"runs {stage.tasks} tasks", "SUCCEEDED": "is done", "FAILED": "failed"}
            yield f"stage {stage_number(stage)} {words[stage.state]}: {short_stage(stage.name)}"


def _needs(was: StatusDocument, now: StatusDocument) -> Iterator[str]:
    wanted, running = now.wanted_containers, now.running_containers
    # Not each that comes: at first and when the phase changes, when all are there, and when some are lost.
    begins = not (was.wanted_containers or was.running_containers) or was.phase != now.phase
    changed = (wanted or running) and (wanted, running) != (was.wanted_containers, was.running_containers)
    if changed and (begins or running == wanted or running < was.running_containers):
        yield f"executors: {running} of {wanted} run"
    if now.pending_reason and now.pending_reason != was.pending_reason:
        yield f"{_WAITING}{short_reason(now.pending_reason)}"


def short_reason(reason: str) -> str:
    """The first sentence of YARN's reason why a container does not come. ``yarnspec status`` has the rest."""
    first = visible(reason).partition(" Details :")[0]
    return first if len(first) <= _SHOWN_REASON else f"{first[: _SHOWN_REASON - 1]}…"


def _executors(document: StatusDocument) -> Iterable[RenderableType]:
    if document.wanted_containers or document.running_containers:
        yield Text(f"  executors {document.running_containers}/{document.wanted_containers}")
    if document.pending_reason:
        reason = short_reason(document.pending_reason)
        yield Text(f"  {_WAITING}{reason}", style="yellow", no_wrap=True, overflow="ellipsis")


def _shortened(text: str) -> str:
    return text if len(text) <= _SHOWN_NAME else f"{text[: _SHOWN_NAME - 1]}…"


def _stopwatch(duration_ms: int) -> str:
    seconds = max(0, duration_ms) // 1000
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
