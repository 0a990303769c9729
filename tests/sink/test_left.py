"""What drivers leave that were disturbed in ways which no step foresees, and what the next one makes of it."""

from __future__ import annotations

import errno
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sink.world import Driver, Killed, MortalFiles, around, read, read_published
from yarnspec.errors import UsageError, YarnspecError
from yarnspec.sink.claim import Superseded
from yarnspec.sink.decision import SUCCESS, Mode
from yarnspec.sink.files import LocalSinkFiles
from yarnspec.sink.publication import OutputExists, SaveStep

NEXT = "application_1_0002"


def dead_at(step: SaveStep, out: Path, mode: Mode) -> Path:
    """Where a driver was at work that died before the last operation of a step; there is older output, if it may be."""
    probe = MortalFiles()
    if mode is not Mode.FAIL:
        Driver(str(out), application="application_0_0001").save("old")
        shutil.copytree(out, f"{out} probe")
    Driver(f"{out} probe", mode=mode, files=probe).save("a", "b")
    shutil.rmtree(f"{out} probe")
    last = max(number for number, (seen, _) in enumerate(probe.seen) if seen is step)
    driver = Driver(str(out), mode=mode, files=MortalFiles(last))
    with pytest.raises(Killed):
        driver.save("a", "b")
    return Path(driver.publication.place.run)


def test_somebody_makes_the_output_when_the_driver_has_died_in_the_midst_of_publishing(tmp_path: Path) -> None:
    """The next one does not get stuck in what was decided."""
    out = tmp_path / "out"
    dead_at(SaveStep.SEAL, out, Mode.FAIL)
    out.mkdir()
    (out / "theirs").write_text("theirs")
    with pytest.raises(OutputExists):
        Driver(str(out), epoch=2).save("a", "b")
    assert read(out) == ["theirs"]
    assert around(out) == []


def test_output_that_was_deleted_after_its_publication_does_not_come_back(tmp_path: Path) -> None:
    """By a user, who begins again after the crash; the path must not be stuck."""
    out = tmp_path / "out"
    place = dead_at(SaveStep.PUBLISH, out, Mode.OVERWRITE)
    (place / "ready").rename(out)
    shutil.rmtree(out)
    Driver(str(out), application=NEXT, take_over=True).save("new")
    assert read(out) == ["new"]
    assert around(out) == []


def test_output_that_was_deleted_in_the_midst_of_an_append(tmp_path: Path) -> None:
    """What was decided cannot be published any more, and whoever comes is told where that is."""
    out = tmp_path / "out"
    place = dead_at(SaveStep.ADD, out, Mode.APPEND)
    shutil.rmtree(out)
    for _ in range(2):
        driver = Driver(str(out), application=NEXT, take_over=True)
        with pytest.raises(YarnspecError, match=str(place)):
            driver.save("new")
    # As it says; what had not been moved yet is kept.
    place.rename(tmp_path / "elsewhere")
    assert (tmp_path / "elsewhere" / "ready").is_dir()
    Driver(str(out), application=NEXT).save("new")
    assert read(out) == ["new"]
    assert around(out) == ["elsewhere"]


@pytest.mark.parametrize("step", [SaveStep.COMMIT, SaveStep.MARK, SaveStep.CLEAN])
def test_output_that_was_deleted_after_an_append(tmp_path: Path, step: SaveStep) -> None:
    """It had been published, so it does not come back, and is in nobody's way."""
    out = tmp_path / "out"
    dead_at(step, out, Mode.APPEND)
    shutil.rmtree(out)
    Driver(str(out), application=NEXT, take_over=True).save("new")
    assert read(out) == ["new"]
    assert around(out) == []


def test_losers_that_cannot_be_deleted(tmp_path: Path) -> None:
    """As on NFS, while one is still writing: the output is there all the same."""

    class Held(LocalSinkFiles):
        def delete(self, path: str) -> None:
            if any(Path(path).rglob("*.writing")):
                raise OSError(errno.ENOTEMPTY, "Directory not empty")
            super().delete(path)

    out = tmp_path / "out"
    Driver(str(out), files=Held()).save("a", "b")
    assert read(out) == ["a", "b"]
    for epoch in (2, 3):
        Driver(str(out), application=NEXT, epoch=epoch, mode=Mode.OVERWRITE, files=Held()).save("c")
        assert read(out) == ["c"]
    assert around(out) == [".out.yarnspec-sink"]
    Driver(str(out), application="application_3_0001", mode=Mode.OVERWRITE).save("d")
    assert read(out) == ["d"]
    assert around(out) == []


