"""The progress view: lines for pipes, a picture for terminals, and the program's output between them."""

from __future__ import annotations

import io
import itertools

import msgspec
import pytest
from rich.console import Console

from yarnspec.observe.forms.document import (
    BlockedHost,
    CopyTotals,
    RecoveryStatus,
    SpeculationStatus,
    StageStatus,
    StatusDocument,
)
from yarnspec.observe.forms.told import visible
from yarnspec.observe.status.progress import Lines, Picture, changes, picture, progress_on

APP = "application_1700000000000_0001"
RUNNING = StatusDocument(application_id=APP, state="RUNNING", phase="waiting", wanted_containers=2)


def stage(number: int, finished: int, name: str = "count") -> StageStatus:
    return StageStatus(
        stage=number,
        stage_attempt=0,
        name=name,
        tasks=4,
        finished=finished,
        failed=0,
        state="SUCCEEDED" if finished == 4 else "RUNNING",
    )


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class TerminalBytes(io.BytesIO):
    def isatty(self) -> bool:
        return True


def test_each_change_is_a_line_and_nothing_else() -> None:
    waiting = StatusDocument(application_id=APP, state="ACCEPTED", pending_reason="the queue is full")
    more = StatusDocument(
        application_id=APP,
        state="RUNNING",
        phase="executing",
        wanted_containers=2,
        running_containers=1,
        pending_reason="no room",
        stages=(stage(0, 1),),
        blocked_hosts=(BlockedHost(host="h", reason="slow", until_ms=None),),
        warnings=("careful",),
    )
    done = StatusDocument(
        application_id=APP, state="SUCCEEDED", phase="ended", stages=(stage(0, 4),), warnings=("careful",)
    )
    seen = [
        list(changes(before, now))
        for before, now in [(None, waiting), (waiting, waiting), (waiting, more), (more, done)]
    ]
    assert seen == [
        [f"{APP}: ACCEPTED", "waiting: the queue is full"],
        [],
        [
            f"{APP}: RUNNING, executing",
            "executors: 1 of 2 run",
            "waiting: no room",
            "blocked: h: slow",
            "stage 0 runs 4 tasks: count",
            "warning: careful",
        ],
        ["not blocked any more: h", "stage 0 is done: count", f"{APP}: SUCCEEDED"],
    ]


def test_what_happened_is_told_before_the_end_that_came_after_it() -> None:
    executing = msgspec.structs.replace(RUNNING, phase="executing", running_containers=2, stages=(stage(3, 1),))
    further = msgspec.structs.replace(executing, stages=(stage(2, 1), stage(3, 4)))
    finishing = msgspec.structs.replace(further, phase="finishing", stages=(stage(2, 4), stage(3, 4)))
    leaving = msgspec.structs.replace(finishing, running_containers=1)
    failed = msgspec.structs.replace(stage(3, 1), state="FAILED")
    killed = msgspec.structs.replace(executing, state="KILLED", phase="ended", stages=(failed,))
    assert list(changes(executing, further)) == ["stage 3 is done: count", "stage 2 runs 4 tasks: count"]
    assert list(changes(further, finishing)) == ["stage 2 is done: count", f"{APP}: RUNNING, finishing"]
    assert list(changes(finishing, leaving)) == []
    assert list(changes(executing, killed)) == ["stage 3 failed: count", f"{APP}: KILLED"]


def test_what_yarn_says_again_with_other_numbers_is_said_once_and_without_details() -> None:
    stderr = io.StringIO()
    lines = Lines(stderr, io.BytesIO())
    for free, running in ((512, 0), (256, 0), (128, 1)):
        reason = f"Node has {free} MB. Details : Partition = <DEFAULT> ; Queue's capacity = 100.0 %"
        lines.show(msgspec.structs.replace(RUNNING, running_containers=running, pending_reason=reason))
        lines.show(msgspec.structs.replace(RUNNING, running_containers=running, warnings=("careful",)))
    assert stderr.getvalue().splitlines() == [
        f"{APP}: RUNNING, waiting",
        "executors: 0 of 2 run",
        "waiting: Node has 512 MB.",
        "warning: careful",
    ]


def test_executors_are_told_when_all_run_and_when_some_are_lost() -> None:
    counts = [(0, 0), (0, 4), (1, 4), (3, 4), (4, 4), (3, 4), (4, 4), (4, 8), (6, 8), (8, 8), (0, 0)]
    seen = [
        msgspec.structs.replace(RUNNING, running_containers=running, wanted_containers=wanted)
        for running, wanted in counts
    ]
    said = [line for before, now in itertools.pairwise(seen) for line in changes(before, now)]
    assert said == [f"executors: {told} run" for told in ("0 of 4", "4 of 4", "3 of 4", "4 of 4", "8 of 8")]


