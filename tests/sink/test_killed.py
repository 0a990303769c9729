"""Drivers killed before and after every operation of a save, in every mode: readers see all or nothing, always."""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sink.world import Driver, Killed, MortalFiles, around, read, read_published
from yarnspec.sink.claim import Superseded
from yarnspec.sink.decision import SUCCESS, Mode
from yarnspec.sink.publication import OutputExists, SaveStep, Unfinished

NEW = ("new a", "", "new c")
EITHER = pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
WAYS = pytest.mark.parametrize(
    ("mode", "there"),
    [(Mode.FAIL, False), (Mode.OVERWRITE, False), (Mode.OVERWRITE, True), (Mode.APPEND, False), (Mode.APPEND, True)],
)


def prepared(place: Path, *, there: bool) -> tuple[Path, list[str]]:
    """A path, with or without an older output of two files; and that output's content."""
    place.mkdir()
    target = place / "an output"
    if there:
        Driver(str(target), application="application_0_0001").save("old a", "old b")
    return target, ["old a", "old b"] if there else []


def wanted(mode: Mode, old: list[str]) -> list[str]:
    return sorted([*NEW, *(old if mode is Mode.APPEND else [])])


def check_readers(target: Path, mode: Mode, old: list[str], *, decided_only: bool = False) -> None:
    """All of the new output, or as good as none of it."""
    new = wanted(mode, old)
    seen = read(target)
    if mode is not Mode.APPEND:
        # Between two renames of a whole directory there may be none.
        assert seen in (None, old, new)
    elif (target / SUCCESS).exists():
        assert seen in (old, new)
    if target.exists():
        assert read_published(target) in (old, new)
    if decided_only:
        assert seen == new


@WAYS
@EITHER
def test_a_driver_killed_at_every_operation(tmp_path: Path, mode: Mode, there: bool, after: bool) -> None:
    """The next epoch brings it to the end; nothing else is left, and nothing is published twice."""
    steps = set()
    for number in itertools.count():
        target, old = prepared(tmp_path / f"at {number}", there=there)
        files = MortalFiles(number, after=after)
        try:
            Driver(str(target), epoch=1, mode=mode, files=files).save(*NEW)
            break
        except Killed:
            steps.add(files.seen[-1][0])
        check_readers(target, mode, old)
        Driver(str(target), epoch=2, mode=mode).save(*NEW)
        assert read(target) == wanted(mode, old)
        assert read_published(target) == wanted(mode, old)
        assert (target / SUCCESS).exists()
        assert around(target) == []
    assert number > 25
    expected = set(SaveStep)
    if mode is Mode.FAIL or not there:
        expected -= {SaveStep.SET_ASIDE, SaveStep.UNMARK, SaveStep.ADD, SaveStep.COMMIT, SaveStep.MARK}
    elif mode is Mode.OVERWRITE:
        expected -= {SaveStep.UNMARK, SaveStep.ADD, SaveStep.COMMIT, SaveStep.MARK}
    else:
        expected -= {SaveStep.SET_ASIDE, SaveStep.PUBLISH}
    assert steps == expected


