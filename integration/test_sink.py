"""yarnspec.sink on HDFS, in programs that `yarnspec submit` runs, and on hosts whose Python has no yarnspec.

What is parametrized is the same on local files.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import BinaryIO

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from integration.cluster import Cluster
from integration.conftest import NUMBERS, Submit
from integration.local.test_sink import NAMES
from integration.local.test_window import python_without_yarnspec
from integration.localsession import local_session
from integration.programs.sinks import PARTITIONS
from integration.smalldisk import small_disk
from integration.waiting import PATIENCE, wait_for
from tests.sink.world import Driver, Killed, MortalFiles
from yarnspec.errors import UsageError
from yarnspec.sink import PartitionFileSink, PathClaimed, published_files
from yarnspec.sink.claim import Claim, Owner
from yarnspec.sink.decision import SUCCESS, Mode
from yarnspec.sink.files import LocalSinkFiles, SinkFiles
from yarnspec.sink.hadoop import HadoopFiles, files_of
from yarnspec.sink.job import sink_driver
from yarnspec.sink.publication import SaveStep, Unfinished

ON_BOTH = pytest.mark.parametrize("where", ["hdfs", "file"])


@pytest.fixture
def hdfs(cluster: Cluster, tmp_path: Path) -> Iterator[tuple[HadoopFiles, str]]:
    """The cluster's HDFS as a driver has it, and a directory there with a name that needs quoting."""
    for session in local_session(tmp_path):
        context = session.sparkContext
        directory = f"{cluster.mini.default_fs}/user/{cluster.user}/sinks {next(NUMBERS)} 100%"
        files, path = files_of(context, directory, sink_driver(context))
        assert isinstance(files, HadoopFiles)
        yield files, path


def place_of(where: str, hdfs: tuple[HadoopFiles, str], tmp_path: Path) -> tuple[SinkFiles, str]:
    """A directory of HDFS or a local one."""
    if where == "hdfs":
        return hdfs
    (tmp_path / "sinks 100%").mkdir()
    return LocalSinkFiles(), str(tmp_path / "sinks 100%")


def read(files: SinkFiles, directory: str) -> list[str] | None:
    """The contents of the files that are not hidden; None: no directory."""
    if not files.exists(directory):
        return None
    shown = [name for name in files.names(directory) if not name.startswith(("_", "."))]
    return sorted((files.read(f"{directory}/{name}") or b"").decode() for name in shown)


ADDING: tuple[SaveStep, ...] = (SaveStep.UNMARK, SaveStep.ADD, SaveStep.COMMIT, SaveStep.MARK)
CHANGES = ("rename", "delete", "write", "make_directories")


def dying_at(step: SaveStep, files: HadoopFiles) -> MortalFiles:
    """Dies before the first operation of a step that changes something; when the tasks have written, in any."""
    mortal = MortalFiles(files=files)

    def before_each(number: int) -> None:
        at, operation = mortal.seen[-1]
        if mortal.dies_at is None and at is step and (operation in CHANGES or step is SaveStep.WRITE):
            mortal.dies_at = number

    mortal.before_each = before_each
    return mortal


def kill_at(hdfs: tuple[HadoopFiles, str], steps: dict[Mode, list[SaveStep]], first: tuple[SaveStep, ...] = ()) -> None:
    """Save over and over, killed each time at another step; the next driver brings it to its end.

    ``first``: drivers before, each killed at one of these.
    """
    files, path = hdfs
    for mode, chosen in steps.items():
        there: list[str] = []
        if mode is not Mode.FAIL:
            Driver(f"{path}/{mode}/out", files=files, losers=()).save("0")
            there = ["0"]
        for number, step in enumerate(chosen, 1):
            # What must not exist is another one each time.
            target = f"{path}/{mode}/{f'{number}/' if mode is Mode.FAIL else ''}out"
            application = f"application_2_{number:04d}"
            wanted = sorted([*there, str(number)]) if mode is Mode.APPEND else [str(number)]
            # To clear up there must be something.
            deaths = [SaveStep.WRITE, step] if step is SaveStep.RECOVER and not first else [*first, step]
            for epoch, death in enumerate(deaths, 1):
                mortal = dying_at(death, files)
                dying = Driver(target, application=application, epoch=epoch, mode=mode, files=mortal, losers=())
                with pytest.raises(Killed):
                    dying.save(str(number))
                assert mortal.seen[-1][0] is death
                seen = read(files, target)
                if mode is not Mode.APPEND:
                    assert seen in (None, there, wanted)
                elif files.exists(f"{target}/{SUCCESS}"):
                    assert seen in (there, wanted)
            Driver(target, application=application, epoch=len(deaths) + 1, mode=mode, files=files, losers=()).save(
                str(number)
            )
            assert read(files, target) == wanted
            assert SUCCESS in files.names(target)
            assert list(files.names(target.rpartition("/")[0])) == ["out"]
            there = [] if mode is Mode.FAIL else wanted


