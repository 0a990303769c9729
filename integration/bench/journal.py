"""`python -m integration.bench journal`: what recording costs, and how long reading a million records takes.

No cluster: a journal in a local directory, of a job whose map outputs finish as fast as they can be recorded. The share
of a job's time is that of one core, at ``RATE`` map outputs a second: the caller's part and the writing thread's.
"""

from __future__ import annotations

import gc
import statistics
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

from integration.bench.measured import machine
from yarnspec.core.journalrecords import EpochBegan, MapFinished, ShuffleRegistered
from yarnspec.journal.directory import JournalDirectory
from yarnspec.journal.stores import AppendStore, JournalFiles, LogWriter
from yarnspec.yarn.local_files import LocalFiles

RECORDS = 1_000_000
REPEATS = 5
SUMMARIES = 300
RATE = 200
AIM_SHARE = 0.01
AIM_REPLAY_S = 5.0
MAPS = 1_000
BLOB = bytes(range(160))
END_S = 120.0


class Recording(NamedTuple):
    """One run: the caller's and the writer's CPU seconds for its details, and the waits for its summaries."""

    append_s: float
    flush_s: float
    durable_ms: list[float]


class _Timed:
    """A log whose writes are timed, in CPU seconds of the writing thread."""

    def __init__(self, log: LogWriter) -> None:
        self._log = log
        self.cpu_s = 0.0

    def append(self, data: bytes, /) -> None:
        began = time.thread_time()
        self._log.append(data)
        self.cpu_s += time.thread_time() - began

    def sync(self) -> None:
        began = time.thread_time()
        self._log.sync()
        self.cpu_s += time.thread_time() - began

    def close(self) -> None:
        self._log.close()


class _TimedStore:
    log: _Timed

    def create(self, files: JournalFiles, directory: str) -> LogWriter:
        self.log = _Timed(AppendStore().create(files, directory))
        return self.log


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


def record(directory: Path, records: int) -> Recording:
    """Record so many map outputs, then some summaries one by one."""
    store = _TimedStore()
    journal, _ = JournalDirectory(LocalFiles(), str(directory), store).begin(
        EpochBegan(epoch=1, attempt=1, host="h", time_ms=0)
    )
    details = [detail(number) for number in range(records)]
    gc.collect()
    append_s = 0.0
    for begin in range(0, records, MAPS):
        journal.append(shuffle(begin // MAPS))
        began = time.thread_time()
        for each in details[begin : begin + MAPS]:
            journal.append(each)
        append_s += time.thread_time() - began
        if begin % (20 * MAPS) == 0:
            journal.append_durable(shuffle(begin // MAPS)).result(END_S)  # what comes faster would not fit the queue
    durable_ms = []
    for number in range(SUMMARIES):
        began = time.perf_counter()
        journal.append_durable(shuffle(10**6 + number)).result(END_S)
        durable_ms.append((time.perf_counter() - began) * 1000)
    assert journal.close(END_S)
    assert not journal.problem
    return Recording(append_s, store.log.cpu_s, durable_ms)


def replay_s(directory: Path, records: int) -> float:
    """Read it all, from the first byte to what it adds up to."""
    gc.collect()
    began = time.perf_counter()
    past = JournalDirectory(LocalFiles(), str(directory)).replay()
    passed_s = time.perf_counter() - began
    assert not past.problem
    assert sum(len(known.outputs) for known in past.recorded.shuffles.values()) == records
    return passed_s


def run(console: Console) -> bool:
    """Measure, print, and tell whether the aims are met."""
    console.print(f"journal on {machine()}, a local disk, {RECORDS:,} map outputs with {len(BLOB)} opaque bytes each")
    recordings, replays, size_bytes = [], [], 0
    for _ in range(REPEATS):
        with tempfile.TemporaryDirectory(prefix="yarnspec-bench-") as workspace:
            recordings.append(record(Path(workspace), RECORDS))
            replays.append(replay_s(Path(workspace), RECORDS))
            size_bytes = (Path(workspace) / "epoch-1" / "log").stat().st_size
    append_us = statistics.median(each.append_s for each in recordings) / RECORDS * 1e6
    flush_us = statistics.median(each.flush_s for each in recordings) / RECORDS * 1e6
    durable_ms = [each for recording in recordings for each in recording.durable_ms]
    share = (append_us + flush_us) * RATE / 1e6
    table = Table(title="Recording and reading")
    for column in ("what", "measured", "aim"):
        table.add_column(column, justify="left" if column == "what" else "right")
    table.add_row("append of a detail, the caller's part", f"{append_us:.2f} µs", "")
    table.add_row("flush, a detail's part of it", f"{flush_us:.2f} µs", "")
    table.add_row(f"share of one core at {RATE} map outputs a second", f"{share:.2%}", f"≤ {AIM_SHARE:.0%}")
    table.add_row(
        "summary until it is durable, p50 and p99",
        f"{statistics.median(durable_ms):.2f} and {float(np.percentile(durable_ms, 99)):.2f} ms", "",
    )  # fmt: skip
    table.add_row("bytes on disk for a detail", f"{size_bytes / RECORDS:.0f}", "")
    table.add_row(
        f"replay of {RECORDS:,}, median (min-max)",
        f"{statistics.median(replays):.1f} s ({min(replays):.1f}-{max(replays):.1f})", f"≤ {AIM_REPLAY_S:g} s",
    )  # fmt: skip
    console.print(table)
    return share <= AIM_SHARE and statistics.median(replays) <= AIM_REPLAY_S