@pytest.mark.one_a_day("the next driver is killed too")
@pytest.mark.parametrize("mode", [Mode.OVERWRITE, Mode.APPEND])
def test_the_next_driver_killed_at_every_operation_too(tmp_path: Path, mode: Mode) -> None:
    """What the first has decided is carried out by the third, wherever the second has stopped."""
    there = True
    numbers = itertools.count()
    first_ends = set()
    probe = MortalFiles()
    target, old = prepared(tmp_path / "probe", there=there)
    Driver(str(target), mode=mode, files=probe).save(*NEW)
    # The first dies at each step once, in its midst.
    for step in dict.fromkeys(step for step, _ in probe.seen):
        places = [place for place, (at, _) in enumerate(probe.seen) if at is step]
        first_at = places[len(places) // 2]
        for second_at in itertools.count():
            target, old = prepared(tmp_path / f"{next(numbers)}", there=there)
            with pytest.raises(Killed):
                Driver(str(target), epoch=1, mode=mode, files=MortalFiles(first_at, after=True)).save(*NEW)
            try:
                Driver(str(target), epoch=2, mode=mode, files=MortalFiles(second_at, after=True)).save(*NEW)
                ended = True
            except Killed:
                ended = False
            check_readers(target, mode, old)
            Driver(str(target), epoch=3, mode=mode).save(*NEW)
            assert read(target) == wanted(mode, old)
            assert (target / SUCCESS).exists()
            assert around(target) == []
            if ended:
                first_ends.add(step)
                break
    assert first_ends == {step for step, _ in probe.seen}


@WAYS
@EITHER
def test_another_application_after_a_driver_that_never_comes_back(
    tmp_path: Path, mode: Mode, there: bool, after: bool
) -> None:
    """It has to say that it takes over; what was decided is published before its own, the rest is gone."""
    for number in itertools.count():
        target, old = prepared(tmp_path / f"at {number}", there=there)
        try:
            Driver(str(target), mode=mode, files=MortalFiles(number, after=after)).save(*NEW)
            break
        except Killed:
            pass
        other = Driver(str(target), application="application_1_0002", mode=Mode.APPEND, take_over=True)
        other.save("other")
        assert read(target) in (sorted([*old, "other"]), sorted([*wanted(mode, old), "other"]))
        assert read_published(target) == read(target)
        assert (target / SUCCESS).exists()
        assert around(target) == []


@pytest.mark.parametrize("mode", Mode)
def test_a_reader_at_every_operation(tmp_path: Path, mode: Mode) -> None:
    there = mode is not Mode.FAIL
    target, old = prepared(tmp_path / "one", there=there)
    files = MortalFiles()
    files.before_each = lambda _number: check_readers(target, mode, old)
    Driver(str(target), mode=mode, files=files).save(*NEW)
    check_readers(target, mode, old, decided_only=True)


@WAYS
def test_a_driver_that_lives_on_beside_the_next_one(tmp_path: Path, mode: Mode, there: bool) -> None:
    """Before every operation of the first, the second runs from beginning to end; then the first goes on."""
    for number in itertools.count():
        target, old = prepared(tmp_path / f"at {number}", there=there)
        files = MortalFiles()

        def next_driver(at: int, number: int = number, target: Path = target) -> None:
            if at == number:
                Driver(str(target), epoch=2, mode=mode).save(*NEW)

        files.before_each = next_driver
        first = Driver(str(target), epoch=1, mode=mode, files=files)
        with contextlib.suppress(Superseded, FileNotFoundError, OutputExists, Unfinished):
            first.save(*NEW)
        reached = len(files.seen) > number
        if not reached:
            break
        assert read(target) == wanted(mode, old)
        assert read_published(target) == read(target)
        assert (target / SUCCESS).exists()


class Paused(MortalFiles):
    """The file system of a driver that stops before one of its operations, in a thread of its own, and is let go on."""

    def __init__(self, at: int) -> None:
        super().__init__()
        self.stopped, self.may_go_on = threading.Event(), threading.Event()
        self.raised: list[BaseException] = []

        def stop(number: int) -> None:
            if number == at:
                self.stopped.set()
                assert self.may_go_on.wait(60)

        self.before_each = stop

    def begin(self, driver: Driver) -> threading.Thread:
        def run() -> None:
            try:
                driver.save(*NEW)
            except Exception as error:
                self.raised.append(error)
            self.stopped.set()

        thread = threading.Thread(target=run)
        thread.start()
        assert self.stopped.wait(60)
        return thread


@pytest.mark.one_a_day("a driver goes on")
@pytest.mark.parametrize("mode", [Mode.OVERWRITE, Mode.APPEND])
def test_a_driver_that_goes_on_in_the_midst_of_the_next_one(tmp_path: Path, mode: Mode) -> None:
    """The first has decided and stops, at each operation; it goes on to its end before each of the next one's."""
    probe = MortalFiles()
    target, _ = prepared(tmp_path / "probe", there=True)
    Driver(str(target), mode=mode, files=probe).save(*NEW)
    # Before it looks at something it may as well stop later: what it sees is up to date then.
    changes = ("write", "rename", "delete", "make_directories", "remove_empty")
    steps = [step for step, _ in probe.seen]
    number = itertools.count()
    for at in range(steps.index(SaveStep.DECIDE), steps.index(SaveStep.RELEASE)):
        if probe.seen[at][1] not in changes:
            continue
        for goes_on_at in itertools.count():
            target, old = prepared(tmp_path / f"{next(number)}", there=True)
            first, second = Paused(at), MortalFiles()
            thread = first.begin(Driver(str(target), epoch=1, mode=mode, files=first))
            left = itertools.count()

            def go_on(
                _number: int,
                first: Paused = first,
                second: MortalFiles = second,
                thread: threading.Thread = thread,
                left: Iterator[int] = left,
                goes_on_at: int = goes_on_at,
            ) -> None:
                if second.seen[-1][1] in changes and next(left) == goes_on_at:
                    first.may_go_on.set()
                    thread.join(60)

            second.before_each = go_on
            Driver(str(target), epoch=2, mode=mode, files=second).save(*NEW)
            reached = first.may_go_on.is_set()
            first.may_go_on.set()
            thread.join(60)
            assert not [error for error in first.raised if not isinstance(error, Superseded | OSError | Unfinished)]
            assert read(target) == read_published(target) == wanted(mode, old)
            if not reached:
                break