@pytest.mark.one_a_day("saves on HDFS")
def test_a_driver_killed_in_the_midst_of_publishing(hdfs: tuple[HadoopFiles, str]) -> None:
    """As tests/sink/test_killed.py has it for local files, with the operations of HDFS."""
    kill_at(hdfs, {Mode.OVERWRITE: [SaveStep.PUBLISH], Mode.APPEND: [SaveStep.COMMIT]})
    files, path = hdfs
    with pytest.raises(FileNotFoundError):
        files.rename(f"{path}/none", f"{path}/new")
    with pytest.raises(FileNotFoundError):
        files.write(f"{path}/none/file", b"")
    assert not files.rename(f"{path}/overwrite", f"{path}/append")
    assert sorted(files.names(f"{path}/append")) == ["out"]


@pytest.mark.soak
def test_a_driver_killed_at_every_step(hdfs: tuple[HadoopFiles, str]) -> None:
    """Each new file costs HDFS some tenths of a second: what the modes have in common is killed at in one of them."""
    common: list[SaveStep] = [step for step in SaveStep if step not in (SaveStep.SET_ASIDE, *ADDING)]
    kill_at(
        hdfs, {Mode.FAIL: common, Mode.OVERWRITE: [SaveStep.SET_ASIDE, SaveStep.PUBLISH], Mode.APPEND: list(ADDING)}
    )


@pytest.mark.soak
def test_the_next_driver_killed_at_every_step_too(hdfs: tuple[HadoopFiles, str]) -> None:
    """What the first had decided, and nothing more, the third carries out, wherever the second has stopped."""
    common = [
        SaveStep.CLAIM,
        SaveStep.GATHER,
        SaveStep.SWEEP,
        SaveStep.SEAL,
        SaveStep.RECOVER,
        SaveStep.CLEAN,
        SaveStep.RELEASE,
    ]
    steps = {Mode.OVERWRITE: [*common, SaveStep.SET_ASIDE, SaveStep.PUBLISH], Mode.APPEND: [*common, *ADDING]}
    kill_at(hdfs, steps, (SaveStep.GATHER,))


def text(records: Iterator[str], file: BinaryIO) -> None:
    file.write("".join(records).encode())


@pytest.mark.soak
def test_an_output_that_is_full(hdfs: tuple[HadoopFiles, str], tmp_path: Path) -> None:
    """By its quota; first while the tasks write, then before the claim: everything stays as it was."""
    files, path = hdfs
    context = SparkSession.builder.getOrCreate().sparkContext
    data, target = context.parallelize(["some text"], 1), f"{path}/out"
    PartitionFileSink(target, text).save(data)
    writing, full = tmp_path / "writing", tmp_path / "full"

    def wait(records: Iterator[str], file: BinaryIO) -> None:
        writing.touch()
        wait_for("the quota", full.exists, 60)
        text(records, file)

    def set_quota(space_bytes: int) -> None:
        files._files.setQuota(files._path(path), -1, space_bytes)

    with ThreadPoolExecutor(1) as threads:
        saving = threads.submit(PartitionFileSink(target, wait, mode="overwrite").save, data)
        wait_for("the task", writing.exists, 60)
        set_quota(1 << 16)
        full.touch()
        with pytest.raises(Py4JJavaError, match="QuotaExceeded"):
            saving.result(60)
    with pytest.raises(OSError, match="QuotaExceeded"):
        PartitionFileSink(target, text, mode="append").save(data)
    assert list(files.names(path)) == ["out"]
    assert read(files, target) == ["some text"]
    set_quota(-1)
    PartitionFileSink(target, text, mode="append").save(data)
    assert read(files, target) == ["some text", "some text"]


@pytest.mark.soak
@ON_BOTH
def test_an_output_that_is_full_at_every_step(hdfs: tuple[HadoopFiles, str], tmp_path: Path, where: str) -> None:
    """At each of the driver's steps that writes something; then there is room again, and another driver."""
    files, path = place_of(where, hdfs, tmp_path)
    with contextlib.ExitStack() as mounted:
        disk = mounted.enter_context(small_disk(Path(path))) if where == "file" else None

        def set_full(full: bool) -> None:
            if disk is not None:
                disk(full)
            else:
                hdfs[0]._files.setQuota(hdfs[0]._path(path), -1, 1 << 16 if full else -1)

        writing = (SaveStep.CLAIM, SaveStep.PREPARE, SaveStep.DECIDE, SaveStep.SEAL)
        for step in writing:
            target = f"{path}/{step.name}/out"
            Driver(target, application="application_0_0001", files=files, losers=()).save("old")
            mortal = MortalFiles(files=files)
            driver = Driver(target, mode=Mode.APPEND, files=mortal, losers=())

            def fill(_number: int, mortal: MortalFiles = mortal, step: SaveStep = step) -> None:
                if mortal.seen[-1] == (step, "write"):
                    set_full(True)

            mortal.before_each = fill
            with pytest.raises(Unfinished if step is SaveStep.SEAL else OSError, match=r"QuotaExceeded|No space left"):
                driver.save("new")
            assert read(files, target) == ["old"]
            set_full(False)
            if step is not SaveStep.SEAL:
                assert list(files.names(f"{path}/{step.name}")) == ["out"]
            probe = MortalFiles(files=files)
            Driver(target, epoch=2, mode=Mode.APPEND, files=probe, losers=()).save("new")
            assert read(files, target) == ["new", "old"]
            assert list(files.names(f"{path}/{step.name}")) == ["out"]
            assert {at for at, operation in probe.seen if operation == "write"} <= set(writing)


