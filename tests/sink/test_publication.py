"""What is published and what is not: attempts that lose, other applications, drivers that come back."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.sink.world import APPLICATION, Driver, Killed, MortalFiles, Tasks, around, read, read_published
from yarnspec.errors import UsageError, YarnspecError
from yarnspec.sink.claim import PathClaimed, Superseded
from yarnspec.sink.decision import SUCCESS, Mode, manifest, manifest_names, published
from yarnspec.sink.files import LocalSinkFiles
from yarnspec.sink.publication import Begun, OutputExists, Publication, SaveStep
from yarnspec.sink.save import save

STEPS = list(SaveStep)


def test_one_attempt_of_each_partition_and_the_four_sets(tmp_path: Path) -> None:
    decision = Driver(str(tmp_path / "out"), losers=(0, 2)).save("a", "b", "c")
    assert read(tmp_path / "out") == ["a", "b", "c"]
    assert decision.attempts.fast == ("e1.t0", "e1.t2")
    assert decision.attempts.slow == ("e1.t90", "e1.t92")
    assert decision.attempts.finished == ("e1.t1",)
    assert decision.attempts.all == ("e1.t0", "e1.t1", "e1.t2", "e1.t80", "e1.t82", "e1.t90", "e1.t92")
    (name,) = manifest_names(LocalSinkFiles(), str(tmp_path / "out"))
    assert manifest(LocalSinkFiles(), str(tmp_path / "out"), name) == decision


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


def test_what_an_append_is_added_to_is_not_called_whole(tmp_path: Path) -> None:
    """A job of somebody else has failed there; an empty directory is no such thing."""
    for name, files, marked in (("failed", ["part-00000", "_temporary"], False), ("empty", [".crc"], True)):
        out = tmp_path / name
        out.mkdir()
        for file in files:
            (out / file).write_text("theirs")
        for epoch in (1, 2):
            Driver(str(out), mode=Mode.APPEND, epoch=epoch, ordinal=epoch).save("ours")
            assert (out / SUCCESS).exists() is marked


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


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize(("then", "now"), [("file 1", "file 2"), ("", ""), ("file 1", ""), ("", "file 1")])
def test_other_data_under_the_same_number(tmp_path: Path, mode: Mode, then: str, now: str) -> None:
    """Of a program that goes on where it has ended; where nobody can tell, it is not taken for the same."""
    out = tmp_path / "out"
    Driver(str(out), mode=mode, origin=then).save("a")
    again = Driver(str(out), epoch=2, mode=mode, origin=now)
    with pytest.raises(YarnspecError, match=r"number 1 of its saves, of .* a key for each save"):
        again.save("b")
    assert again.ran == []
    assert read(out) == ["a"]
    assert around(out) == []


@pytest.mark.parametrize(("suffix", "mode"), [(".idx", Mode.APPEND), (".csv", Mode.FAIL)])
def test_the_same_data_with_other_names_or_another_mode_are_another_save(
    tmp_path: Path, suffix: str, mode: Mode
) -> None:
    out = tmp_path / "out"
    first = Driver(str(out), mode=Mode.APPEND)
    save(first.publication, Tasks(first, ("a",)), Counter(), "p.py:7", suffix=".csv")
    second = Driver(str(out), epoch=2, mode=mode)
    with pytest.raises(YarnspecError, match="of other data"):
        save(second.publication, Tasks(second, ("a",)), Counter(), "p.py:7", suffix=suffix)
    third = Driver(str(out), epoch=2, mode=Mode.APPEND)
    save(third.publication, Tasks(third, ("a",)), Counter(), "p.py:7", suffix=".csv")
    assert third.ran == []


@pytest.mark.parametrize("key", ["", "k"])
@pytest.mark.parametrize("mode", Mode)
def test_a_driver_that_comes_after_the_next_one_has_ended_writes_nothing(tmp_path: Path, mode: Mode, key: str) -> None:
    out = tmp_path / "out"
    Driver(str(out), epoch=2, mode=Mode.APPEND, key="other").save("a")
    zombie = Driver(str(out), epoch=1, mode=mode, key=key)
    with pytest.raises(Superseded, match="epoch 2 of this application has published"):
        zombie.save("b")
    assert zombie.ran == []
    assert read(out) == ["a"]
    assert around(out) == []


def test_an_output_that_is_replaced_while_it_is_listed_is_not_an_empty_one(tmp_path: Path) -> None:
    out = tmp_path / "out"
    Driver(str(out)).save("a")

    class Replaced(LocalSinkFiles):
        listings = 0

        def names(self, directory: str) -> dict[str, int]:
            self.listings += 1
            if self.listings == 2:
                Driver(str(out), mode=Mode.OVERWRITE, ordinal=2).save("b", "c")
            return super().names(directory)

    assert len(published(Replaced(), str(out))) == 2


def test_a_program_with_a_progress_of_its_own(tmp_path: Path) -> None:
    """The first of its new batches has the number, the line and the count of calls of the first old one."""
    out, done = tmp_path / "out", list[str]()

    def life(epoch: int, batches: str, *, keyed: bool) -> None:
        counted: Counter[tuple[str, ...]] = Counter()
        for batch in batches:
            if batch not in done:
                driver = Driver(str(out), epoch=epoch, mode=Mode.APPEND, origin=batch)
                tasks = Tasks(driver, (batch,))
                save(driver.publication, tasks, counted, "program.py:7", key=batch if keyed else "")
                done.append(batch)

    life(1, "ab", keyed=False)
    with pytest.raises(YarnspecError, match="of other data"):
        life(2, "abc", keyed=False)
    assert read(out) == ["a", "b"]
    out, done = tmp_path / "keyed", []
    life(1, "ab", keyed=True)
    life(2, "abcde", keyed=True)
    assert read(out) == ["a", "b", "c", "d", "e"]
    # Its notes were behind: what is there is not done again, in this life and in the next.
    for epoch in (2, 3):
        done = ["a"]
        life(epoch, "abcde", keyed=True)
    assert read(out) == ["a", "b", "c", "d", "e"]


@pytest.mark.parametrize(
    ("epoch", "line", "origin", "may"),
    [
        (1, "p.py:7", "same", True),  # a batch that comes again
        (1, "p.py:9", "same", True),
        (1, "p.py:7", "", True),
        (2, "p.py:7", "grown", True),
        (1, "p.py:7", "other", False),
        (1, "p.py:9", "", False),
        (2, "p.py:9", "other", False),
    ],
)
def test_a_key_that_is_used_twice(tmp_path: Path, epoch: int, line: str, origin: str, may: bool) -> None:
    out = tmp_path / "out"
    Driver(str(out), mode=Mode.APPEND, key="k", line="p.py:7", origin="same").save("a")
    again = Driver(str(out), epoch=epoch, mode=Mode.APPEND, key="k", line=line, origin=origin)
    again.take_over = epoch == 1
    if may:
        again.save("b")
    else:
        with pytest.raises(YarnspecError, match="each needs a key of its own"):
            again.save("b")
    assert again.ran == []
    assert read(out) == ["a"]
    assert around(out) == []


def test_a_key_of_another_application_is_another_key(tmp_path: Path) -> None:
    out = tmp_path / "out"
    for application in ("application_1_0001", "application_1_0002"):
        Driver(str(out), application=application, mode=Mode.APPEND, key="0").save("a")
    assert read(out) == ["a", "a"]


def test_an_interrupted_save_with_a_key(tmp_path: Path) -> None:
    """What it had decided is published, and it is known by its key; what it had not is done by who comes to it."""
    out = tmp_path / "out"
    dead_at(SaveStep.GATHER, out, key="k")
    again = Driver(str(out), epoch=2, key="k", origin="grown")
    again.save("a", "b")
    assert again.ran == []
    assert read(out) == ["a", "b"]
    out = tmp_path / "undecided"
    dead_at(SaveStep.DECIDE, out, key="k", identity="same")
    other = Driver(str(out), epoch=2, key="l", identity="same")
    other.save("c", "d")
    assert other.ran == [0, 1]
    assert read(out) == ["c", "d"]


def test_a_restarted_overwrite_with_another_key(tmp_path: Path) -> None:
    """Whether it is the next one, or an old one again that what is there was made of, nobody can tell."""
    out = tmp_path / "out"
    for key in ("1", "2"):
        Driver(str(out), mode=Mode.OVERWRITE, key=key).save(key)
    for key in ("1", "3"):
        again = Driver(str(out), epoch=2, mode=Mode.OVERWRITE, key=key)
        with pytest.raises(YarnspecError, match="nobody can tell which of the two is later"):
            again.save(key)
    Driver(str(out), epoch=2, mode=Mode.OVERWRITE, key="2").save("not written")
    assert read(out) == ["2"]


@pytest.mark.parametrize("keys", [("", "k"), ("k", "")])
def test_saves_with_a_key_and_without_one(tmp_path: Path, keys: tuple[str, str]) -> None:
    out = tmp_path / "out"
    counted: Counter[tuple[str, ...]] = Counter()
    first = Driver(str(out), mode=Mode.APPEND)
    save(first.publication, Tasks(first, ("a",)), counted, "", key=keys[0])
    second = Driver(str(out), mode=Mode.APPEND)
    with pytest.raises(UsageError, match="Give all of them a key, or none"):
        save(second.publication, Tasks(second, ("b",)), counted, "", key=keys[1])
    with pytest.raises(YarnspecError, match="Give all saves to a path a key, or none"):
        Driver(str(out), epoch=2, mode=Mode.APPEND, key=keys[1]).save("b")
    assert read(out) == ["a"]
    assert around(out) == []


def test_what_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """That nothing runs for a save; and in good time that a restart would end at one."""
    out = tmp_path / "out"
    first = Driver(str(out)).save("a")
    assert caplog.messages == []
    Driver(str(out), epoch=2).save("a")
    (said,) = caplog.messages
    assert "nothing runs for save number 1" in said
    assert first.manifest in said
    caplog.clear()
    Driver(str(tmp_path / "unknown"), origin="").save("a")
    Driver(str(tmp_path / "keyed"), origin="", key="k").save("a")
    Driver(str(tmp_path / "local"), origin="", epoch=0).save("a")
    (said,) = caplog.messages
    assert "a restarted driver would end at it" in said


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
    with pytest.raises(YarnspecError, match=r"number 1 of the program.*number 3 there already.*a new application"):
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


def dead_at(step: SaveStep, out: Path, **facts: object) -> None:
    """Leave what a driver of epoch 1 leaves that dies when it comes to a step."""
    probe = MortalFiles()
    Driver(str(out) + " probe", files=probe, **facts).save("a", "b")  # type: ignore[arg-type]
    at = next(number for number, (seen, _) in enumerate(probe.seen) if seen is step)
    with pytest.raises(Killed):
        Driver(str(out), files=MortalFiles(at), **facts).save("a", "b")  # type: ignore[arg-type]


def test_finished_partitions_of_the_same_computation_do_not_run_again(tmp_path: Path) -> None:
    out = tmp_path / "out"
    dead_at(SaveStep.DECIDE, out, identity="same")
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


def test_what_is_being_deleted_is_not_gone_on_with(tmp_path: Path) -> None:
    """Its driver may live on, and be deleting it file by file."""
    out = tmp_path / "out"
    dead_at(SaveStep.DECIDE, out, identity="same")
    (room,) = (tmp_path / ".out.yarnspec-sink").iterdir()
    room.rename(f"{room}.swept")
    driver = Driver(str(out), epoch=2, identity="same")
    driver.save("a", "b")
    assert driver.ran == [0, 1]


def test_finished_partitions_do_not_run_again_wherever_the_next_driver_dies_too(tmp_path: Path) -> None:
    for dies_at in range(100):
        out = tmp_path / f"out {dies_at}"
        dead_at(SaveStep.DECIDE, out, identity="same")
        files = MortalFiles(dies_at)
        with pytest.raises(Killed):
            Driver(str(out), epoch=2, identity="same", files=files).save("a", "b")
        third = Driver(str(out), epoch=3, identity="same")
        third.save("a", "b")
        assert third.ran == []
        assert read(out) == ["a", "b"]
        if files.seen[-1][0] is SaveStep.DECIDE:
            break
    assert dies_at > 8


def test_the_sets_of_an_epoch_in_which_no_task_ran(tmp_path: Path) -> None:
    """What had copies before is in the directory."""
    out = tmp_path / "out"
    dead_at(SaveStep.DECIDE, out, identity="same")
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
    dead_at(SaveStep.DECIDE, out, identity="same")
    driver = Driver(str(out), **{"epoch": 2, **facts})  # type: ignore[arg-type]
    driver.save("new a", "new b")
    assert driver.ran == [0, 1]
    assert read(out) == ["new a", "new b"]


def test_other_partitions_are_another_computation(tmp_path: Path) -> None:
    out = tmp_path / "out"
    dead_at(SaveStep.DECIDE, out, identity="same")
    driver = Driver(str(out), epoch=2, identity="same")
    driver.save("new a", "new b", "new c")
    assert driver.ran == [0, 1, 2]


def test_a_computation_that_is_not_known_continues_none() -> None:
    nothing = Begun("", 0, 0, "", 0)
    assert not nothing.continues(nothing)
    assert not Begun("a", 2, 1, "", 3).continues(Begun("a", 1, 1, "", 3))
