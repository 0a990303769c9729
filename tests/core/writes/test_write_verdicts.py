"""What of a program's writes is done again when the program begins anew: a table of cases."""

from __future__ import annotations

from typing import Any

import pytest

from tests.core.world import World, names, of, only
from yarnspec.core.journal.journalrecords import InputsRead
from yarnspec.core.journal.overdue import Wait
from yarnspec.core.lifecycle.restarts import RESTART_TIMER
from yarnspec.core.messages import commands as cm
from yarnspec.core.messages import events as ev
from yarnspec.core.messages import recoverycommands as rc
from yarnspec.core.messages import recoveryevents as rec
from yarnspec.core.messages import writeevents as wr
from yarnspec.core.messages.settings import RecoverySettings
from yarnspec.core.recovery.epoch_recovery import REPLAY_TIMER

ON = RecoverySettings(enabled=True)
X, Y = "hdfs://n/x", "hdfs://n/y"


def write(ordinal: int, path: str = X, mode: Any = "replace", **fields: Any) -> wr.SavedWrite:
    known = {"signature": f"s{ordinal}", "state": "committed", "digest": f"d{ordinal}", "files": 2, "epoch": 1}
    return wr.SavedWrite(**{"ordinal": ordinal, "path": path, "mode": mode, "job": f"j{ordinal}", **known, **fields})


def epoch(*writes: wr.SavedWrite, number: int = 2, **fields: Any) -> World:
    world = World(recovery=ON)
    world.start(number)
    world.tell(rec.JournalReplayed(**{"writes": writes, "epochs": (1,), "progress": 1, **fields}))
    return world


def declared(
    signature: str = "", path: str = X, mode: Any = "replace", number: int = 1, *, existed: bool = True
) -> wr.WriteDeclared:
    return wr.WriteDeclared(question=number, write=number, path=path, mode=mode, signature=signature, existed=existed)


def beginning(number: int = 1, *, existed: bool = True, defers: bool = False) -> wr.WriteBeginning:
    return wr.WriteBeginning(question=90 + number, write=number, job="j", existed=existed, defers=defers)


def committing(number: int, *, read: tuple[str, ...] = ()) -> wr.WriteCommitBeginning:
    return wr.WriteCommitBeginning(question=80 + number, write=number, files=1, digest="d", made={}, read=read)


def says(world: World, event: Any) -> str:
    """What the driver is answered: run, skip or stop."""
    return only(rc.AnswerWrite, world.tell(event)).action


def reads(*paths: str) -> wr.InputRead:
    return wr.InputRead(question=99, paths=paths)