def test_copies_are_told_when_their_number_changes() -> None:
    def with_copies(launched: int, won: int, running: int) -> StatusDocument:
        ledger = CopyTotals(copies_launched=launched, copies_won=won, copies_running=running)
        speculation = SpeculationStatus(enabled=True, ledger=ledger)
        return msgspec.structs.replace(RUNNING, speculation=speculation)

    assert list(changes(RUNNING, with_copies(0, 0, 0))) == []
    assert list(changes(RUNNING, with_copies(2, 1, 1))) == [
        "copies of slow tasks: 2 started, 1 of them first, 1 running"
    ]
    assert list(changes(with_copies(2, 1, 1), with_copies(2, 1, 1))) == []
    console = Console(width=80, color_system=None)
    with console.capture() as capture:
        console.print(picture(with_copies(2, 2, 0), 0))
    assert "copies of slow tasks: 2 started, 2 of them first\n" in capture.get()


def test_what_is_used_again_is_told_as_it_comes_back() -> None:
    saved, some = (
        msgspec.structs.replace(
            RUNNING, recovery=RecoveryStatus(recording=True, saved_outputs=9, restored_outputs=restored)
        )
        for restored in (0, 6)
    )
    assert list(changes(RUNNING, saved)) == ["0 of 9 map outputs of earlier epochs are used again"]
    assert list(changes(saved, some)) == ["6 of 9 map outputs of earlier epochs are used again"]
    assert list(changes(some, some)) == []
    console = Console(width=100, record=True)
    with console.capture() as capture:
        console.print(picture(some, 0))
    assert "6 of 9 map outputs" in capture.get()


def test_a_pipe_gets_lines_and_the_output_its_own_stream() -> None:
    stderr, stdout = io.StringIO(), io.BytesIO()
    with progress_on(stderr, stdout) as progress:
        assert isinstance(progress, Lines)
        progress.show(RUNNING)
        progress.write(b"result, no line end")
        progress.say("bye")
    assert stderr.getvalue() == f"{APP}: RUNNING, waiting\nexecutors: 0 of 2 run\nbye\n"
    assert stdout.getvalue() == b"result, no line end"


@pytest.mark.parametrize("term", ["", "dumb"])
def test_a_terminal_that_cannot_draw_gets_lines(term: str) -> None:
    assert isinstance(progress_on(Terminal(), io.BytesIO(), {"TERM": term}), Lines)


def test_a_terminal_gets_a_picture_that_goes_away() -> None:
    stderr, stdout = Terminal(), TerminalBytes()
    with progress_on(stderr, stdout, {"TERM": "xterm"}) as progress:
        assert isinstance(progress, Picture)
        progress.show(RUNNING)
        progress.write(b"whole line\npart")
        assert stdout.getvalue() == b"whole line\n"
        progress.show(RUNNING)
    assert "executors 0/2" in stderr.getvalue()
    assert stdout.getvalue() == b"whole line\npart"


def test_output_that_goes_elsewhere_is_not_held_back() -> None:
    stdout = io.BytesIO()
    with Picture(Terminal(), stdout) as progress:
        progress.write(b"part")
        assert stdout.getvalue() == b"part"


def test_no_color_is_honoured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    stderr = Terminal()
    with Picture(stderr, io.BytesIO()) as progress:
        progress.show(RUNNING)
    assert "\x1b[36m" not in stderr.getvalue()


@pytest.mark.parametrize("width", [40, 80, 200])
def test_the_picture_fits(width: int) -> None:
    from rich.console import Console

    document = StatusDocument(
        application_id=APP,
        state="RUNNING",
        phase="executing",
        started_ms=0,
        wanted_containers=9,
        pending_reason="because " * 40,
        stages=tuple(stage(number, 2, "a name that is quite long " * 4) for number in range(9)),
        blocked_hosts=(BlockedHost(host="h", reason="slow\x1b[0m\n" * 30, until_ms=None),),
    )
    console = Console(width=width, color_system=None)
    with console.capture() as capture:
        console.print(picture(document, 3_723_000))
    lines = capture.get().splitlines()
    assert max(map(len, lines)) <= width
    assert len(lines) <= 10
    assert "\x1b" not in capture.get()


def test_visible() -> None:
    assert visible("a\n b\x1b[1m\tc\u202e") == "a b�[1m c�"
