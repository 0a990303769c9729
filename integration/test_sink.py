"""yarnspec.sink in programs that `yarnspec submit` runs, on HDFS and on hosts whose Python has no yarnspec."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from integration.cluster import Cluster
from integration.conftest import NUMBERS, Submit
from integration.localsession import local_session
from integration.programs.sinks import PARTITIONS
from integration.test_window import python_without_yarnspec
from integration.waiting import wait_for
from tests.sink.world import Driver, Killed, MortalFiles
from yarnspec.sink.decision import SUCCESS, Mode
from yarnspec.sink.hadoop import HadoopFiles, files_of
from yarnspec.sink.job import sink_driver
from yarnspec.sink.publication import Step


@pytest.fixture
def hdfs(cluster: Cluster, tmp_path: Path) -> Iterator[tuple[HadoopFiles, str]]:
    """The cluster's HDFS as a driver has it, and a directory there with a name that needs quoting."""
    for session in local_session(tmp_path):
        context = session.sparkContext
        directory = f"{cluster.mini.default_fs}/user/{cluster.user}/sinks {next(NUMBERS)} 100%"
        files, path = files_of(context, directory, sink_driver(context))
        assert isinstance(files, HadoopFiles)
        yield files, path


def read(files: HadoopFiles, directory: str) -> list[str] | None:
    """The contents of the files that are not hidden; None: no directory."""
    if not files.exists(directory):
        return None
    shown = [name for name in files.names(directory) if not name.startswith(("_", "."))]
    return sorted((files.read(f"{directory}/{name}") or b"").decode() for name in shown)


def dying_at(step: Step, files: HadoopFiles) -> MortalFiles:
    """Dies before the first operation of a step that changes something."""
    mortal = MortalFiles(files=files)

    def before_each(number: int) -> None:
        at, operation = mortal.seen[-1]
        if mortal.dies_at is None and at is step and operation in ("rename", "delete", "write", "make_directories"):
            mortal.dies_at = number

    mortal.before_each = before_each
    return mortal


def kill_at(hdfs: tuple[HadoopFiles, str], steps: dict[Mode, list[Step]]) -> None:
    """Save over and over to one path, killed each time at another step; the next driver brings it to its end."""
    files, path = hdfs
    for mode, chosen in steps.items():
        target = f"{path}/{mode}/out"
        Driver(target, files=files, losers=()).save("0")
        there = ["0"]
        for number, step in enumerate(chosen, 1):
            application = f"application_2_{number:04d}"
            wanted = [str(number)] if mode is Mode.OVERWRITE else [*there, str(number)]
            dying = Driver(target, application=application, mode=mode, files=dying_at(step, files), losers=())
            with pytest.raises(Killed):
                dying.save(str(number))
            seen = read(files, target)
            if mode is Mode.OVERWRITE:
                assert seen in (None, there, wanted)
            elif files.exists(f"{target}/{SUCCESS}"):
                assert seen in (there, wanted)
            Driver(target, application=application, epoch=2, mode=mode, files=files, losers=()).save(str(number))
            there = sorted(wanted)
            assert read(files, target) == there
            assert SUCCESS in files.names(target)
            assert list(files.names(f"{path}/{mode}")) == ["out"]


def test_a_driver_killed_in_the_midst_of_publishing(hdfs: tuple[HadoopFiles, str]) -> None:
    """As tests/sink/test_killed.py has it for local files, with the operations of HDFS."""
    kill_at(hdfs, {Mode.OVERWRITE: [Step.PUBLISH], Mode.APPEND: [Step.COMMIT]})
    files, path = hdfs
    with pytest.raises(FileNotFoundError):
        files.rename(f"{path}/none", f"{path}/new")
    with pytest.raises(FileNotFoundError):
        files.write(f"{path}/none/file", b"")
    assert not files.rename(f"{path}/overwrite", f"{path}/append")
    assert sorted(files.names(f"{path}/append")) == ["out"]