def test_names_that_need_quoting(hdfs: tuple[HadoopFiles, str]) -> None:
    """And a partition that is empty."""
    files, path = hdfs
    spark = SparkSession.builder.getOrCreate()
    data = spark.sparkContext.parallelize(["a"], 2)
    for name in NAMES:
        for mode in Mode:
            PartitionFileSink(f"{path}/{name}", text, mode=mode, suffix=".é %20#?").save(data)
        assert read(files, f"{path}/{name}") == ["", "", "a", "a"]
        # Spark takes the names for patterns: what would be one has a backslash before it.
        shown = [file.rpartition("/")[2].replace("\\", "") for file in published_files(spark, f"{path}/{name}")]
        assert shown == sorted(each for each in files.names(f"{path}/{name}") if each.startswith("part-"))
    assert sorted(files.names(path)) == sorted(NAMES)


def test_an_output_right_below_the_root(hdfs: tuple[HadoopFiles, str], cluster: Cluster) -> None:
    files, path = hdfs
    target = f"{cluster.mini.default_fs}/{path.rpartition('/')[2]} of the root"
    data = SparkSession.builder.getOrCreate().sparkContext.parallelize(["a"], 1)
    try:
        for mode in Mode:
            PartitionFileSink(target, text, mode=mode).save(data)
        assert read(files, target) == ["a", "a"]
        beside = [name for name in files.names(f"{cluster.mini.default_fs}/") if name.startswith(".sinks")]
        assert beside == []
    finally:
        files.delete(target)


@pytest.mark.one_a_day("saves on HDFS")
def test_a_directory_with_snapshots(hdfs: tuple[HadoopFiles, str]) -> None:
    """HDFS would not rename it: said before anything runs. Adding to it is nothing special."""
    files, path = hdfs
    target = f"{path}/out"
    Driver(target, files=files, losers=()).save("old")
    directory = files._path(target)
    files._files.allowSnapshot(directory)
    try:
        files._files.createSnapshot(directory, "monday")
        again = Driver(target, application="application_2_0001", mode=Mode.OVERWRITE, files=files, losers=())
        with pytest.raises(UsageError, match="snapshots may be made: there is no rename"):
            again.save("new")
        assert again.ran == []
        adding = Driver(target, application="application_2_0001", mode=Mode.APPEND, files=files, losers=())
        adding.save("new")
        assert read(files, target) == ["new", "old"]
        assert list(files.names(path)) == ["out"]
    finally:
        files._files.deleteSnapshot(directory, "monday")
        files._files.disallowSnapshot(directory)


def test_of_many_at_once_one_gets_it(hdfs: tuple[HadoopFiles, str]) -> None:
    """As tests/sink/test_claim.py has it for local files."""
    files, path = hdfs
    together = threading.Barrier(8)

    def contend(number: int) -> bool:
        owner = Owner(f"many{number}", f"a{number}", 1, f"p{number}", "ann", "worker7", 4242, 0)
        together.wait(20)
        try:
            Claim(files, f"{path}/claim", f"{path}/room", owner).take()
        except PathClaimed:
            return False
        return True

    with ThreadPoolExecutor(8) as threads:
        got = list(threads.map(contend, range(8)))
    owner = Owner.decode(files.read(f"{path}/claim") or b"")
    assert owner is not None
    assert [number for number, it in enumerate(got) if it] == [int(owner.run.removeprefix("many"))]


