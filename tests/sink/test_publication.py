"""What is published and what is not: attempts that lose, other applications, drivers that come back."""

from __future__ import annotations

import errno
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.sink.world import APPLICATION, Driver, Killed, MortalFiles, Tasks, around, read, read_published
from yarnspec.errors import UsageError, YarnspecError
from yarnspec.sink.claim import PathClaimed
from yarnspec.sink.decision import SUCCESS, Mode, manifests
from yarnspec.sink.files import LocalFiles
from yarnspec.sink.publication import Begun, OutputExists, Publication, Step, Unfinished
from yarnspec.sink.save import save

STEPS = list(Step)


def test_one_attempt_of_each_partition_and_the_four_sets(tmp_path: Path) -> None:
    decision = Driver(str(tmp_path / "out"), losers=(0, 2)).save("a", "b", "c")
    assert read(tmp_path / "out") == ["a", "b", "c"]
    assert decision.attempts.fast == ("e1.t0", "e1.t2")
    assert decision.attempts.slow == ("e1.t90", "e1.t92")
    assert decision.attempts.finished == ("e1.t1",)
    assert decision.attempts.all == ("e1.t0", "e1.t1", "e1.t2", "e1.t80", "e1.t82", "e1.t90", "e1.t92")
    (manifest,) = manifests(LocalFiles(), str(tmp_path / "out"))
    assert manifest == decision


@pytest.mark.parametrize("name", ["an output", "100%", "a#b?c", "q'uo\"te$", "ünï", "{a,b}*[c]", "_x", "..."])
def test_names_that_need_quoting(tmp_path: Path, name: str) -> None:
    for mode in (Mode.FAIL, Mode.OVERWRITE, Mode.APPEND):
        Driver(str(tmp_path / name), mode=mode).save("a", "b")
    assert read(tmp_path / name) == read_published(tmp_path / name) == ["a", "a", "b", "b"]
    assert around(tmp_path / name) == []


def test_no_partition_at_all(tmp_path: Path) -> None:
    Driver(str(tmp_path / "out"), losers=()).save()
    assert read(tmp_path / "out") == []
    assert (tmp_path / "out" / SUCCESS).exists()


def test_what_exists_is_kept_unless_it_is_to_be_overwritten(tmp_path: Path) -> None:
    out = tmp_path / "out"
    Driver(str(out)).save("old")
    again = Driver(str(out), application="application_1_0002")
    with pytest.raises(OutputExists, match="mode='overwrite'"):
        again.save("new")
    assert read(out) == ["old"]
    assert again.ran == []
    assert around(out) == []
    (tmp_path / "a file").write_text("somebody's")
    to_a_file = Driver(str(tmp_path / "a file"), mode=Mode.APPEND)
    with pytest.raises(UsageError, match="nothing can be added"):
        to_a_file.save("new")


def test_somebody_makes_the_output_meanwhile(tmp_path: Path) -> None:
    out = tmp_path / "out"
    driver = Driver(str(out))

    def meanwhile(_publication: Publication) -> None:
        out.mkdir()
        (out / "theirs").write_text("theirs")

    driver.on_running = meanwhile
    with pytest.raises(OutputExists, match="meanwhile"):
        driver.save("new")
    assert not driver.publication.decided
    assert read(out) == ["theirs"]
    assert around(out) == []
    # The same in the midst of publishing, and the driver dies of it: the next one must not get stuck in what it left.
    again = Driver(str(out), epoch=2, mode=Mode.OVERWRITE)
    again.save("new")
    assert read(out) == ["new"]


def test_another_application_is_refused_while_one_writes(tmp_path: Path) -> None:
    out = tmp_path / "out"
    seen = []

    def other(_publication: Publication) -> None:
        for mode in Mode:
            with pytest.raises(PathClaimed, match=APPLICATION):
                Driver(str(out), application="application_1_0002", mode=mode).save("other")
            seen.append(mode)

    Driver(str(out), on_running=other).save("one")
    assert seen == list(Mode)
    assert read(out) == ["one"]
    assert around(out) == []