def test_a_driver_whose_append_is_done_by_another_at_the_last_moment(tmp_path: Path) -> None:
    """It was thought dead, and gives the manifest its name while the next one looks: ``_SUCCESS`` comes back."""
    out = tmp_path / "out"
    place = dead_at(SaveStep.ADD, out, Mode.APPEND)
    (left,) = (place / "ready").glob("part-*")
    left.rename(out / left.name)
    (manifest,) = (place / "ready").glob("_yarnspec-*")

    class Late(LocalSinkFiles):
        def exists(self, path: str) -> bool:
            found = super().exists(path)
            if path == f"{out}/{manifest.name}" and manifest.exists():
                manifest.rename(path)
            return found

    Driver(str(out), epoch=2, mode=Mode.APPEND, files=Late()).save("a", "b")
    assert read_published(out) == ["a", "b", "old"]
    assert (out / "_SUCCESS").exists()


def test_what_is_left_of_a_deletion_is_not_published(tmp_path: Path) -> None:
    """Locally, a directory goes file by file: the decision may be the last to go."""
    out = tmp_path / "out"
    place = dead_at(SaveStep.GATHER, out, Mode.OVERWRITE)
    (place / "attempts" / "00000.e1.t0").unlink(missing_ok=True)
    place.rename(f"{place}.swept")
    Driver(str(out), epoch=2, mode=Mode.OVERWRITE).save("new")
    assert read(out) == ["new"]
    assert around(out) == []


@pytest.mark.parametrize("mode", [Mode.OVERWRITE, Mode.APPEND])
def test_a_manifest_is_not_written_over_the_one_that_a_living_driver_may_have_shown(tmp_path: Path, mode: Mode) -> None:
    """The next one may die, or its disk be full, in the midst of that."""
    out = tmp_path / "out"
    place = dead_at(SaveStep.ADD if mode is Mode.APPEND else SaveStep.PUBLISH, out, mode)
    assert list((place / "ready").glob("_yarnspec-*"))

    class Cut(LocalSinkFiles):
        def write(self, path: str, data: bytes) -> None:
            assert not ("/_yarnspec-" in path and Path(path).exists()), path
            super().write(path, data)

    Driver(str(out), epoch=2, mode=mode, files=Cut()).save("a", "b")
    assert read_published(out) == (["a", "b"] if mode is Mode.OVERWRITE else ["a", "b", "old"])


@pytest.mark.parametrize("mode", [Mode.OVERWRITE, Mode.APPEND])
def test_a_driver_that_lost_its_claim_leaves_its_decision_to_the_next(tmp_path: Path, mode: Mode) -> None:
    """The next one may be in the midst of carrying it out."""
    out = tmp_path / "out"
    Driver(str(out), application="application_0_0001").save("old")
    files = MortalFiles()
    first = Driver(str(out), mode=mode, files=files)
    second = Driver(str(out), epoch=2, mode=mode)

    def take_over(_number: int) -> None:
        if files.seen[-1] == (SaveStep.SEAL, "write") and not second.publication._claim.is_ours():
            second.publication.claim()

    files.before_each = take_over
    with pytest.raises(Superseded):
        first.save("a", "b")
    assert Path(first.publication.place.decision).exists()
    second.save("a", "b")
    assert second.ran == []
    assert read(out) == (["a", "b"] if mode is Mode.OVERWRITE else ["a", "b", "old"])
    assert around(out) == []


def test_a_driver_that_lives_on_does_not_mark_what_the_next_one_is_adding_to(tmp_path: Path) -> None:
    """Else readers who wait for _SUCCESS would see half of it."""
    out = tmp_path / "out"
    Driver(str(out), application="application_0_0001").save("old")
    files, mortal = MortalFiles(), MortalFiles()

    def next_driver(_number: int) -> None:
        if files.seen[-1][0] is SaveStep.MARK and not mortal.seen:
            adding = Driver(str(out), epoch=2, ordinal=2, mode=Mode.APPEND, files=mortal)
            with pytest.raises(Killed):
                adding.save("c", "d")

    def dies_while_adding(number: int) -> None:
        if mortal.seen[-1] == (SaveStep.ADD, "rename"):
            mortal.dies_at = number

    files.before_each, mortal.before_each = next_driver, dies_while_adding
    Driver(str(out), mode=Mode.APPEND, files=files).save("a", "b")
    assert mortal.seen
    assert not (out / SUCCESS).exists()
    Driver(str(out), epoch=3, ordinal=2, mode=Mode.APPEND).save("c", "d")
    assert read(out) == ["a", "b", "c", "d", "old"]
    assert (out / SUCCESS).exists()


def test_a_name_that_leads_nowhere_does_not_hide_the_others(tmp_path: Path) -> None:
    """A link of the user's; or a file that goes while the directory is read."""
    (tmp_path / "a").write_text("four")
    (tmp_path / "b").symlink_to(tmp_path / "nowhere")
    (tmp_path / "c").mkdir()
    assert LocalSinkFiles().names(str(tmp_path)) == {"a": 4, "c": -1}
    assert LocalSinkFiles().names(str(tmp_path / "a")) == LocalSinkFiles().names(str(tmp_path / "nowhere")) == {}


