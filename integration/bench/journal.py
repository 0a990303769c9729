"""`python -m integration.bench journal`: what recording costs, and how long reading a million records takes.

A journal of a job whose map outputs finish as fast as they can be recorded, in a local directory and on the HDFS of a
mini cluster. The share of a job's time is that of one core at ``RATE`` map outputs a second, of all threads.
"""

from __future__ import annotations

import gc
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

from integration.bench.measured import machine
from yarnspec.core.journal.journalrecords import EpochBegan, MapFinished, ShuffleRegistered
from yarnspec.journal.directory import JournalDirectory
from yarnspec.journal.stores import JournalFiles
from yarnspec.minicluster import MiniCluster
from yarnspec.yarn.files.cluster_files import open_files
from yarnspec.yarn.files.local_files import LocalFiles
from yarnspec.yarn.hadoop.hadoop_conf import HadoopConf

RECORDS = 1_000_000
REPEATS = 5
SUMMARIES = 300
RATE = 200
AIM_SHARE = 0.01
AIM_REPLAY_S = 5.0
MAPS = 1_000
BLOB = bytes(range(160))
END_S = 120.0


class Run(NamedTuple):
    """One journal: CPU microseconds for a detail, the waits for summaries, seconds to read all, bytes of a detail.

    ``take_over_s`` is what a next epoch needs until it can record: seal, read, and begin with a snapshot of it all.
    """

    detail_us: float
    durable_ms: list[float]
    replay_s: float
    take_over_s: float
    detail_bytes: float


def detail(number: int) -> MapFinished:
    """A map output as the driver tells of it."""
    return MapFinished(
        shuffle=number // MAPS, index=number % MAPS, map_id=number, stage=number // MAPS, executor_id="17",
        host="worker-17.example.org", epoch=1, size_bytes=123_456_789, blob=BLOB,
    )  # fmt: skip


def shuffle(number: int) -> ShuffleRegistered:
    """A shuffle as the driver declares it."""
    return ShuffleRegistered(
        shuffle=number, signature="0" * 64, maps=MAPS, reduces=200, determinism="determinate", description="Exchange"
    )


def record(files: JournalFiles, directory: str, records: int) -> tuple[float, list[float]]:
    """Record so many map outputs, then some summaries one by one: CPU seconds for the former, waits for the latter."""
    details = [detail(number) for number in range(records)]
    gc.collect()
    began_s = time.process_time()
    journal, _ = JournalDirectory(files, directory).begin(EpochBegan(epoch=1, attempt=1, host="h", time_ms=0))
    for begin in range(0, records, MAPS):
        declared = journal.append_durable(shuffle(begin // MAPS))
        if begin % (20 * MAPS) == 0:
            declared.result(END_S)  # what comes faster would not fit the queue
        for each in details[begin : begin + MAPS]:
            journal.append(each)
    journal.append_durable(shuffle(10**6)).result(END_S)
    cpu_s = time.process_time() - began_s
    durable_ms = []
    for number in range(1, SUMMARIES + 1):
        began = time.perf_counter()
        journal.append_durable(shuffle(10**6 + number)).result(END_S)
        durable_ms.append((time.perf_counter() - began) * 1000)
    assert journal.close(END_S)
    assert not journal.problem
    return cpu_s, durable_ms


def replay_s(files: JournalFiles, directory: str, records: int) -> float:
    """Read it all, from the first byte to what it adds up to."""
    gc.collect()
    began = time.perf_counter()
    past = JournalDirectory(files, directory).replay()
    passed_s = time.perf_counter() - began
    assert not past.problem
    assert sum(len(known.outputs) for known in past.recorded.shuffles.values()) == records
    return passed_s


def take_over_s(files: JournalFiles, directory: str) -> float:
    """Begin the next epoch."""
    gc.collect()
    began = time.perf_counter()
    journal, _ = JournalDirectory(files, directory).begin(EpochBegan(epoch=2, attempt=2, host="h", time_ms=0))
    passed_s = time.perf_counter() - began
    assert journal.close(END_S)
    return passed_s


def once(files: JournalFiles, directory: str) -> Run:
    """Record and read one journal; it is deleted then."""
    cpu_s, durable_ms = record(files, directory, RECORDS)
    passed_s = replay_s(files, directory, RECORDS)
    size_bytes = sum(each.size_bytes for each in files.list(f"{directory}/epoch-1"))
    taken_over_s = take_over_s(files, directory)
    files.delete(directory)
    return Run(cpu_s / RECORDS * 1e6, durable_ms, passed_s, taken_over_s, size_bytes / RECORDS)


def share(runs: list[Run]) -> float:
    """Of one core, at the rate that is assumed."""
    return statistics.median(each.detail_us for each in runs) * RATE / 1e6


def spread(values: list[float], unit: str) -> str:
    """Median, least and most."""
    return f"{statistics.median(values):.1f} {unit} ({min(values):.1f}-{max(values):.1f})"


def run(console: Console) -> bool:
    """Measure, print, and tell whether the aims are met."""
    console.print(f"journal on {machine()}, {RECORDS:,} map outputs with {len(BLOB)} opaque bytes each")
    with (
        tempfile.TemporaryDirectory(prefix="yarnspec-bench-") as workspace,
        MiniCluster(Path(workspace) / "cluster", nodes=1) as mini,
    ):
        hdfs = open_files(HadoopConf.read(mini.env()))
        local = [once(LocalFiles(), f"{workspace}/journal-{number}") for number in range(REPEATS)]
        far = [once(hdfs, f"/bench/journal-{number}") for number in range(REPEATS)]
    table = Table(title=f"Recording and reading, {REPEATS} runs, median (min-max)")
    for column in ("what", "local disk", "HDFS", "aim"):
        table.add_column(column, justify="left" if column == "what" else "right")

    def row(what: str, show: Callable[[list[Run]], str], aim: str = "") -> None:
        table.add_row(what, show(local), show(far), aim)

    def durable(runs: list[Run]) -> str:
        waits = [wait for each in runs for wait in each.durable_ms]
        return f"{statistics.median(waits):.2f} and {float(np.percentile(waits, 99)):.2f} ms"

    row("CPU time for a detail, written", lambda runs: spread([each.detail_us for each in runs], "µs"))
    row(f"share of one core at {RATE} map outputs a second", lambda runs: f"{share(runs):.2%}", f"≤ {AIM_SHARE:.0%}")
    row("summary until it is durable, p50 and p99", durable)
    row("bytes for a detail", lambda runs: f"{runs[0].detail_bytes:.0f}")
    row(f"replay of {RECORDS:,}", lambda runs: spread([each.replay_s for each in runs], "s"), f"≤ {AIM_REPLAY_S:g} s")
    row("take-over of these by a next epoch", lambda runs: spread([each.take_over_s for each in runs], "s"))
    console.print(table)
    return all(
        share(runs) <= AIM_SHARE and statistics.median(each.replay_s for each in runs) <= AIM_REPLAY_S
        for runs in (local, far)
    )
