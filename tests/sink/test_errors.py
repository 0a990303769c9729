"""Errors of the file system at each step, decisions of which nobody can tell, and files that cannot be read."""

from __future__ import annotations

import errno
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.sink.test_publication import dead_at
from tests.sink.world import Driver, Tasks, around, read, read_published
from yarnspec.errors import YarnspecError
from yarnspec.sink.decision import Mode
from yarnspec.sink.files import LocalSinkFiles
from yarnspec.sink.publication import Publication, SaveStep, Unfinished
from yarnspec.sink.save import save


class BrokenFiles(LocalSinkFiles):
    """A file system that says no from some operation on."""

    def __init__(self, begin: SaveStep) -> None:
        self.begin = begin
        self.step: list[Publication] = []

    def __getattribute__(self, name: str) -> Any:
        if name in ("write", "rename", "delete") and self.step and self.step[0].step is self.begin:
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().__getattribute__(name)


@pytest.mark.parametrize("step", [step for step in SaveStep if step not in (SaveStep.CLAIM, SaveStep.RECOVER)])
def test_an_error_at_each_step(tmp_path: Path, step: SaveStep) -> None:
    """Before the decision nothing is left; after it, the next save publishes it first, and says so to who saved."""
    mode = Mode.OVERWRITE if step in (SaveStep.SET_ASIDE, SaveStep.PUBLISH) else Mode.APPEND
    out = tmp_path / "out"
    Driver(str(out), application="application_0_0001").save("old")
    files = BrokenFiles(step)
    driver = Driver(str(out), mode=mode, files=files)
    files.step.append(driver.publication)
    wanted = ["new"] if mode is Mode.OVERWRITE else ["new", "old"]
    early = step in (SaveStep.PREPARE, SaveStep.WRITE, SaveStep.DECIDE)
    never = {SaveStep.WRITE: ValueError("of the job's")}.get(step)

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


class UnreachableFiles(LocalSinkFiles):
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
    if back:
        assert around(out) == []  # as it was
    Driver(str(out), epoch=2, ordinal=2 - back, mode=Mode.APPEND).save("more")
    assert read(out) == (["more", "new", "old"] if done and not back else ["more", "old"])
    assert read_published(out) == read(out)
    assert around(out) == []


def test_what_cannot_be_looked_at_is_not_taken_for_absent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is decided, of which nothing seems to be left to publish, would be deleted."""
    out = tmp_path / "out"
    dead_at(SaveStep.GATHER, out)
    looks = os.lstat

    def fails(path: str) -> os.stat_result:
        if path.endswith(("/attempts", "/ready")):
            raise OSError(errno.EIO, "the mount does not answer")
        return looks(path)

    with monkeypatch.context() as broken:
        broken.setattr("os.lstat", fails)
        with pytest.raises(OSError, match="does not answer"):
            Driver(str(out), epoch=2).save("a", "b")
    Driver(str(out), epoch=2).save("a", "b")
    assert read(out) == ["a", "b"]


def test_an_error_after_a_save_was_found_published(tmp_path: Path) -> None:
    """Who only hears that something failed would save it again."""
    out = tmp_path / "out"
    Driver(str(out), mode=Mode.APPEND).save("new")
    files = BrokenFiles(SaveStep.RELEASE)
    again = Driver(str(out), epoch=2, mode=Mode.APPEND, files=files)
    files.step.append(again.publication)
    with pytest.raises(Unfinished, match="everything is published"):
        again.save("new")
    assert read(out) == ["new"]


def test_a_decision_of_a_later_yarnspec_is_not_touched(tmp_path: Path) -> None:
    out = tmp_path / "out"
    dead_at(SaveStep.GATHER, out)
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
    dead_at(SaveStep.GATHER, out)
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
