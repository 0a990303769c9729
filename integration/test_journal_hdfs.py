"""The journal on a real HDFS: what is durable is there after the writer's death, and a zombie cannot add to it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from integration.cluster import Cluster
from integration.conftest import Yarnspec
from tests.journal.world import PATIENCE_S, Told, began, begin, finished, registered
from yarnspec.errors import YarnspecError
from yarnspec.journal.directory import JournalDirectory
from yarnspec.journal.errors import EpochTaken, Fenced, JournalStopped
from yarnspec.journal.records import decode
from yarnspec.journal.writer import Written
from yarnspec.yarn.files.cluster_files import open_files
from yarnspec.yarn.files.hdfs_files import HdfsFiles
from yarnspec.yarn.hadoop.hadoop_conf import HadoopConf

ROOT = Path(__file__).parent.parent
BASE = "/tmp/journal-tests"
AWAY_S = 20.0

WRITER = """
import sys
from tests.journal.world import began, finished, registered
from yarnspec.journal.directory import JournalDirectory
from yarnspec.yarn.files.cluster_files import open_files
from yarnspec.yarn.hadoop.hadoop_conf import HadoopConf

journal, _ = JournalDirectory(open_files(HadoopConf.read()), sys.argv[1]).begin(began(1))
for shuffle in range(10_000):
    for index in range(20):
        journal.append(finished(shuffle, index))
    print(journal.append_durable(registered(shuffle)).result(60), flush=True)