def test_an_append_to_what_others_wrote(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "part-00000").write_text("spark's")
    (out / SUCCESS).write_text("")
    Driver(str(out), mode=Mode.APPEND).save("ours")
    assert read(out) == read_published(out) == ["ours", "spark's"]
    (out / "part-00001").write_text("spark's")
    assert len(read_published(out)) == 3


def test_a_late_loser_cannot_write_a_file(tmp_path: Path) -> None:
    """Not in the attempts' directory, which is gone, nor by a name that it has open."""
    out = tmp_path / "out"
    driver = Driver(str(out))
    opened = []
    places = []

    def begin(publication: Publication) -> None:
        places.append(Path(publication.place.attempts))
        opened.append((places[0] / "00001.e1.t77.writing").open("w"))

    driver.on_running = begin
    driver.save("a", "b")
    opened[0].write("late")
    opened[0].close()
    with pytest.raises(FileNotFoundError):
        (places[0] / "00001.e1.t77.writing").rename(places[0] / "00001.e1.t77")
    with pytest.raises(FileNotFoundError):
        (places[0] / "00001.e1.t78.writing").write_text("later")
    assert read(out) == ["a", "b"]
    assert around(out) == []


# a driver that comes back


@pytest.mark.parametrize("mode", Mode)
def test_what_an_earlier_driver_published_is_not_done_again(tmp_path: Path, mode: Mode) -> None:
    out = tmp_path / "out"
    first = Driver(str(out), mode=mode).save("a", "b")
    again = Driver(str(out), epoch=2, mode=mode)
    assert again.save("a", "b") == first
    assert again.ran == []
    assert read(out) == ["a", "b"]
    assert around(out) == []


def test_the_second_append_of_a_program_is_one_of_its_own(tmp_path: Path) -> None:
    out = tmp_path / "out"
    for epoch in (1, 2, 3):
        for ordinal, content in ((1, "first"), (2, "second")):
            Driver(str(out), epoch=epoch, ordinal=ordinal, mode=Mode.APPEND).save(content)
    assert read(out) == ["first", "second"]


def test_a_program_that_goes_another_way_is_told_so(tmp_path: Path) -> None:
    """Of its two saves the first had failed in its first life, so that the second had the number of the first."""
    out = tmp_path / "out"
    Driver(str(out), mode=Mode.APPEND, line="program.py:20").save("second")
    first_again = Driver(str(out), epoch=2, mode=Mode.APPEND, line="program.py:10")
    with pytest.raises(YarnspecError, match=r"number 1 in program\.py:20 \(call 1\), and now it is in program\.py:10"):
        first_again.save("first")
    assert read(out) == ["second"]
    assert around(out) == []
    first_again = Driver(str(out), epoch=2, mode=Mode.OVERWRITE, line="program.py:10")
    with pytest.raises(YarnspecError, match="the program has not gone the same way"):
        first_again.save("first")
    assert read(out) == ["second"]


def test_a_loop_whose_first_round_failed_only_in_its_first_life(tmp_path: Path) -> None:
    """All rounds stand in one line; which of them it was says the number of calls."""
    out = tmp_path / "out"
    failing = Driver(str(out), mode=Mode.APPEND, line="program.py:20")
    counted: Counter[tuple[str, ...]] = Counter()

    def fail(_publication: Publication) -> None:
        raise ZeroDivisionError

    failing.on_running = fail
    with pytest.raises(ZeroDivisionError):
        save(failing.publication, Tasks(failing, ("a",)), counted, failing.line)
    second = Driver(str(out), mode=Mode.APPEND, line=failing.line)
    save(second.publication, Tasks(second, ("b",)), counted, second.line)
    first_again = Driver(str(out), epoch=2, mode=Mode.APPEND, line=failing.line)
    with pytest.raises(YarnspecError, match=r"\(call 2\), and now it is in program\.py:20 \(call 1\)"):
        first_again.save("a")
    assert read(out) == ["b"]


