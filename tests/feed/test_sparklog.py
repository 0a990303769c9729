"""Spark's own event log as observations, however it was written."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import yarnspec.jvm
from tests.feed.strategies import plain
from yarnspec.core.messages.events import JobEnded, JobStarted, Observed
from yarnspec.core.messages.observations import NONE, Failure, RowKind, StageFlag, State
from yarnspec.feed.logfiles import UnreadableLogError, log_lines
from yarnspec.feed.sparklog import _LACKS_MEMORY, events, observations
from yarnspec.observe.hindsight.offline import as_it_happened


def stage_info(stage: int, **more: Any) -> dict[str, Any]:
    rdds = [{"RDD ID": 1, "Name": "PythonRDD", "Barrier": False, "DeterministicLevel": "DETERMINATE"}]
    return {
        "Stage ID": stage, "Stage Attempt ID": 0, "Stage Name": "count at app.py:3", "Number of Tasks": 2,
        "RDD Info": rdds, "Submission Time": 1000, **more,
    }  # fmt: skip


def task(
    kind: str, task_id: int, index: int = 0, info: dict[str, Any] | None = None, more: dict[str, Any] | None = None
) -> dict[str, Any]:
    told = {
        "Task ID": task_id, "Index": index, "Attempt": 0, "Partition ID": index + 5, "Launch Time": 1100,
        "Executor ID": "3", "Host": "127.0.0.2", "Speculative": False, "Finish Time": 0, "Failed": False,
        "Killed": False, "Accumulables": [], **(info or {}),
    }  # fmt: skip
    return {
        "Event": f"SparkListenerTask{kind}",
        "Stage ID": 7,
        "Stage Attempt ID": 0,
        "Task Info": told,
        **(more or {}),
    }


METRICS = {
    "Executor Run Time": 90, "JVM GC Time": 3, "Disk Bytes Spilled": 11, "Memory Bytes Spilled": 99,
    "Input Metrics": {"Bytes Read": 100, "Records Read": 10},
    "Output Metrics": {"Bytes Written": 5, "Records Written": 1},
    "Shuffle Read Metrics": {"Remote Bytes Read": 20, "Local Bytes Read": 3, "Total Records Read": 4},
    "Shuffle Write Metrics": {"Shuffle Bytes Written": 50, "Shuffle Records Written": 6},
}  # fmt: skip

LOG: list[dict[str, Any]] = [
    {"Event": "SparkListenerLogStart", "Spark Version": "4.3.0"},
    {
        "Event": "SparkListenerJobStart", "Job ID": 4, "Submission Time": 990, "Stage IDs": [7, 8],
        "Stage Infos": [stage_info(7, **{"Parent IDs": []}), stage_info(8, **{"Parent IDs": [7]})],
    },
    {"Event": "SparkListenerStageSubmitted", "Stage Info": stage_info(7)},
    task("Start", 20),
    task("Start", 21, 1),
    task(
        "End", 20, info={"Finish Time": 1200},
        more={"Task Type": "ShuffleMapTask", "Task End Reason": {"Reason": "Success"}, "Task Metrics": METRICS},
    ),
    task(
        "End", 21, 1, info={"Finish Time": 1300, "Failed": True},
        more={
            "Task Type": "ShuffleMapTask",
            "Task End Reason": {"Reason": "ExceptionFailure", "Description": "boom", "Full Stack Trace": "boom at 3"},
        },
    ),
    task(
        "End", 22, 1, info={"Finish Time": 1400, "Killed": True, "Speculative": True, "Attempt": 1},
        more={
            "Task Type": "ShuffleMapTask",
            "Task End Reason": {"Reason": "TaskKilled", "Kill Reason": "yarnspec: a copy failed: boom"},
        },
    ),
    task("End", 20, info={"Finish Time": 1200}, more={"Task End Reason": {"Reason": "Resubmitted"}}),
    {"Event": "SparkListenerStageCompleted", "Stage Info": stage_info(7, **{"Completion Time": 1500})},
    {"Event": "SparkListenerStageSubmitted", "Stage Info": stage_info(8)},
    {
        "Event": "SparkListenerStageCompleted",
        "Stage Info": stage_info(8, **{"Completion Time": 1600, "Failure Reason": "no disk"}),
    },
    {
        "Event": "SparkListenerJobEnd", "Job ID": 4, "Completion Time": 1700,
        "Job Result": {"Result": "JobFailed", "Exception": {"Message": "no disk", "Stack Trace": []}},
    },
    {"Event": "org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd", "executionId": 0, "time": 1},
]  # fmt: skip


def encoded(lines: list[dict[str, Any]] = LOG) -> bytes:
    return b"".join(json.dumps(line, separators=(",", ":")).encode() + b"\n" for line in lines)


def zstd(data: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(data)
    return bytes(sink.getvalue())


def lz4_blocks(data: bytes, size: int = 300) -> bytes:
    """What lz4-java writes: blocks, those that do not shrink as they are, and an empty one at the end."""
    codec = pa.Codec("lz4_raw")
    written = b""
    for start in range(0, len(data), size):
        piece = data[start : start + size]
        small = codec.compress(piece, asbytes=True)
        method, block = (0x20, small) if len(small) < len(piece) and start else (0x10, piece)
        written += struct.pack("<8sBiiI", b"LZ4Block", method | 5, len(block), len(piece), 0) + block
    return written + struct.pack("<8sBiiI", b"LZ4Block", 0x15, 0, 0, 0)


def same(data: bytes) -> bytes:
    return data


def write(directory: Path, name: str, data: bytes) -> Path:
    path = directory / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    return path


def test_everything_that_the_log_holds(tmp_path: Path) -> None:
    told = events(write(tmp_path, "app-1", encoded()))
    assert told[0] == JobStarted(job=4, stages=(7, 8), parents=((8, (7,)),))
    assert told[-1] == JobEnded(job=4, failure="no disk")
    (observed,) = told[1:-1]
    assert isinstance(observed, Observed)
    rows = plain(observed.rows)
    assert [row["kind"] for row in rows] == [
        RowKind.STAGE_STARTED, *[RowKind.TASK_STARTED] * 2, *[RowKind.TASK_ENDED] * 4, RowKind.STAGE_ENDED,
        RowKind.STAGE_STARTED, RowKind.STAGE_ENDED,
    ]  # fmt: skip
    begun, first, other, good, bad, copy, lost, ended, second, failed = rows
    assert (begun["tasks"], begun["text"], begun["time_ms"]) == (2, "count at app.py:3", 1000)
    assert begun["flags"] == StageFlag.MAP | StageFlag.PYTHON
    assert second["flags"] == StageFlag.PYTHON
    assert (first["launch_ms"], first["host"], first["executor"]) == (1100, "127.0.0.2", "3")
    assert (first["partition"], good["partition"], first["index"]) == (5, 5, 0)
    assert (first["input_bytes"], first["records_read"]) == (good["bytes_read"], NONE)
    assert (other["input_bytes"], other["records_read"]) == (NONE, NONE)  # it never ended well
    counters = ("records_read", "bytes_read", "records_written", "bytes_written", "run_ms", "gc_ms", "spill_bytes")
    assert [good[name] for name in counters] == [14, 123, 7, 55, 90, 3, 11]
    assert [bad[name] for name in counters] == [NONE] * 7
    assert [(row["state"], row["failure"], row["text"]) for row in (good, bad, copy, lost)] == [
        (State.SUCCESS, Failure.NONE, ""),
        (State.FAILED, Failure.EXCEPTION, "boom at 3"),
        (State.KILLED, Failure.COPY_FAILED, "yarnspec: a copy failed: boom"),
        (State.FAILED, Failure.EXECUTOR_LOST, "Resubmitted"),
    ]
    assert (copy["speculative"], copy["attempt"], copy["finish_ms"]) == (1, 1, 1400)
    assert (ended["state"], ended["time_ms"]) == (State.SUCCESS, 1500)
    assert (failed["state"], failed["text"]) == (State.FAILED, "no disk")


@pytest.mark.parametrize(
    ("name", "encode"),
    [("app-1.inprogress", same), ("app-1.zstd", zstd), ("app-1.lz4", lz4_blocks), ("app-1.lz4.inprogress", lz4_blocks)],
)
def test_a_compressed_log_says_the_same(tmp_path: Path, name: str, encode: Callable[[bytes], bytes]) -> None:
    expected = plain(observations(write(tmp_path, "plain", encoded())))
    assert plain(observations(write(tmp_path, name, encode(encoded())))) == expected
    # Spark writes on after a restart of the stream.
    twice = write(tmp_path, name, encode(encoded()) + encode(encoded()))
    assert len(observations(twice)) == 2 * len(expected)


def test_rolled_files_in_order_and_compacted_ones_instead_of_those_before(tmp_path: Path) -> None:
    directory = tmp_path / "eventlog_v2_app-1"
    for number, part in ((1, LOG[:4]), (2, LOG[4:6]), (10, LOG[6:])):
        write(directory, f"events_{number}_app-1.zstd", zstd(encoded(part)))
    write(directory, "appstatus_app-1", b"")
    write(directory, ".events_1_app-1.crc", b"junk")
    whole = plain(observations(write(tmp_path, "plain", encoded())))
    assert plain(observations(directory)) == whole
    write(directory, "events_2_app-1.zstd.compact", zstd(encoded(LOG[2:4])))
    # Without the end of the first task nobody knows what it read.
    assert plain(observations(directory)) == [whole[0], whole[1] | {"input_bytes": NONE}, *whole[4:]]


@pytest.mark.parametrize(("name", "encode"), [("a", same), ("a.zstd", zstd), ("a.lz4", lz4_blocks)])
def test_what_a_killed_writer_left_is_read_to_the_last_whole_line(
    tmp_path: Path, name: str, encode: Callable[[bytes], bytes]
) -> None:
    data = encode(encoded())
    whole = list(log_lines(write(tmp_path, name, data)))
    assert whole == encoded().splitlines(keepends=True)
    for cut in range(1, len(data) - 1, 7):
        got = list(log_lines(write(tmp_path, name, data[:-cut])))
        assert got == whole[: len(got)]


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    with pytest.raises(UnreadableLogError, match="compressed by snappy"):
        observations(write(tmp_path, "app-1.snappy", b"x"))
    with pytest.raises(UnreadableLogError, match="no event log in this directory"):
        observations(tmp_path)
    with pytest.raises(UnreadableLogError, match="not a block"):
        observations(write(tmp_path, "app-1.lz4", b"x" * 50))
    assert len(observations(write(tmp_path, "empty", b""))) == 0


def test_an_original_that_failed_while_its_copy_went_on_is_told_for_what_it_was(tmp_path: Path) -> None:
    why = "yarnspec: an original failed: boom"
    ended = {"Task End Reason": {"Reason": "TaskKilled", "Kill Reason": why}}
    end = task("End", 20, info={"Finish Time": 1200, "Failed": True}, more=ended)
    (observed,) = events(write(tmp_path, "app-1", encoded([task("Start", 20), end])))
    assert isinstance(observed, Observed)
    row = plain(observed.rows)[-1]
    assert (row["state"], row["failure"], row["text"]) == (State.FAILED, Failure.EXCEPTION, why)


def test_an_output_is_lost_when_the_log_says_so_not_when_it_was_written(tmp_path: Path) -> None:
    lost = {"Task Type": "ShuffleMapTask", "Task End Reason": {"Reason": "Resubmitted"}}
    lines = [
        task("Start", 20), task("Start", 21, 1),
        task("End", 20, info={"Finish Time": 1200}, more={"Task End Reason": {"Reason": "Success"}}),
        task("End", 21, 1, info={"Finish Time": 90_000}, more={"Task End Reason": {"Reason": "Success"}}),
        task("Start", 22, 2, info={"Launch Time": 80_000}),
        task("End", 20, info={"Finish Time": 1200}, more=lost),
        task("Start", 23, info={"Launch Time": 90_500}),
    ]  # fmt: skip
    rows = observations(write(tmp_path, "app-1", encoded(lines)))
    loss = plain(rows)[-2]
    assert (loss["state"], loss["time_ms"], loss["finish_ms"]) == (State.FAILED, 90_000, 1200)
    # To a detector that is shown it as it happened the output is there until then, and made again after it.
    told = [(part.task_id.tolist(), part.state.tolist()) for _, part in as_it_happened(rows, 100) if len(part)]
    assert told[-2:] == [([21, 20], [State.SUCCESS, State.FAILED]), ([23], [State.RUNNING])]


def inputs(directory: Path, *lines: dict[str, Any]) -> list[tuple[object, object]]:
    """By task id, what the starts in such a log say of their inputs."""
    rows = observations(write(directory, "app-1", encoded(list(lines))))
    starts = [row for row in plain(rows) if row["kind"] == RowKind.TASK_STARTED]
    return [(row["task_id"], row["input_bytes"]) for row in starts]


def ended(task_id: int, index: int, read: int, reason: str = "Success") -> dict[str, Any]:
    metrics = {"Input Metrics": {"Bytes Read": read}}
    return task("End", task_id, index, more={"Task End Reason": {"Reason": reason}, "Task Metrics": metrics})


def test_the_input_of_all_attempts_is_what_the_one_that_won_has_read(tmp_path: Path) -> None:
    submitted = {"Event": "SparkListenerStageSubmitted", "Stage Info": stage_info(7)}
    another_job = {"Event": "SparkListenerJobStart", "Job ID": 5, "Stage IDs": [], "Stage Infos": []}
    again = task("Start", 24, 1, more={"Stage Attempt ID": 1})
    lines = [
        submitted, task("Start", 20), task("Start", 21, 1), task("Start", 22, 2), another_job, task("Start", 23),
        ended(20, 0, 300, "ExceptionFailure"), ended(23, 0, 500), ended(21, 1, 0), again,
    ]  # fmt: skip
    assert inputs(tmp_path, *lines) == [(20, 500), (21, NONE), (22, NONE), (23, 500), (24, NONE)]


@pytest.mark.parametrize("kept", ["Use Disk", "Use Memory"])
def test_the_input_of_a_stage_that_reads_what_is_cached_is_not_known(tmp_path: Path, kept: str) -> None:
    rdds = [{"RDD ID": 1, "Name": "a", "Storage Level": {}}, {"RDD ID": 2, "Name": "b", "Storage Level": {kept: True}}]
    submitted = {"Event": "SparkListenerStageSubmitted", "Stage Info": stage_info(7, **{"RDD Info": rdds})}
    assert inputs(tmp_path, submitted, task("Start", 20), ended(20, 0, 300)) == [(20, NONE)]


def failed(directory: Path, reason: dict[str, Any]) -> Failure:
    """How the log of a task that ended so tells its failure."""
    end = task("End", 20, info={"Finish Time": 1200, "Failed": True}, more={"Task End Reason": reason})
    rows = observations(write(directory, "app-1", encoded([task("Start", 20), end])))
    return Failure(int(rows.failure[-1]))


PYTHON = """org.apache.spark.api.python.PythonException: [PYTHON_EXCEPTION] An exception was thrown from the Python \
worker: Traceback (most recent call last):
  File "worker.py", line 9, in main
    load()
{} SQLSTATE: 38000
\tat org.apache.spark.api.python.BasePythonRunner$ReaderIterator.handlePythonException(PythonRunner.scala:1)
"""
CRASHED = "org.apache.spark.SparkException: Python worker exited unexpectedly (crashed)"


@pytest.mark.parametrize(
    "trace",
    [
        "java.lang.OutOfMemoryError: Java heap space\n\tat a.B.c(B.java:1)",
        "org.apache.spark.memory.SparkOutOfMemoryError: [UNABLE_TO_ACQUIRE_MEMORY] Unable to acquire 9 bytes",
        "java.io.IOException: it failed\n\tat a.B.c(B.java)\nCaused by: java.lang.OutOfMemoryError\n\t... 3",
        PYTHON.format("MemoryError"),
        PYTHON.format("numpy._core._exceptions._ArrayMemoryError: Unable to allocate 74.5 GiB"),
        PYTHON.format("pyarrow.lib.ArrowMemoryError: malloc of size 99 failed"),
        PYTHON.format("OSError: [Errno 12] Cannot allocate memory"),
        PYTHON.format("subprocess.CalledProcessError: Command 'sort' died with <Signals.SIGKILL: 9>."),
        f"{CRASHED} - Fatal Python error: Cannot recover from MemoryErrors while normalizing exceptions.",
    ],
)
def test_want_of_memory_is_a_kind_of_its_own(tmp_path: Path, trace: str) -> None:
    assert failed(tmp_path, {"Reason": "ExceptionFailure", "Full Stack Trace": trace}) is Failure.OUT_OF_MEMORY


@pytest.mark.parametrize(
    "trace",
    [
        "java.lang.IllegalStateException: the record MemoryError is not known",
        "a.InMemoryError: no such table",
        PYTHON.format("ImportError: libmemory.so: cannot open shared object file"),
        CRASHED,
        f"{CRASHED} - Fatal Python error: Segmentation fault",
    ],
)
def test_what_only_speaks_of_memory_and_a_plain_crash_are_exceptions(tmp_path: Path, trace: str) -> None:
    assert failed(tmp_path, {"Reason": "ExceptionFailure", "Full Stack Trace": trace}) is Failure.EXCEPTION


def test_want_of_memory_is_found_where_no_stack_was_logged_and_where_a_copy_went_on(tmp_path: Path) -> None:
    bare = {"Reason": "ExceptionFailure", "Class Name": "java.lang.OutOfMemoryError", "Description": "Metaspace"}
    assert failed(tmp_path, bare) is Failure.OUT_OF_MEMORY
    uncounted = {"Reason": "TaskKilled", "Kill Reason": "yarnspec: an original lacked memory: a.B: c"}
    assert failed(tmp_path, uncounted) is Failure.OUT_OF_MEMORY


def test_the_driver_tells_failures_by_the_same_numbers_and_the_same_expression() -> None:
    source = next(Path(yarnspec.jvm.__file__).parent.glob("src/main/java/**/Failures.java")).read_text()
    kinds = re.search(r"enum FailureKind \{(.*?)\}", source, re.DOTALL)
    pattern = re.search(r"LACKS_MEMORY = Pattern.compile\((.*?)Pattern\.MULTILINE", source, re.DOTALL)
    assert kinds is not None and pattern is not None  # noqa: PT018 - both are of the same file
    assert re.findall(r"\w+", kinds[1]) == [one.name for one in Failure]
    literals = re.findall(r'"((?:[^"\\]|\\.)*)"', pattern[1])
    assert "".join(literals).replace("\\\\", "\\") == _LACKS_MEMORY.pattern