def test_a_file_is_written_in_a_directory_that_is_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        LocalSinkFiles().write(str(tmp_path / "none" / "file"), b"")


def test_a_file_system_without_hard_links_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_links(*_names: str) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr("os.link", no_links)
    driver = Driver(str(tmp_path / "out"))
    with pytest.raises(UsageError, match="no hard link can be made"):
        driver.save("a")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[Path]:
    """A directory in another file system."""
    found = Path(tempfile.mkdtemp(dir="/dev/shm"))
    try:
        if found.stat().st_dev == tmp_path.stat().st_dev:
            pytest.skip("there is no other file system here")
        yield found
    finally:
        shutil.rmtree(found)


@pytest.mark.parametrize("mode", [Mode.OVERWRITE, Mode.APPEND])
def test_an_output_in_another_file_system(tmp_path: Path, elsewhere: Path, mode: Mode) -> None:
    """There is no rename into it, and that is told before anything runs."""
    out = tmp_path / "out"
    out.symlink_to(elsewhere)
    driver = Driver(str(out), mode=mode)
    with pytest.raises(UsageError, match="another file system"):
        driver.save("a")
    assert driver.ran == []
    assert around(out) == []
    assert list(elsewhere.iterdir()) == []


@pytest.mark.parametrize("mode", [Mode.OVERWRITE, Mode.APPEND])
def test_an_output_on_which_a_directory_of_the_same_file_system_is_mounted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: Mode
) -> None:
    out, mounts = tmp_path / "an out", tmp_path / "mounts"
    out.mkdir()
    name = str(out).replace(" ", "\\040")
    mounts.write_text(f"36 35 98:0 / / rw - ext4 /dev/x rw\n37 36 98:0 /there {name} rw - ext4 /dev/x rw\n")
    monkeypatch.setattr("yarnspec.sink.files.MOUNTS", mounts)
    with pytest.raises(UsageError, match="a mount point"):
        Driver(str(out), mode=mode).save("a")
    Driver(str(out / "below"), mode=mode).save("a")
    assert read(out / "below") == ["a"]


def test_an_output_that_has_come_to_another_file_system_since_the_decision(tmp_path: Path, elsewhere: Path) -> None:
    """What can be done is told, and true."""
    out = tmp_path / "out"
    place = dead_at(SaveStep.ADD, out, Mode.APPEND)
    shutil.copytree(out, elsewhere, dirs_exist_ok=True)
    shutil.rmtree(out)
    out.symlink_to(elsewhere)
    with pytest.raises(YarnspecError, match=f"cannot be carried out: .*move {place} out of"):
        Driver(str(out), epoch=2, mode=Mode.APPEND).save("a", "b")
    place.rename(tmp_path / "kept")
    left = [each.read_text() for each in (tmp_path / "kept" / "ready").glob("part-*")]
    assert sorted([*left, *(read(elsewhere) or [])]) == ["a", "b", "old"]
    out.unlink()
    Driver(str(out), epoch=3, mode=Mode.APPEND).save("a", "b")
    assert read(out) == ["a", "b"]


@pytest.mark.parametrize("step", [SaveStep.GATHER, SaveStep.PUBLISH])
def test_a_decided_file_that_has_lost_its_end(tmp_path: Path, step: SaveStep) -> None:
    """As after a loss of power: it is not published, and what there is stays for whoever mends it."""
    out = tmp_path / "out"
    place = dead_at(step, out, Mode.FAIL)
    (cut,) = [path for path in place.rglob("*") if path.is_file() and path.read_text() == "a"]
    cut.write_text("")
    with pytest.raises(YarnspecError, match=f"has 0 of its 1 bytes.*move {place} out of"):
        Driver(str(out), epoch=2).save("a", "b")
    assert not out.exists()
    place.rename(tmp_path / "kept")
    Driver(str(out), epoch=2).save("a", "b")
    assert read(out) == ["a", "b"]


def test_a_link_in_the_same_file_system(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "out").symlink_to(tmp_path / "real")
    Driver(str(tmp_path / "out"), mode=Mode.APPEND).save("a")
    assert read(tmp_path / "real") == ["a"]
    (tmp_path / "nowhere").symlink_to(tmp_path / "none")
    Driver(str(tmp_path / "nowhere"), mode=Mode.OVERWRITE).save("a")
    assert read(tmp_path / "nowhere") == ["a"]


def test_a_disk_that_is_full_before_the_claim(tmp_path: Path) -> None:
    class Full(LocalSinkFiles):
        def write(self, path: str, data: bytes) -> None:
            super().write(path, data[:1])
            raise OSError(errno.ENOSPC, "No space left on device")

    driver = Driver(str(tmp_path / "out"), files=Full())
    with pytest.raises(OSError, match="No space left"):
        driver.save("a")
    assert list(tmp_path.iterdir()) == []