def test_a_change_of_what_is_there_is_not_applied_twice(tmp_path: Path) -> None:
    """Five rounds of reading, adding one and overwriting, and a driver that is started again after three."""
    out = tmp_path / "out"

    def rounds(epoch: int, count: int) -> None:
        for ordinal in range(1, count + 1):
            state = int((read(out) or ["0"])[0])
            Driver(str(out), epoch=epoch, ordinal=ordinal, mode=Mode.OVERWRITE).save(str(state + 1))

    rounds(1, 3)
    with pytest.raises(YarnspecError, match="number 1 of the program.*number 3 there already.*as a new application"):
        rounds(2, 5)
    assert read(out) == ["3"]
    assert around(out) == []


@pytest.mark.parametrize(
    ("first", "then"), [(Mode.APPEND, Mode.OVERWRITE), (Mode.OVERWRITE, Mode.APPEND), (Mode.FAIL, Mode.OVERWRITE)]
)
def test_a_save_of_which_nothing_is_left_is_not_made_again_on_later_ones(
    tmp_path: Path, first: Mode, then: Mode
) -> None:
    """An append would be in the output of the overwrite that came after it; an overwrite would take an append away."""
    out = tmp_path / "out"
    for ordinal, mode in ((1, first), (2, then)):
        Driver(str(out), ordinal=ordinal, mode=mode).save(f"{mode}")
    there = read(out)
    again = Driver(str(out), epoch=2, ordinal=1, mode=first)
    with pytest.raises(YarnspecError, match="number 2 there already"):
        again.save("again")
    assert again.ran == []
    assert read(out) == there


def dead_at(step: Step, out: Path, **facts: object) -> None:
    """Leave what a driver of epoch 1 leaves that dies when it comes to a step."""
    probe = MortalFiles()
    Driver(str(out) + " probe", files=probe, **facts).save("a", "b")  # type: ignore[arg-type]
    at = next(number for number, (seen, _) in enumerate(probe.seen) if seen is step)
    with pytest.raises(Killed):
        Driver(str(out), files=MortalFiles(at), **facts).save("a", "b")  # type: ignore[arg-type]


def test_finished_partitions_of_the_same_computation_do_not_run_again(tmp_path: Path) -> None:
    out = tmp_path / "out"
    dead_at(Step.DECIDE, out, identity="same")
    (room,) = (tmp_path / ".out.yarnspec-sink").iterdir()
    (room / "attempts" / "00001.e1.t1").rename(room / "attempts" / "00001.e1.t1.writing")  # not whole
    driver = Driver(str(out), epoch=2, identity="same")
    decision = driver.save("not written", "b again")
    assert driver.ran == [1]
    assert read(out) == ["a", "b again"]
    sets = decision.attempts
    assert (sets.fast, sets.slow, sets.finished) == (("e1.t0",), ("e1.t90",), ("e2.t1",))
    assert sets.all == ("e1.t0", "e1.t1", "e1.t80", "e1.t90", "e2.t1")
    assert around(out) == [f"{out.name} probe"]


def test_the_sets_of_an_epoch_in_which_no_task_ran(tmp_path: Path) -> None:
    """What had copies before is in the directory."""
    out = tmp_path / "out"
    dead_at(Step.DECIDE, out, identity="same")
    driver = Driver(str(out), epoch=2, identity="same")
    sets = driver.save("a", "b").attempts
    assert driver.ran == []
    assert (sets.fast, sets.slow, sets.finished) == (("e1.t0",), ("e1.t90",), ("e1.t1",))