@pytest.mark.soak
@ON_BOTH
def test_two_applications_at_one_path(hdfs: tuple[HadoopFiles, str], tmp_path: Path, where: str) -> None:
    """The second has a JVM and a process of its own; it is refused while the first writes, and not after it."""
    files, path = place_of(where, hdfs, tmp_path)
    context = SparkSession.builder.getOrCreate().sparkContext
    writing, may_end = tmp_path / "writing", tmp_path / "may end"

    def wait(records: Iterator[str], file: BinaryIO) -> None:
        writing.touch()
        wait_for("the other application", may_end.exists, 120)
        text(records, file)

    other = (
        "import sys; from pathlib import Path; from integration.localsession import local_session; "
        "from integration.test_sink import text; from yarnspec.sink import PartitionFileSink\n"
        "for spark in local_session(Path(sys.argv[2])):\n"
        "    PartitionFileSink(sys.argv[1], text, mode='append').save(spark.sparkContext.parallelize(['other'], 1))\n"
    )
    command = [sys.executable, "-c", other, f"{path}/out", str(tmp_path / "other")]
    with ThreadPoolExecutor(1) as threads:
        saving = threads.submit(PartitionFileSink(f"{path}/out", wait).save, context.parallelize(["first"], 1))
        try:
            wait_for("the task", writing.exists, 60)
            refused = subprocess.run(command, capture_output=True, text=True, timeout=120 * PATIENCE, check=False)
        finally:
            may_end.touch()
        saving.result(60)
    assert refused.returncode != 0
    assert f"PathClaimed: {context.applicationId}" in refused.stderr
    assert read(files, f"{path}/out") == ["first"]
    subprocess.run(command, capture_output=True, timeout=120 * PATIENCE, check=True)
    assert read(files, f"{path}/out") == ["first", "other"]
    assert list(files.names(path)) == ["out"]


def directory_of(where: str, tmp_path: Path) -> str:
    """For a program: relative in HDFS, or on this machine, which all hosts are on."""
    return f"sinks-{next(NUMBERS)}" if where == "hdfs" else f"file://{tmp_path}/sinks"


@pytest.mark.soak
@ON_BOTH
def test_saves_with_copies(submit: Submit, tmp_path: Path, where: str) -> None:
    """The original of a task is still writing when its copy's file has been published; an executor is killed."""
    python = python_without_yarnspec(tmp_path / "venv")
    marks = tmp_path / "marks"
    marks.mkdir()
    options = [
        *("--conf", f"spark.pyspark.python={python}", "--conf", f"spark.pyspark.driver.python={sys.executable}"),
        # On another host than the original, so two executors must not fit on one.
        *("--executor-memory", "4g", "--set", "blocklist.enabled=false"),
        # yarnspec's copies, which need no `copy_writers` here: late is what takes longer than half a second.
        *("--set", "detector.kind=execution-time", "--set", "detector.baseline_lower_bound=500ms"),
        *("--set", "detector.baseline_ratio=0.5", "--set", "detector.check_interval=100ms"),
        # A Python worker is not killed before it has written.
        *("--conf", "spark.python.task.killTimeout=120s"),
    ]
    directory = directory_of(where, tmp_path)
    told = submit("sinks.py", directory, str(marks), options=options).wait(180).expect(0).lines
    first, killed, read, listed = (line for line in told if line.pop("what"))
    assert (marks / "killed").exists()
    assert killed["contents"] == ["0\n", "1\n"]
    assert len(killed["attempts"]["all"]) > 2
    assert first["written"] == len(first["files"]) == PARTITIONS
    sets = first["attempts"]
    assert [attempt.split(".")[0] for attempt in sets["fast"]] == ["e1"]
    assert (sets["slow"], len(sets["finished"])) == ([], PARTITIONS - 1)
    assert len(sets["all"]) == PARTITIONS + 1
    wait_for("the loser's writer", (marks / "loser wrote").exists, 30)
    assert read == {"lines": list(range(12)), "published": 5}
    assert listed["around"] == ["an output 100%", "killed"]
    within = listed["within"]
    assert sum(name.startswith("part-") and name.endswith(".txt") for name in within) == 5
    assert sum(name.startswith("_yarnspec-") for name in within) == 3
    assert len(within) == 5 + 3 + 1


@pytest.mark.parametrize("where", ["hdfs", pytest.param("file", marks=pytest.mark.soak)])
def test_a_driver_that_dies_in_the_midst_of_a_save(
    submit: Submit, cluster: Cluster, tmp_path: Path, where: str
) -> None:
    """The next one publishes what is whole, runs the one partition that is not, and appends nothing twice."""
    marks = tmp_path / "marks"
    marks.mkdir()
    directory = directory_of(where, tmp_path)
    submission = submit("sinks.py", directory, str(marks), "dies", options=["--set", "recovery.enabled=true"])
    room = ".saved.yarnspec-sink"

    def names_in(below: str) -> list[str]:
        if where == "hdfs":
            return cluster.hdfs_list(f"/user/{cluster.user}/{directory}/{below}")
        return [entry.name for entry in Path(f"{tmp_path}/sinks/{below}").iterdir()]

    def others_are_whole() -> bool:
        try:
            (run,) = names_in(room)
            names = names_in(f"{room}/{run}/attempts")
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