# (what earlier epochs wrote, what this one does in its order, what it is answered)
CASES: dict[str, tuple[list[wr.SavedWrite], list[Any], list[str]]] = {
    "a first write": ([], [declared("s1")], ["run"]),
    "reads X, overwrites X": ([write(1)], [reads(X)], ["stop"]),
    "reads a part of X, overwrites X": ([write(1)], [reads(f"{X}/day=1")], ["stop"]),
    "reads all above X, overwrites X": ([write(1)], [reads("hdfs://n/")], ["stop"]),
    "reads X, appends to X": ([write(1, mode="add")], [reads(X)], ["stop"]),
    "reads X, writes Y, crashes later": (
        [write(1, Y)],
        [reads(X), declared("s1", Y), reads(Y)],
        ["run", "skip", "run"],
    ),
    "reads what only begins like X": ([write(1)], [reads(f"{X}2")], ["run"]),
    "writes X, reads it": ([write(1)], [declared("s1"), reads(X)], ["skip", "run"]),
    "writes X from other input": ([write(1)], [declared("other"), reads(X)], ["run", "stop"]),
    "writes X of unknown content": ([write(1, signature="")], [declared("")], ["run"]),
    "writes X twice": ([write(1), write(2)], [declared("s1")], ["run"]),
    "writes X, all above it, X": (
        [write(1), write(2, "hdfs://n"), write(3)],
        [declared("s1"), declared("s2", "hdfs://n", number=2), reads(X)],
        ["skip", "skip", "stop"],
    ),
    "creates X, overwrites it": (
        [write(1, mode="create"), write(2)],
        [declared("s1", mode="create"), declared("s2", number=2), reads(X)],
        ["skip", "skip", "run"],
    ),
    "creates X, reads it, overwrites it": (
        [write(1, mode="create"), write(2)],
        [declared("s1", mode="create"), reads(X)],
        ["skip", "stop"],
    ),
    "writes X twice, the second one first": ([write(1), write(2)], [declared("s2")], ["run"]),
    "appends of unknown content": ([write(1, mode="add")], [declared("", mode="add")], ["stop"]),
    "appends other rows": ([write(1, mode="add")], [declared("other", mode="add")], ["stop"]),
    "appends the same": ([write(1, mode="add")], [declared("s1", mode="add")], ["skip"]),
    "appends twice, in another order": (
        [write(1, mode="add"), write(2, mode="add")],
        [declared("s2", mode="add"), declared("s1", mode="add", number=2), reads(X)],
        ["skip", "skip", "run"],
    ),
    "appends the same rows twice": (
        [write(1, mode="add", signature="s"), write(2, mode="add", signature="s")],
        [declared("s", mode="add"), declared("s", mode="add", number=2), declared("s", mode="add", number=3)],
        ["skip", "skip", "run"],
    ),
    "appends before it overwrites": ([write(1), write(2, mode="add")], [declared("s2", mode="add")], ["stop"]),
    "overwrites, appends": (
        [write(1), write(2, mode="add")],
        [declared("s1"), declared("s2", mode="add", number=2)],
        ["skip", "skip"],
    ),
    "creates X again": ([write(1, mode="create")], [declared("", mode="create")], ["stop"]),
    "ignores X again, reads it": (
        [write(1, mode="ignore")],
        [declared("", mode="ignore"), reads(X)],
        ["run", "run"],
    ),
    "ignores X, overwrites it later": (
        [write(1, mode="ignore"), write(2)],
        [declared("", mode="ignore"), reads(X)],
        ["run", "stop"],
    ),
    "ignored X, overwrote it later": ([write(1)], [declared("", mode="ignore"), reads(X)], ["run", "stop"]),
    "ignores a part of X": ([write(1, mode="ignore", state="begun")], [declared("", mode="ignore")], ["stop"]),
    "ignores the same": ([write(1, mode="ignore")], [declared("s1", mode="ignore")], ["skip"]),
    "ignores a part that was overwritten with the whole": (
        [write(1, f"{X}/day=1", "ignore"), write(2)],
        [declared("", f"{X}/day=1", "ignore", existed=False)],
        ["stop"],
    ),
    "ignores what is gone": ([write(1, mode="ignore")], [declared("", mode="ignore", existed=False)], ["run"]),
    "creates the same": ([write(1, mode="create")], [declared("s1", mode="create")], ["skip"]),
    "in another mode": ([write(1, mode="add")], [declared("s1", mode="create")], ["stop"]),
    "overwrites partitions": (
        [write(1, mode="amend"), write(2, mode="amend", state="begun", digest="")],
        [declared("", mode="amend"), beginning(), declared("", mode="amend", number=2), beginning(2), reads(X)],
        ["run"] * 5,
    ),
    "overwrites the first partitions, and reads": (
        [write(1, mode="amend"), write(2, mode="amend")],
        [declared("", mode="amend"), beginning(), reads(X)],
        ["run", "run", "stop"],
    ),
    "overwrites partitions, takes them away, overwrites partitions": (
        [write(1, mode="amend", existed=False), write(2, mode="amend", existed=False, done_before=1)],
        [declared("", mode="amend")],
        ["stop"],
    ),
    "overwrites partitions of a new path in two threads": (
        [write(1, mode="amend", existed=False), write(2, mode="amend", existed=False)],
        [declared("s2", mode="amend"), beginning(), declared("s1", mode="amend", number=2), beginning(2), reads(X)],
        ["run"] * 5,
    ),
    "appends to a new path in two threads, one of them nothing": (
        [write(1, mode="add", existed=False, files=0), write(2, mode="add", existed=False)],
        [declared("s2", mode="add"), declared("s1", mode="add", number=2), reads(X)],
        ["skip", "skip", "run"],
    ),
    "overwrites partitions, takes them away, overwrites partitions in the next driver": (
        [write(1, mode="amend", existed=False), write(2, mode="amend", existed=False, epoch=2)],
        [declared("", mode="amend")],
        ["stop"],
    ),
    "overwrites partitions of a new path, fails, takes them away, overwrites partitions": (
        [write(1, mode="amend", existed=False, state="begun"), write(2, mode="amend", existed=False)],
        [declared("", mode="amend")],
        ["stop"],
    ),
    "overwrites partitions of a new path, takes them away, is cut off": (
        [write(1, mode="amend", existed=False), write(2, mode="amend", existed=False, state="begun")],
        [declared("", mode="amend")],
        ["stop"],
    ),
    "overwrites partitions of what it made": (
        [write(1, mode="amend", existed=False), write(2, mode="amend")],
        [declared("", mode="amend"), beginning(), declared("", mode="amend", number=2)],
        ["run", "run", "run"],
    ),
    "overwrites partitions, where it has added too": (
        [write(1, mode="amend"), write(2, mode="add")],
        [declared("", mode="amend")],
        ["stop"],
    ),
    "overwrites partitions, where nobody knows how it wrote": (
        [write(1, mode="unknown")],
        [declared("", mode="amend")],
        ["stop"],
    ),
    "writes, and nobody knows how": ([write(1, mode="amend")], [declared("", mode="unknown")], ["stop"]),
    "overwrites a part of X": ([write(1)], [declared("", f"{X}/day=1")], ["stop"]),
    "overwrites all above X": ([write(1)], [declared("", "hdfs://n")], ["run"]),
    "appends to another path": ([write(1)], [declared("", Y, "add")], ["run"]),
    "an overwrite was cut off, reads X": ([write(1, state="begun", digest="")], [reads(X)], ["stop"]),
    "an overwrite was cut off, overwrites X": ([write(1, state="begun", digest="")], [declared("s1")], ["run"]),
    "an overwrite was cut off, appends": ([write(1, state="begun", digest="")], [declared("", mode="add")], ["stop"]),
    "appends other rows where nothing is now": (
        [write(1, mode="add"), write(2, f"{X}/day=1", "create")],
        [declared("other", mode="add", existed=False)],
        ["run"],
    ),
    "creates X again, which somebody took away": (
        [write(1, mode="create")],
        [declared("", mode="create", existed=False)],
        ["run"],
    ),
    "appends to a part of X that is not there": (
        [write(1, mode="add")],
        [declared("", f"{X}/day=1", "add", existed=False)],
        ["stop"],
    ),
    "reads what it saves later": ([write(1, mode="save", signature="")], [reads(X)], ["stop"]),
    "saves the same RDD": ([write(1, mode="save")], [declared("s1", mode="save"), reads(X)], ["skip", "run"]),
    "saves another RDD, which Spark refuses, and reads": (
        [write(1, mode="save")],
        [declared("other", mode="save"), reads(X)],
        ["run", "stop"],
    ),
    "saves, moves it away, saves another": (
        [write(1, mode="save", existed=False), write(2, mode="save", existed=False, done_before=1)],
        [declared("s1", mode="save"), reads(X)],
        ["run", "stop"],
    ),
    "saves, moves it away, saves another, moves nothing yet, and leaves out the first": (
        [write(1, mode="save", existed=False), write(2, mode="save", existed=False, done_before=1)],
        [declared("s2", mode="save"), reads(X)],
        ["skip", "stop"],
    ),
    "saves, overwrites all above it, saves there again": (
        [
            write(1, mode="save", existed=False),
            write(2, "hdfs://n"),
            write(3, mode="save", existed=False, done_before=1),
        ],
        [declared("s1", mode="save"), declared("s2", "hdfs://n", number=2), declared("s3", mode="save", number=3)],
        ["skip", "skip", "skip"],
    ),
    "ignores, moves it away, ignores again": (
        [write(1, mode="ignore", existed=False), write(2, mode="ignore", existed=False, done_before=1)],
        [declared("", mode="ignore")],
        ["stop"],
    ),
    "creates with no rows, moves it away, creates another": (
        [write(1, mode="create", existed=False, files=0), write(2, mode="create", existed=False, done_before=1)],
        [declared("s1", mode="create")],
        ["stop"],
    ),
    "appends no rows and then some": (
        [write(1, mode="add", existed=False, files=0), write(2, mode="add")],
        [declared("s1", mode="add"), declared("s2", mode="add", number=2)],
        ["skip", "skip"],
    ),
    "saves an RDD where none is now": (
        [write(1, mode="save", signature="")],
        [declared("", mode="save", existed=False), beginning(existed=False), reads(X)],
        ["run", "run", "run"],
    ),
    "nobody knows its files": ([write(1, mode="add", digest="")], [declared("s1", mode="add")], ["stop"]),
}  # fmt: skip