@pytest.mark.parametrize(
    "facts",
    [
        {"identity": "other"},
        {"identity": ""},
        {"identity": "same", "ordinal": 2},
        {"identity": "same", "epoch": 1, "take_over": True},
        {"identity": "same", "application": "application_1_0002", "take_over": True},
    ],
)
def test_in_doubt_everything_runs_again(tmp_path: Path, facts: dict[str, object]) -> None:
    out = tmp_path / "out"
    dead_at(Step.DECIDE, out, identity="same")
    driver = Driver(str(out), **{"epoch": 2, **facts})  # type: ignore[arg-type]
    driver.save("new a", "new b")
    assert driver.ran == [0, 1]
    assert read(out) == ["new a", "new b"]


def test_other_partitions_are_another_computation(tmp_path: Path) -> None:
    out = tmp_path / "out"
    dead_at(Step.DECIDE, out, identity="same")
    driver = Driver(str(out), epoch=2, identity="same")
    driver.save("new a", "new b", "new c")
    assert driver.ran == [0, 1, 2]


def test_a_computation_that_is_not_known_continues_none() -> None:
    nothing = Begun("", 0, 0, "", 0)
    assert not nothing.continues(nothing)
    assert not Begun("a", 2, 1, "", 3).continues(Begun("a", 1, 1, "", 3))


class BrokenFiles(LocalFiles):
    """A file system that says no from some operation on."""

    def __init__(self, begin: Step) -> None:
        self.begin = begin
        self.step: list[Publication] = []

    def __getattribute__(self, name: str) -> Any:
        if name in ("write", "rename", "delete") and self.step and self.step[0].step is self.begin:
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().__getattribute__(name)


@pytest.mark.parametrize("step", [step for step in Step if step not in (Step.CLAIM, Step.RECOVER)])
def test_an_error_at_each_step(tmp_path: Path, step: Step) -> None:
    """Before the decision nothing is left; after it, the next save publishes it first, and says so to who saved."""
    mode = Mode.OVERWRITE if step in (Step.SET_ASIDE, Step.PUBLISH) else Mode.APPEND
    out = tmp_path / "out"
    Driver(str(out), application="application_0_0001").save("old")
    files = BrokenFiles(step)
    driver = Driver(str(out), mode=mode, files=files)
    files.step.append(driver.publication)
    wanted = ["new"] if mode is Mode.OVERWRITE else ["new", "old"]
    early = step in (Step.PREPARE, Step.WRITE, Step.DECIDE)
    never = {Step.WRITE: ValueError("of the job's")}.get(step)

    def fail(_publication: Publication) -> None:
        if never is not None:
            raise never

    driver.on_running = fail
    with pytest.raises((OSError, ValueError) if early else Unfinished) as raised:
        driver.save("new")
    assert early or str(step) in str(raised.value)
    if early:
        assert read_published(out) == ["old"]
        assert around(out) == []
    else:
        # The same process, another save.
        again = Driver(str(out), application="application_0_0003", mode=Mode.APPEND, take_over=True)
        again.save("more")
        assert read(out) == sorted([*wanted, "more"])
        assert around(out) == []


class UnreachableFiles(LocalFiles):
    """A file system that is not reached any more once a decision has its name, for some operations."""

    def __init__(self, fails: int, *, done: bool) -> None:
        self.fails = fails
        self.done = done

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if name not in ("write", "rename", "delete", "names", "read", "exists"):
            return found

        def operate(*arguments: Any) -> Any:
            deciding = name == "rename" and arguments[1].endswith("/decision.json")
            if deciding and self.done:
                found(*arguments)
            if deciding or 0 < self.lost <= self.fails:
                self.lost += 1
                raise OSError(errno.EIO, "connection lost")
            return found(*arguments)

        return operate

    lost = 0