"""


@pytest.fixture
def files(cluster: Cluster) -> Callable[[], HdfsFiles]:
    """Each call is another client, as another process has it."""

    def opened() -> HdfsFiles:
        made = open_files(HadoopConf.read(cluster.environment))
        assert isinstance(made, HdfsFiles)
        return made

    return opened


@pytest.fixture
def path(request: pytest.FixtureRequest, files: Callable[[], HdfsFiles]) -> Iterator[str]:
    """A directory for one test."""
    made = f"{BASE}/{request.node.name}"
    yield made
    files().delete(made)


def test_what_is_durable_survives_the_writers_death(
    cluster: Cluster, files: Callable[[], HdfsFiles], path: str, yarnspec: Yarnspec
) -> None:
    directory = JournalDirectory(files(), path)
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, path], stdout=subprocess.PIPE, cwd=ROOT, env=cluster.environment
    ) as process:
        assert process.stdout is not None
        durable = [int(process.stdout.readline()) for _ in range(30)][-1]
        # Only the length of a file that is being written can be seen; that is told.
        (before,) = directory.verify()
        assert before.unread_bytes > 0
        ran = yarnspec("journal", "show", cluster.mini.default_fs + path).expect(0)
        assert "before their writer has closed the file" in ran.stderr
        process.kill()
        durable = max([durable, *(int(line) for line in process.stdout.read().splitlines() if line)])
    begun = time.monotonic()
    journal, past = directory.begin(began(2))
    took_s = time.monotonic() - begun
    assert past.problem == ""
    records = [decode(entry) for entry in directory.entries(1)]
    assert len(records) >= durable > 600
    expected = [began(1)]
    shuffle = 0
    while len(expected) < len(records):
        expected += [*(finished(shuffle, index) for index in range(20)), registered(shuffle)]  # type: ignore[list-item]
        shuffle += 1
    assert records == expected[: len(records)]
    begun = time.monotonic()
    assert journal.close(PATIENCE_S)
    print(f"taken over from a dead writer in {took_s:.1f} s, closed in {time.monotonic() - begun:.1f} s")
    shown = yarnspec("journal", "verify", cluster.mini.default_fs + path, "-o", "json").expect(0).document
    assert [(each["epoch"], each["state"]) for each in shown["epochs"]] == [(1, "sealed by 2"), (2, "ended")]
    assert shown["epochs"][0]["records"] == len(records)
    modes = {each["pathSuffix"]: each["permission"] for each in cluster.hdfs_statuses(f"{path}/epoch-1")}
    assert modes == {"log": "600", "sealed": "600"}


def test_hdfs_itself_refuses_a_writer_whose_file_was_taken(files: Callable[[], HdfsFiles], path: str) -> None:
    """Nothing but HDFS is asked here: what the new epoch measured cannot grow any more."""
    log = files().open_log(f"{path}/log")
    log.append(b"before")
    log.sync()
    other = files()
    other.recover_log(f"{path}/log")
    assert other.read(f"{path}/log") == b"before"
    # It may only notice when the bytes go out.
    log_error = None
    try:
        log.append(b"after")
        log.sync()
    except YarnspecError as error:
        log_error = error
    assert log_error is not None
    assert other.info(f"{path}/log").size_bytes == len(b"before")
    assert other.read(f"{path}/log") == b"before"


def test_a_zombie_is_told_and_adds_nothing(files: Callable[[], HdfsFiles], path: str) -> None:
    told = Told()
    zombie, _ = JournalDirectory(files(), path).begin(began(1), on_stopped=told)
    zombie.append_durable(registered(1)).result(PATIENCE_S)
    directory = JournalDirectory(files(), path)
    journal, past = directory.begin(began(2))
    assert list(past.recorded.shuffles) == [1]
    assert isinstance(zombie.append_durable(registered(2)).exception(PATIENCE_S), JournalStopped)
    assert told.wait().fenced
    assert not zombie.append(registered(3))
    assert zombie.refused == 2
    assert not zombie.close(PATIENCE_S)
    journal.append_durable(registered(4)).result(PATIENCE_S)
    assert journal.close(PATIENCE_S)
    assert list(directory.replay().recorded.shuffles) == [1, 4]
    assert [report.ignored_bytes for report in directory.verify()] == [0, 0]
    print(json.dumps(told.wait()._asdict()))


def test_an_epoch_has_one_writer_and_one_seal(files: Callable[[], HdfsFiles], path: str) -> None:
    first = JournalDirectory(files(), path)
    journal = begin(first, 1)
    other = JournalDirectory(files(), path)
    with pytest.raises(EpochTaken):
        begin(other, 1)
    assert journal.close(PATIENCE_S)
    (report,) = other.verify()
    seal = other._layout.seal(1, 9, Written(0, 0))
    assert (seal.by, seal.size_bytes) == (1, report.size_bytes)
    later = begin(other, 3)
    with pytest.raises(Fenced):
        begin(first, 2)
    assert later.close(PATIENCE_S)
    names = {entry.name for entry in files().list(f"{path}/epoch-1")}
    assert names == {"log", "sealed"}


def test_hdfs_away_for_twenty_seconds_stops_nothing(
    cluster: Cluster, files: Callable[[], HdfsFiles], path: str
) -> None:
    directory = JournalDirectory(files(), path)
    journal = begin(directory, 1)
    journal.append_durable(registered(0)).result(PATIENCE_S)
    daemons = {daemon["name"]: daemon["pid"] for daemon in cluster.mini.status()["daemons"]}
    victims = [daemons["namenode"], daemons["datanode"]]

    def send(number: signal.Signals) -> None:
        for pid in victims:
            os.kill(pid, number)

    back = threading.Timer(AWAY_S, send, (signal.SIGCONT,))
    begun = time.monotonic()
    send(signal.SIGSTOP)
    try:
        back.start()
        future = journal.append_durable(registered(1))
        for index in range(100):
            assert journal.append(finished(1, index))
        assert time.monotonic() - begun < AWAY_S  # nobody was held up
        assert future.result(PATIENCE_S) == 3
    finally:
        back.cancel()
        send(signal.SIGCONT)
    assert time.monotonic() - begun >= AWAY_S
    assert journal.append_durable(registered(2)).result(PATIENCE_S) == 104
    assert journal.close(PATIENCE_S), journal.problem
    assert len(directory.replay().recorded.shuffles[1].outputs) == 100