TMP, OUT, HOUR = "hdfs://n/tmp", "hdfs://n/out", "hdfs://n/x/hour=1"


def finds(place: str, *jobs: str) -> wr.InputRead:
    """A file there is read, beside others of these jobs."""
    return wr.InputRead(question=99, paths=(f"{place.removesuffix('*')}/a",), held=(wr.Held(place, jobs),))


def had_read(place: str, ordinal: int = 1, number: int = 1) -> InputsRead:
    return InputsRead(epoch=number, ordinal=ordinal, places=(place,))


# (what earlier epochs wrote, what they had read before, what this one does in its order, what it is answered)
MOVED: dict[str, tuple[list[wr.SavedWrite], list[InputsRead], list[Any], list[str]]] = {
    "reads X, writes beside it, puts that in its place": ([write(1, TMP)], [had_read(X)], [finds(X, "j1")], ["stop"]),
    "the files of X, and not what is below": ([write(1, TMP)], [had_read(f"{X}/*")], [finds(f"{X}/*", "j1")], ["stop"]),
    "the files of X, then all of it": ([write(1, TMP)], [had_read(f"{X}/*")], [finds(X, "j1")], ["stop"]),
    "a part of X was put there, beside other files": (
        [write(1, TMP)], [had_read(X)], [finds(HOUR, "j0", "j1")], ["stop"],
    ),
    "the files of X, and puts it into a directory there": (
        [write(1, TMP)], [had_read(f"{X}/*")], [finds(f"{X}/out", "j1")], ["run"],
    ),
    "X is not in its place yet": (
        [write(1, TMP)], [had_read(X)], [finds(X, "j0"), declared("s1", TMP)], ["run", "skip"],
    ),
    "writes beside, renames, skips it when it is there": (
        [write(1, TMP), write(2, Y)], [had_read(X), had_read(OUT, 2)], [finds(OUT, "j1")], ["run"],
    ),
    "it was an earlier driver epoch that had read there": (
        [write(1, TMP, epoch=2)], [had_read(OUT, 1, 1)], [finds(OUT, "j1")], ["run"],
    ),
    "what was beside X is written anew before X is read": (
        [write(1, TMP)],
        [had_read(X)],
        [declared("other", TMP, existed=False), beginning(existed=False), finds(X, "j1")],
        ["run", "run", "stop"],
    ),
    "beside X was overwritten, and the journal does not have the end of the commit": (
        [write(1, TMP, state="committing")], [had_read(X)], [finds(X, "j1")], ["stop"],
    ),
    "a commit was cut off while it overwrote what was beside X": (
        [write(1, TMP, state="committing")], [had_read(X)], [finds(X, "j0"), declared("s1", TMP)], ["run", "run"],
    ),
    "that is written anew before X is read": (
        [write(1, TMP, state="committing")],
        [had_read(X)],
        [declared("s1", TMP), beginning(), finds(X, "j1")],
        ["run", "run", "stop"],
    ),
    "it was never about to be committed": (
        [write(1, TMP, state="begun", digest="")], [had_read(X)], [finds(X, "j1")], ["run"],
    ),
    "it was gone when its write was declared again": (
        [write(1, TMP)],
        [had_read(X)],
        [declared("s1", TMP), wr.WriteMissing(question=2, write=1), finds(X, "j1")],
        ["skip", "run", "stop"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MOVED)
def test_what_was_moved_to_where_it_was_read_from_is_not_read_again(name: str) -> None:
    saved, had, does, answered = MOVED[name]
    world = epoch(*saved, reads=tuple(had), number=3)
    assert [says(world, each) for each in does] == answered
    assert ("FinishApplication" in names(world.commands)) == (answered[-1] == "stop")


@pytest.mark.parametrize(("mode", "existed"), [("create", False), ("add", False), ("add", True), ("replace", False)])
def test_what_was_undone_may_have_been_committed_and_moved(mode: Any, existed: bool) -> None:
    """The journal was cut before the record of its commit: that it was is sure when its files are in another place."""
    world = epoch(write(1, TMP, mode, state="committing", existed=existed), reads=(had_read(X),))
    undone = wr.WriteResolved(ordinal=1, outcome="undone")
    forgotten = only(rc.ForgetWrites, world.tell(undone))
    assert (forgotten.ordinals, forgotten.moved) == ((1,), (1,))
    assert only(rc.AnswerWrite, world.tell(finds(X, "j0"))).pending
    # When it was cut off indeed, it is written again.
    assert says(world, declared("s1", TMP, mode, existed=existed)) == "run"
    assert says(world, finds(X, "j1")) == "stop"


@pytest.mark.parametrize("state", ["committing", "committed"])
def test_what_was_moved_is_known_although_the_journal_does_not_go_to_its_end(state: Any) -> None:
    world = epoch(write(1, TMP, state=state), reads=(had_read(X),), writes_lost="the recording of epoch 1 stopped")
    assert says(world, finds(X, "j0")) == "run"
    assert says(world, finds(X, "j1")) == "stop"


@pytest.mark.parametrize("read_first", [False, True])
def test_what_was_moved_is_known_although_the_journal_opens_late(read_first: bool) -> None:
    """Another attempt may read it in time."""
    world = World(recovery=ON)
    due = next(one for one in of(cm.SetTimer, world.start(2)) if one.name == REPLAY_TIMER)
    world.fire(REPLAY_TIMER, due.at_ms)
    if read_first:
        assert says(world, finds(X, "j1")) == "run"
        assert says(world, finds(X, "j2")) == "run"  # of that place, in addition
    told = world.tell(rec.JournalReplayed(epochs=(1,), writes=(write(1, TMP),), reads=(had_read(X),)))
    if not read_first:
        told = world.tell(finds(X, "j1"))
        assert only(rc.AnswerWrite, told).action == "stop"
    assert "would apply its change twice" in only(cm.AbandonAttempt, told).reason


def test_what_never_came_to_its_commit_was_not_moved() -> None:
    world = epoch(write(1, TMP, "create", state="begun", existed=False, digest=""), reads=(had_read(X),))
    assert only(rc.ForgetWrites, world.tell(wr.WriteResolved(ordinal=1, outcome="undone"))).moved == ()
    answer = only(rc.AnswerWrite, world.tell(finds(X, "j1")))
    assert (answer.action, answer.pending) == ("run", False)


def test_a_third_life_knows_what_the_second_one_wrote_over() -> None:
    second = epoch(write(1, TMP), write(2, TMP, state="begun"))
    says(second, declared("other", TMP))
    forgotten = only(rc.ForgetWrites, second.tell(beginning()))
    assert (forgotten.ordinals, forgotten.moved) == ((1, 2), (1,))
    third = epoch(moved_writes=(write(1, TMP),), reads=(had_read(X),), number=3)
    assert says(third, declared("s", Y, number=1)) == "run"
    assert only(rc.RecordWrite, third.tell(beginning())).ordinal == 2
    assert says(third, finds(X, "j1")) == "stop"


def test_what_is_read_is_recorded_for_all_writes_that_are_under_way() -> None:
    world = epoch(number=1, epochs=(), progress=0)
    for number in (1, 2, 3):
        world.tell(declared(path=f"{Y}{number}", number=number))
        world.tell(beginning(number))
    recorded = [
        only(rc.RecordCommitting, world.tell(committing(2, read=(X,)))),
        only(rc.RecordCommitting, world.tell(committing(1))),
    ]
    assert [(one.ordinal, one.earliest, one.read) for one in recorded] == [(2, 1, (X,)), (1, 1, ())]
    world.tell(wr.WriteFinished(question=9, write=1))
    world.tell(wr.WriteFinished(question=9, write=2))
    last = only(rc.RecordCommitting, world.tell(committing(3, read=(Y,))))
    assert (last.epoch, last.earliest, last.read) == (1, 3, (Y,))


def test_writes_that_will_never_be_committed_are_not_under_way() -> None:
    """One that failed, and one of mode `ignore` where something is: what is read later was not read before these."""
    world = epoch(number=1, epochs=(), progress=0)
    for number, mode in ((1, "add"), (2, "create"), (3, "replace")):
        world.tell(declared(path=f"{Y}{number}", mode=mode, number=number))
        world.tell(wr.WriteBeginning(question=2, write=number, job=f"j{number}", existed=True))
    world.tell(wr.WriteAborting(question=3, write=1))
    told = world.tell(committing(3, read=(X,)))
    assert only(rc.RecordCommitting, told).earliest == 3


def test_what_was_read_before_anything_could_be_recorded_is_recorded_with_the_next_commit() -> None:
    world = World(recovery=ON)
    due = next(one for one in of(cm.SetTimer, world.start(1)) if one.name == REPLAY_TIMER)
    world.fire(REPLAY_TIMER, due.at_ms)
    world.tell(declared())
    world.tell(beginning())
    first = world.tell(committing(1, read=(X,)))
    assert of(rc.RecordCommitting, first) == []
    world.tell(wr.WriteFinished(question=4, write=1))
    world.tell(rec.JournalReplayed())
    world.tell(declared(path=Y, number=2))
    world.tell(beginning(2))
    second = world.tell(committing(2, read=(Y,)))
    assert only(rc.RecordCommitting, second).read == (X, Y)


@pytest.mark.parametrize("name", CASES)
def test_what_is_done_again(name: str) -> None:
    saved, does, answered = CASES[name]
    world = epoch(*saved)
    assert [says(world, each) for each in does] == answered
    assert ("FinishApplication" in names(world.commands)) == (answered[-1] == "stop")


def test_who_would_apply_a_change_twice_is_told_so_and_not_tried_again() -> None:
    world = epoch(write(7))
    world.tell(reads(X))
    end = only(cm.FinishApplication, world.commands)
    assert (end.status, end.exit_code) == ("FAILED", 1)
    assert (
        f"reads {X}, which an earlier driver epoch has changed since (write 7, committed in epoch 1)" in end.diagnostics
    )
    assert "twice" in end.diagnostics


def test_a_write_is_recorded_before_each_of_its_steps() -> None:
    world = epoch(number=1, epochs=(), progress=0)
    world.tell(declared("s", mode="add"))
    begun = world.tell(wr.WriteBeginning(question=2, write=1, job="j", existed=False))
    assert names(begun) == ["RecordWrite", "AnswerWrite"]
    record = only(rc.RecordWrite, begun)
    assert (record.ordinal, record.signature, record.path, record.mode) == (1, "s", X, "add")
    assert (record.job, record.epoch, record.existed) == ("j", 1, False)
    deleting = world.tell(wr.WriteDeleting(question=8, write=1))
    assert names(deleting) == ["AnswerWrite"]
    showing = world.tell(
        wr.WriteCommitBeginning(question=3, write=1, files=4, digest="d", made={"x": 1}, done_before=2)
    )
    assert names(showing) == ["RecordCommitting", "AnswerWrite"]
    recorded = only(rc.RecordCommitting, showing)
    assert (recorded.made, recorded.done_before) == ({"x": 1}, 2)
    assert [one.fenced for one in of(rc.AnswerWrite, begun + deleting + showing)] == [True, True, True]
    finished = world.tell(wr.WriteFinished(question=4, write=1))
    assert names(finished) == ["RecordCommit", "RecordProgress", "AnswerWrite"]
    # After it the program may move the files.
    assert only(rc.AnswerWrite, finished).fenced
    world.tell(declared("t", number=2))
    again = world.tell(wr.WriteBeginning(question=6, write=2, job="k", existed=True))
    assert only(rc.RecordWrite, again).ordinal == 2
    failed = world.tell(wr.WriteAborting(question=7, write=2))
    assert failed[0] == only(rc.RecordWrite, again)
    assert only(rc.AnswerWrite, failed).fenced


def test_an_overwrite_forgets_what_it_overwrites_and_goes_on_counting() -> None:
    world = epoch(write(3), write(4, f"{X}/day=1", "add"), write(5, Y))
    assert says(world, declared("other")) == "run"
    begun = world.tell(wr.WriteBeginning(question=2, write=1, job="j", existed=True))
    assert names(begun) == ["RecordWrite", "ForgetWrites", "AnswerWrite"]
    assert only(rc.RecordWrite, begun).ordinal == 6
    assert only(rc.ForgetWrites, begun).ordinals == (3, 4)
    assert says(world, reads(X)) == "run"
    assert says(world, reads(Y)) == "stop"


def test_what_a_format_deletes_before_it_saves_is_forgotten() -> None:
    world = epoch(write(1, mode="save"))
    assert says(world, declared("other", mode="save")) == "run"
    assert only(rc.ForgetWrites, world.tell(beginning(existed=False))).ordinals == (1,)
    assert says(world, reads(X)) == "run"


def test_what_somebody_took_away_is_written_anew_and_forgotten() -> None:
    world = epoch(write(1, mode="add"), write(2, mode="add"))
    assert says(world, declared("s1", mode="add", existed=False)) == "run"
    begun = world.tell(beginning(existed=False))
    assert only(rc.ForgetWrites, begun).ordinals == (1, 2)
    # The second one was taken away with the first.
    assert says(world, declared("s2", mode="add", number=2)) == "run"


def test_what_an_overwrite_beside_it_had_not_found_has_to_be_there_still() -> None:
    world = epoch(write(1, mode="add", existed=False), write(2, existed=False))
    assert only(rc.AnswerWrite, world.tell(declared("s1", mode="add"))).check


def test_only_what_nobody_overwrote_has_to_be_there_still() -> None:
    world = epoch(write(1, mode="create"), write(2))
    first = only(rc.AnswerWrite, world.tell(declared("s1", mode="create")))
    second = only(rc.AnswerWrite, world.tell(declared("s2", number=2)))
    assert (first.check, second.check) == (False, True)
    assert second.saved == write(2)
    # Unless there was nothing to overwrite: somebody had moved the first one away, and may move again what is there.
    moved = epoch(write(1, mode="create", existed=False), write(2, existed=False, done_before=1))
    assert only(rc.AnswerWrite, moved.tell(declared("s1", mode="create"))).check


@pytest.mark.parametrize(
    ("mode", "answered"),
    [("replace", "run"), ("add", "stop"), ("amend", "run"), ("create", "stop"), ("ignore", "stop"), ("save", "run")],
)
def test_output_that_is_not_as_it_was_committed(mode: Any, answered: str) -> None:
    """Another program may have put its rows into other files: added once more, they would be there twice."""
    world = epoch(write(1, mode=mode))
    assert says(world, declared("s1", mode=mode)) == "skip"
    assert says(world, wr.WriteMissing(question=2, write=1)) == answered
    # What is there stays until it is overwritten.
    assert not of(rc.ForgetWrites, world.commands)
    if mode == "replace":
        begun = world.tell(beginning(defers=True)) + world.tell(committing(1))
        assert only(rc.ForgetWrites, begun).ordinals == (1,)
    elif answered == "run":
        assert says(world, reads(X)) == "stop"


def test_what_earlier_epochs_left_half_done_is_looked_at_first() -> None:
    unfinished = [
        write(1, state="committing"),
        write(2, Y, "add", state="begun"),
        write(3, "hdfs://n/z", state="begun", existed=True),
    ]
    world = epoch(*unfinished, write(4, "hdfs://n/a"))
    asked = only(rc.AnswerWrite, world.tell(wr.WritesAsked(question=1)))
    assert asked.unfinished == tuple(unfinished)
    assert asked.pending
    done = world.tell(wr.WriteResolved(ordinal=1, outcome="committed"))
    assert only(rc.RecordCommit, done).ordinal == 1
    undone = world.tell(wr.WriteResolved(ordinal=2, outcome="undone"))
    assert only(rc.ForgetWrites, undone).ordinals == (2,)
    # What it had overwritten does not come back.
    assert names(world.tell(wr.WriteResolved(ordinal=3, outcome="undone"))) == ["AnswerWrite"]
    assert says(world, reads(Y)) == "run"
    skipped = only(rc.AnswerWrite, world.tell(declared("s1")))
    # The record that it is committed may be on its way still.
    assert (skipped.action, skipped.fenced) == ("skip", True)
    assert says(world, reads("hdfs://n/z")) == "stop"


@pytest.mark.parametrize("state", ["begun", "committing"])
def test_where_what_was_overwritten_is_there_again_it_is_as_if_the_write_had_never_been(state: Any) -> None:
    world = epoch(write(1, Y, "amend", state=state), reads=(had_read(Y),))
    forgotten = only(rc.ForgetWrites, world.tell(wr.WriteResolved(ordinal=1, outcome="restored")))
    assert (forgotten.ordinals, forgotten.moved) == ((1,), ())
    assert says(world, reads(Y)) == "run"
    assert says(world, declared("s1", Y, "amend")) == "run"


@pytest.mark.parametrize("mode", ["replace", "amend"])
def test_what_stays_until_the_commit_is_overwritten_only_then(mode: Any) -> None:
    """The job of an overwrite may itself read what is there: what an earlier driver epoch has written after that."""
    world = epoch(write(1, X, mode, signature=""))
    assert says(world, declared("", X, mode)) == "run"
    begun = world.tell(beginning(defers=True))
    assert names(begun) == ["RecordWrite", "AnswerWrite"]
    assert only(rc.RecordWrite, begun).defers
    committed = world.tell(committing(1))
    assert names(committed) == ["RecordWrite", "ForgetWrites", "RecordCommitting", "AnswerWrite"]
    again = only(rc.RecordWrite, committed)
    # The next record says that it is about to be committed.
    assert (again.ordinal, again.instead, again.defers) == (2, True, True)
    assert says(world, reads(X)) == "run"
    other = epoch(write(1, X, mode, signature=""))
    assert says(other, declared("", X, mode)) == "run"
    other.tell(beginning(defers=True))
    assert says(other, reads(X)) == "stop"


def test_what_is_removed_before_its_commit_is_forgotten_by_then() -> None:
    world = epoch(write(1))
    assert says(world, declared("other")) == "run"
    world.tell(beginning(defers=True))
    cleared = world.tell(wr.WriteClearing(question=5, write=1))
    assert names(cleared) == ["RecordWrite", "ForgetWrites", "AnswerWrite"]
    assert not only(rc.RecordWrite, cleared).defers
    assert only(rc.AnswerWrite, cleared).fenced
    assert names(world.tell(wr.WriteClearing(question=6, write=1))) == ["AnswerWrite"]
    assert names(world.tell(committing(1))) == ["RecordCommitting", "AnswerWrite"]


@pytest.mark.parametrize("mode", ["replace", "amend"])
def test_a_write_that_left_what_was_there_until_its_commit_had_overwritten_nothing_before(mode: Any) -> None:
    world = epoch(write(1, Y, mode, state="begun", defers=True, digest=""))
    assert only(rc.ForgetWrites, world.tell(wr.WriteResolved(ordinal=1, outcome="undone"))).ordinals == (1,)
    assert says(world, reads(Y)) == "run"
    world = epoch(write(1, Y, mode, state="committing", defers=True))
    assert names(world.tell(wr.WriteResolved(ordinal=1, outcome="undone"))) == ["AnswerWrite"]
    assert says(world, reads(Y)) == "stop"


def test_what_a_write_that_failed_had_overwritten_may_be_there_again() -> None:
    """Its commit failed: the program may catch that, and must not read now what it writes later."""
    world = epoch(write(1), write(2, f"{X}/day=1", "add"))
    assert says(world, declared("other")) == "run"
    world.tell(beginning(defers=True))
    early = only(rc.RecordWrite, world.tell(wr.WriteAborting(question=4, write=1)))
    assert (early.defers, early.instead) == (True, False)
    assert says(world, declared("other", number=2)) == "run"
    world.tell(beginning(2, defers=True))
    world.tell(committing(2))
    assert says(world, reads(X)) == "run"
    late = only(rc.RecordWrite, world.tell(wr.WriteAborting(question=5, write=2)))
    assert (late.defers, late.instead) == (False, True)
    assert says(world, reads(X)) == "stop"


def test_what_nobody_knows_is_not_overwritten_by_what_was_read_from_it_meanwhile() -> None:
    world = epoch(problem="damaged")
    assert says(world, declared("")) == "run"
    world.tell(beginning(defers=True))
    assert says(world, reads(X)) == "run"
    assert says(world, committing(1)) == "stop"


@pytest.mark.parametrize("mode", ["add", "create", "ignore", "amend"])
def test_where_an_overwrite_was_cut_off_only_an_overwrite_runs(mode: Any) -> None:
    """What was there before is gone, and with it what the program had written before and read since."""
    world = epoch(write(1, X, "add"), write(2, X, state="begun", existed=True))
    assert says(world, declared("s9", X, mode, existed=False)) == "stop"
    world = epoch(write(1, X, "add"), write(2, X, state="begun", existed=True))
    assert says(world, declared("s9", X, existed=False)) == "run"
    for earlier in ((), (write(1, X, "create", existed=False), write(2, X, state="begun", existed=True))):
        # All that was there the program had made, and makes it again.
        world = epoch(*earlier or (write(2, X, state="begun", existed=False),))
        assert says(world, declared("s9", X, mode, existed=False)) == "run"


def test_what_an_overwrite_has_lost_stays_lost_until_another_has_come_to_its_end() -> None:
    """The second life begins to overwrite what is gone by then, and is cut off as well."""
    second = epoch(write(1, X, "add"), write(2, X, state="begun", existed=True))
    assert says(second, declared("s9", X, existed=False)) == "run"
    begun = only(rc.RecordWrite, second.tell(beginning(existed=False, defers=True)))
    assert (begun.existed, begun.instead, begun.defers) == (True, True, False)
    third = epoch(write(3, X, state="begun", existed=begun.existed, instead=True), number=3)
    assert names(third.tell(wr.WriteResolved(ordinal=3, outcome="undone"))) == ["AnswerWrite"]
    assert says(third, declared("s9", X, "add", existed=False)) == "stop"


def test_what_took_the_place_of_others_stands_for_them_when_it_was_undone() -> None:
    """Two lives ago partitions were overwritten twice; the last life began to do the first of that again."""
    second = epoch(write(1, Y, "amend", signature=""), write(2, Y, "amend", signature=""))
    assert says(second, declared("", Y, "amend")) == "run"
    begun = only(rc.RecordWrite, second.tell(wr.WriteBeginning(question=9, write=1, job="j3", existed=True)))
    assert begun.instead
    third = epoch(
        write(2, Y, "amend", signature=""), write(3, Y, "amend", signature="", state="begun", instead=True), number=3
    )
    assert names(third.tell(wr.WriteResolved(ordinal=3, outcome="restored"))) == ["AnswerWrite"]
    assert says(third, reads(Y)) == "stop"


def test_what_is_there_again_in_the_place_of_others_is_not_taken_for_committed_later() -> None:
    """Of a write without files nobody sees whether it was shown."""
    third = epoch(write(3, Y, state="committing", instead=True), number=3)
    again = only(rc.RecordWrite, third.tell(wr.WriteResolved(ordinal=3, outcome="restored")))
    assert (again.ordinal, again.path, again.epoch, again.instead) == (3, Y, 1, True)
    assert names(third.tell(wr.WriteResolved(ordinal=3, outcome="committed"))) == ["AnswerWrite"]
    assert says(third, reads(Y)) == "stop"


def test_what_could_be_neither_finished_nor_undone_is_not_built_upon() -> None:
    world = epoch(write(1, mode="add", state="committing"))
    assert names(world.tell(wr.WriteResolved(ordinal=1, outcome="failed", why="no permission"))) == ["AnswerWrite"]
    assert says(world, declared("s1", mode="add")) == "stop"


@pytest.mark.parametrize(
    ("mode", "answered"),
    [
        ("replace", "run"),
        ("create", "stop"),
        ("add", "stop"),
        ("amend", "stop"),
        ("unknown", "stop"),
        ("ignore", "stop"),
        ("save", "run"),
    ],
)
@pytest.mark.parametrize("why", ["problem", "off", "late", "writes_lost"])
def test_where_nobody_knows_what_was_written_nothing_is_added(why: str, mode: Any, answered: str) -> None:
    world = World(recovery=ON)
    due = next(one for one in of(cm.SetTimer, world.start(2)) if one.name == REPLAY_TIMER)
    if why == "late":
        world.fire(REPLAY_TIMER, due.at_ms)
    said: dict[str, Any] = {} if why == "late" else {why: "damaged"}
    world.tell(rec.JournalReplayed(epochs=(1,), progress=1, writes=(write(1, Y),), **said))
    assert says(world, declared("s1", mode=mode, existed=False)) == "run"
    assert says(world, declared("s1", mode=mode, number=2)) == answered


def test_an_attempt_that_could_not_read_the_journal_leaves_it_to_the_next_one() -> None:
    world = World(recovery=RecoverySettings(enabled=True))
    world.start(2)
    world.tell(rec.JournalReplayed(off="the journal could not be opened: HDFS does not answer"))
    told = world.tell(declared("s", mode="add"))
    assert only(rc.AnswerWrite, told).action == "stop"
    assert "HDFS does not answer" in only(cm.AbandonAttempt, told).reason
    assert not of(cm.FinishApplication, told)


def test_where_nobody_knows_what_was_written_no_input_is_overwritten() -> None:
    world = epoch(problem="damaged")
    assert only(rc.AnswerWrite, world.tell(wr.WritesAsked(question=1))).pending
    assert says(world, declared(path=Y)) == "run"
    assert says(world, beginning()) == "run"
    assert [says(world, reads(X)), says(world, reads(Y))] == ["run", "run"]
    # What it has overwritten itself holds nothing that it does not know.
    assert says(world, declared(path=Y, mode="add", number=2)) == "run"
    assert says(world, declared(path=Y, number=3)) == "run"
    assert says(world, declared(path=X)) == "stop"


def test_without_recovery_nothing_waits_and_nothing_is_refused() -> None:
    world = World()
    world.start(2)
    for mode in ("replace", "amend", "add", "create"):
        assert says(world, declared("s", mode=mode)) == "run"
    answer = only(rc.AnswerWrite, world.tell(wr.WritesAsked(question=1)))
    assert (answer.unfinished, answer.pending) == ((), False)
    assert says(world, reads(X)) == "run"


def test_a_driver_that_is_started_again_begins_with_what_the_journal_has_then() -> None:
    """In the same application master: nothing that its former life asked or was told is left."""
    world = World(recovery=RecoverySettings(enabled=True, driver_restarts=1))
    world.start()
    world.tell(rec.JournalReplayed())
    world.tell(declared("s", mode="add"))
    world.tell(wr.WriteBeginning(question=2, write=1, job="j", existed=True))
    began = world.tell(ev.DriverLost(exit_code=-9, reason="killed"))
    assert only(cm.BeginEpoch, began).epoch == 2
    # The same numbers once more: they wait for the journal, and are those of another write.
    assert world.tell(declared("t", Y, "add")) == []
    saved = (write(1, mode="add", state="begun", digest=""), write(2, Y, "add", signature="t"))
    replayed = world.tell(rec.JournalReplayed(writes=saved, epochs=(1,), progress=1))
    assert only(rc.AnswerWrite, replayed).saved == saved[1]
    assert only(rc.AnswerWrite, world.tell(wr.WritesAsked(question=2))).unfinished == saved[:1]
    assert says(world, declared("u", "hdfs://n/z", number=2)) == "run"
    assert only(rc.RecordWrite, world.tell(wr.WriteBeginning(question=4, write=2, job="k", existed=True))).ordinal == 3
    # What was begun before is not this one's to go on with.
    assert says(world, wr.WriteBeginning(question=5, write=3, job="j", existed=True)) == "stop"


@pytest.mark.parametrize("why", ["the recording stopped", "the journal was not open"])
def test_what_a_life_could_not_record_is_not_taken_for_nothing_by_the_next(why: str) -> None:
    world = World(recovery=RecoverySettings(enabled=True, driver_restarts=2))
    world.start()
    if why == "the recording stopped":
        world.tell(rec.JournalReplayed())
        world.tell(rec.RecordingEnded(why="the disk is full"))
    else:
        world.tell(rec.JournalReplayed(off="the disk is full"))
    assert says(world, declared("s", mode="add")) == "run"
    world.tell(beginning())
    for lives in (1, 2):
        world.tell(ev.DriverLost(exit_code=-9, reason="killed"))
        if lives > 1:
            world.fire(RESTART_TIMER, world.now_ms + RecoverySettings().restart_first_ms)
        # This journal opens, and knows nothing of all that.
        replayed = world.tell(rec.JournalReplayed(epochs=(1,), progress=lives))
        assert only(rc.RecordLost, replayed).reason
        assert says(world, declared("s", mode="add", existed=False)) == "run"
    assert says(world, declared("s", mode="add", number=2)) == "stop"


def test_a_life_that_wrote_nothing_without_a_journal_leaves_no_doubt() -> None:
    world = World(recovery=RecoverySettings(enabled=True, driver_restarts=1))
    world.start()
    world.tell(rec.JournalReplayed(off="the disk is full"))
    world.tell(ev.DriverLost(exit_code=-9, reason="killed"))
    assert not of(rc.RecordLost, world.tell(rec.JournalReplayed(epochs=(1,), progress=1)))
    assert says(world, declared("s", mode="add")) == "run"


def test_what_goes_wrong_with_shuffles_keeps_no_write_from_being_recorded() -> None:
    world = epoch(number=1, epochs=(), progress=0)
    world.tell(rec.RecordingStopped(shuffle=rec.ALL_SHUFFLES, why="too much"))
    world.tell(declared("s", mode="add"))
    assert names(world.tell(beginning())) == ["RecordWrite", "AnswerWrite"]
    assert "RecordCommit" in names(world.tell(wr.WriteFinished(question=4, write=1)))


def test_an_epoch_that_cannot_know_what_was_written_does_not_run() -> None:
    world = World(recovery=RecoverySettings(off="epoch 22", refused="epoch 22"))
    end = only(cm.FinishApplication, world.start(22))
    assert "would be done again" in end.reason
    assert not of(cm.StartDriver, world.commands)


def test_a_changed_program_recognizes_nothing() -> None:
    world = epoch(write(1, mode="add"), changed=("its files",))
    assert says(world, declared("s1", mode="add")) == "stop"


def test_what_was_written_is_known_however_long_the_next_driver_took() -> None:
    lies = rec.SavedShuffle(shuffle=1, signature="s", maps=1, reduces=1, determinism="determinate", by_host={"h": 1})
    world = epoch(write(1, mode="add"), shuffles=(lies,), waits=(Wait(epoch=2, waited_ms=ON.keep_for_ms + 1),))
    assert of(rc.ForgetShuffle, world.commands)
    assert says(world, declared("s1", mode="add")) == "skip"
    assert says(world, reads(X)) == "run"


def test_questions_wait_for_the_journal_and_no_longer_than_others() -> None:
    world = World(recovery=ON)
    due = next(one for one in of(cm.SetTimer, world.start(1)) if one.name == REPLAY_TIMER)
    assert world.tell(declared("s", mode="add")) == []
    assert only(rc.AnswerWrite, world.fire(REPLAY_TIMER, due.at_ms)).action == "run"
    begun = world.tell(wr.WriteBeginning(question=2, write=1, job="j", existed=False))
    assert names(begun) == ["AnswerWrite"]
    # Nobody knows which files are its own: the next epoch must not add to that path.
    late = only(rc.RecordWrite, world.tell(rec.JournalReplayed()))
    assert (late.ordinal, late.path, late.job) == (1, X, "")