@pytest.mark.parametrize("done", [True, False])
@pytest.mark.parametrize("fails", [0, 1000])
def test_a_decision_of_which_nobody_can_tell_whether_it_was_written(tmp_path: Path, fails: int, *, done: bool) -> None:
    """It is taken back, or who saved is told not to save again: nothing is there twice."""
    out = tmp_path / "out"
    Driver(str(out), application="application_0_0001").save("old")
    driver = Driver(str(out), mode=Mode.APPEND, files=UnreachableFiles(fails, done=done))
    counted: Counter[tuple[str, ...]] = Counter()
    back = fails == 0
    with pytest.raises(OSError if back else Unfinished, match="connection lost") as raised:
        save(driver.publication, Tasks(driver, ("new",)), counted, "")
    # Its number is used up unless it is taken back.
    assert counted[(driver.application, driver.target)] == (0 if back else 1)
    assert back or f"part-*-{driver.run}*" in str(raised.value)
    Driver(str(out), epoch=2, ordinal=2 - back, mode=Mode.APPEND).save("more")
    assert read(out) == (["more", "new", "old"] if done and not back else ["more", "old"])
    assert read_published(out) == read(out)
    assert around(out) == []


def test_an_error_after_a_save_was_found_published(tmp_path: Path) -> None:
    """Who only hears that something failed would save it again."""
    out = tmp_path / "out"
    Driver(str(out), mode=Mode.APPEND).save("new")
    files = BrokenFiles(Step.RELEASE)
    again = Driver(str(out), epoch=2, mode=Mode.APPEND, files=files)
    files.step.append(again.publication)
    with pytest.raises(Unfinished, match="everything is published"):
        again.save("new")
    assert read(out) == ["new"]


def test_a_decision_of_a_later_yarnspec_is_not_touched(tmp_path: Path) -> None:
    out = tmp_path / "out"
    dead_at(Step.GATHER, out)
    (room,) = (tmp_path / ".out.yarnspec-sink").iterdir()
    written = (room / "decision.json").read_text()
    (room / "decision.json").write_text(written.replace('"schema": 1', '"schema": 2'))
    driver = Driver(str(out), epoch=2)
    with pytest.raises(YarnspecError, match=r"decision\.json cannot be read: schema 2"):
        driver.save("a", "b")
    assert (room / "attempts").is_dir()
    (room / "decision.json").write_text(written)
    Driver(str(out), epoch=2).save("a", "b")
    assert read(out) == ["a", "b"]


DAMAGED = pytest.mark.parametrize("damaged", [b"", b"[]", b"{}", b'{"schema": 1}', b"\xff"])


@DAMAGED
def test_a_damaged_decision(tmp_path: Path, damaged: bytes) -> None:
    """Its name is told, and what to do is true: moved away it loses nothing, and the path can be written to."""
    out = tmp_path / "out"
    dead_at(Step.GATHER, out)
    (room,) = (tmp_path / ".out.yarnspec-sink").iterdir()
    (room / "decision.json").write_bytes(damaged)
    driver = Driver(str(out), epoch=2)
    with pytest.raises(YarnspecError, match=r"decision\.json cannot be read: .*If it is damaged, move") as told:
        driver.save("a", "b")
    assert f"move {room} elsewhere" in told.value.message
    room.rename(tmp_path / "elsewhere")
    Driver(str(out), epoch=2).save("a", "b")
    assert read(out) == ["a", "b"]
    assert len(list((tmp_path / "elsewhere" / "attempts").iterdir())) == 5


@DAMAGED
def test_a_damaged_manifest(tmp_path: Path, damaged: bytes) -> None:
    out = tmp_path / "out"
    first = Driver(str(out), mode=Mode.APPEND).save("a")
    (out / first.manifest).write_bytes(damaged)
    # Who has had no driver before does not ask for it.
    Driver(str(out), application="application_1_0002", mode=Mode.APPEND).save("b")
    again = Driver(str(out), epoch=2, mode=Mode.APPEND)
    with pytest.raises(YarnspecError, match=f"{first.manifest} cannot be read") as told:
        again.save("a")
    assert f"part-*-{first.run}*" in told.value.message
    assert read(out) == ["a", "b"]
    with pytest.raises(YarnspecError, match="cannot be read"):
        read_published(out)
    (out / first.manifest).unlink()
    assert read_published(out) == ["b"]