@pytest.mark.soak
def test_a_driver_killed_at_every_step(hdfs: tuple[HadoopFiles, str]) -> None:
    """Each new file costs HDFS some tenths of a second."""
    # Of RECOVER there is nothing to change after an orderly end, and WRITE is the tasks'.
    steps = [step for step in Step if step not in (Step.RECOVER, Step.WRITE)]
    adding = [Step.UNMARK, Step.ADD, Step.COMMIT, Step.MARK]
    kill_at(hdfs, {Mode.OVERWRITE: [step for step in steps if step not in adding], Mode.APPEND: adding})


@pytest.mark.soak
def test_saves_with_copies(submit: Submit, tmp_path: Path) -> None:
    """The original of a task is still writing when its copy's file has been published."""
    python = python_without_yarnspec(tmp_path / "venv")
    marks = tmp_path / "marks"
    marks.mkdir()
    options = [
        *("--conf", f"spark.pyspark.python={python}", "--conf", f"spark.pyspark.driver.python={sys.executable}"),
        # On another host than the original, so two executors must not fit on one.
        *("--executor-memory", "4g"),
        # Spark's own copies come when they are told to; a Python worker is not killed before it has written.
        *("--set", "speculation.enabled=false", "--conf", "spark.speculation=true"),
        *("--conf", "spark.speculation.quantile=0.5", "--conf", "spark.speculation.minTaskRuntime=500ms"),
        *("--conf", "spark.python.task.killTimeout=120s"),
    ]
    directory = f"sinks-{next(NUMBERS)}"
    told = submit("sinks.py", directory, str(marks), options=options).wait(180).expect(0).lines
    first, read, listed = (line for line in told if line.pop("what"))
    assert first["written"] == len(first["files"]) == PARTITIONS
    sets = first["attempts"]
    assert [attempt.split(".")[0] for attempt in sets["fast"]] == ["e1"]
    assert (sets["slow"], len(sets["finished"])) == ([], PARTITIONS - 1)
    assert len(sets["all"]) == PARTITIONS + 1
    wait_for("the loser's writer", (marks / "loser wrote").exists, 30)
    assert read == {"lines": list(range(12)), "published": 5}
    assert listed["around"] == ["an output 100%"]
    within = listed["within"]
    assert sum(name.startswith("part-") and name.endswith(".txt") for name in within) == 5
    assert sum(name.startswith("_yarnspec-") for name in within) == 3
    assert len(within) == 5 + 3 + 1


def test_a_driver_that_dies_in_the_midst_of_a_save(submit: Submit, cluster: Cluster, tmp_path: Path) -> None:
    """The next one publishes what is whole, runs the one partition that is not, and appends nothing twice."""
    marks = tmp_path / "marks"
    marks.mkdir()
    directory = f"sinks-{next(NUMBERS)}"
    submission = submit("sinks.py", directory, str(marks), "dies", options=["--set", "recovery.enabled=true"])
    room = f"/user/{cluster.user}/{directory}/.saved.yarnspec-sink"

    def others_are_whole() -> bool:
        try:
            (run,) = cluster.hdfs_list(room)
            names = cluster.hdfs_list(f"{room}/{run}/attempts")
        except (OSError, ValueError):
            return False
        return sum(not name.endswith(".writing") for name in names) == PARTITIONS - 1

    wait_for("the other partitions' files", others_are_whole, 120)
    (marks / "die").touch()
    told = submission.wait(240).expect(0).lines
    epoch, read, listed = (line for line in told if line.pop("what"))
    assert (marks / "died").exists()
    assert (epoch["appended"], epoch["saved"]) == (0, 1)
    epochs = {attempt.split(".")[0] for attempt in epoch["attempts"]}
    assert "e1" in epochs
    assert len(epochs) == 2
    assert read["appended"] == 12
    assert read["saved"] == sorted(str([2 * number, 2 * number + 1]) for number in range(PARTITIONS))
    assert listed["around"] == ["appended", "saved"]
