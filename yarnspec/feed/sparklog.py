"""A Spark event log as the observations that the feed of the same run brought, so that decisions can be replayed.

What the log does not hold is not known here either: Spark logs no counters of running tasks, and not how a stage writes
its output. Those columns are ``NONE``, and ``COMMITS`` and ``WRITES`` are in no stage's flags. The log does not hold
the sizes of inputs either. In their place ``input_bytes`` of a start is the number of bytes that the winning attempt
had read in the end. As live, this number is not known where a stage reads cached data, and where a task read no file
and no shuffle. The log does not say when an output was lost: ``Resubmitted`` has the times of the task. The output
counts as lost at the newest time that the log has told of by then. A stage's resource profile is left out: a replay has
no executors.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from yarnspec.core.messages.events import Event, JobEnded, JobStarted, Observed
from yarnspec.core.messages.observations import (
    NONE,
    Failure,
    Observations,
    ObservationsBuilder,
    RowKind,
    StageFlag,
    State,
)
from yarnspec.feed.columns import join
from yarnspec.feed.logfiles import log_lines

# How Failures.java makes a failure into one that Spark does not count.
_UNCOUNTED = {
    "yarnspec: a copy failed: ": Failure.COPY_FAILED,
    "yarnspec: an original failed: ": Failure.EXCEPTION,
    "yarnspec: an original lacked memory: ": Failure.OUT_OF_MEMORY,
}
# Words in an exception that tell of want of memory; Failures.java has the same expression, and says why.
_LACKS_MEMORY = re.compile(
    r"^(?:Caused by: )?(?:[\w.$]+\.)?(?:\w*OutOf\w*Memory(?:Error|Exception)|(?:_?Array|Arrow)?MemoryError)\b"
    r"|Python worker exited unexpectedly.*(?:MemoryError|[Oo]ut ?[Oo]f ?[Mm]emory|[Kk]illed)"
    r"|Cannot allocate memory|\bSIGKILL\b",
    re.MULTILINE | re.ASCII,
)
_TEXT_CHARS_MAX = 4_000
# How Spark names RDDs and operators that send their records through Python workers.
_PYTHON = re.compile(r"Python|Pandas|InArrow|InBatch|^PairwiseRDD$")
_FAILURES = {
    "Success": Failure.NONE,
    "ExceptionFailure": Failure.EXCEPTION,
    "FetchFailed": Failure.FETCH_FAILED,
    "ExecutorLostFailure": Failure.EXECUTOR_LOST,
    "ExecutorShutdownFailure": Failure.EXECUTOR_LOST,
    "Resubmitted": Failure.EXECUTOR_LOST,
    "TaskCommitDenied": Failure.COMMIT_DENIED,
    "TaskKilled": Failure.KILLED,
}


class _Logged(msgspec.Struct, rename=lambda name: name.replace("_", " ").title().replace(" Id", " ID")):
    """Fields of Spark's JSON: ``stage_id`` is ``Stage ID``."""


class _StorageLevel(_Logged):
    use_disk: bool = False
    use_memory: bool = False


class _Rdd(_Logged):
    name: str = ""
    scope: str = ""
    barrier: bool = False
    storage_level: _StorageLevel = msgspec.field(default_factory=_StorageLevel)
    determinism: str = msgspec.field(default="", name="DeterministicLevel")


class _Stage(_Logged):
    stage_id: int
    stage_attempt_id: int = 0
    stage_name: str = ""
    parent_ids: list[int] = msgspec.field(default_factory=list, name="Parent IDs")
    number_of_tasks: int = msgspec.field(default=0, name="Number of Tasks")
    rdd_info: list[_Rdd] = msgspec.field(default_factory=list, name="RDD Info")
    submission_time: int = NONE
    completion_time: int = NONE
    failure_reason: str = ""


class _Task(_Logged):
    task_id: int
    index: int
    attempt: int
    launch_time: int
    executor_id: str
    host: str
    partition: int = msgspec.field(default=NONE, name="Partition ID")
    speculative: bool = False
    finish_time: int = 0
    failed: bool = False
    killed: bool = False


class _Reason(_Logged):
    reason: str
    class_name: str | None = None
    full_stack_trace: str | None = None
    description: str | None = None
    message: str | None = None
    kill_reason: str | None = None
    loss_reason: str | None = None

    def text(self) -> str:
        texts = (self.full_stack_trace, self.description, self.message, self.kill_reason, self.loss_reason)
        return next((text for text in texts if text), self.reason)[:_TEXT_CHARS_MAX]

    def failure(self) -> Failure:
        """The kind, as Failures.java tells it to the feed."""
        kind = _FAILURES.get(self.reason, Failure.OTHER)
        if kind is Failure.KILLED:
            why = self.kill_reason or ""
            return next((each for text, each in _UNCOUNTED.items() if why.startswith(text)), kind)
        said = self.full_stack_trace or f"{self.class_name}: {self.description}"
        return Failure.OUT_OF_MEMORY if kind is Failure.EXCEPTION and _LACKS_MEMORY.search(said) else kind


class _Read(_Logged):
    bytes_read: int = 0
    records_read: int = 0


class _ShuffleRead(_Logged):
    remote_bytes_read: int = 0
    local_bytes_read: int = 0
    total_records_read: int = 0


class _Written(_Logged):
    bytes_written: int = 0
    records_written: int = 0


class _ShuffleWritten(_Logged):
    shuffle_bytes_written: int = 0
    shuffle_records_written: int = 0


class _Metrics(_Logged):
    executor_run_time: int = 0
    gc_time: int = msgspec.field(default=0, name="JVM GC Time")
    disk_bytes_spilled: int = 0
    input: _Read = msgspec.field(default_factory=_Read, name="Input Metrics")
    output: _Written = msgspec.field(default_factory=_Written, name="Output Metrics")
    shuffle_read: _ShuffleRead = msgspec.field(default_factory=_ShuffleRead, name="Shuffle Read Metrics")
    shuffle_write: _ShuffleWritten = msgspec.field(default_factory=_ShuffleWritten, name="Shuffle Write Metrics")

    def columns(self) -> dict[str, int]:
        return {
            "records_read": self.input.records_read + self.shuffle_read.total_records_read,
            "bytes_read": self.input.bytes_read
            + self.shuffle_read.remote_bytes_read
            + self.shuffle_read.local_bytes_read,
            "records_written": self.output.records_written + self.shuffle_write.shuffle_records_written,
            "bytes_written": self.output.bytes_written + self.shuffle_write.shuffle_bytes_written,
            "run_ms": self.executor_run_time,
            "gc_ms": self.gc_time,
            "spill_bytes": self.disk_bytes_spilled,
        }


class _Exception(_Logged):
    message: str = ""


class _Result(_Logged):
    result: str
    exception: _Exception = msgspec.field(default_factory=_Exception)


class _Line(_Logged):
    """Any line of the log; each kind has some of these."""

    event: str
    stage_id: int = NONE
    stage_attempt_id: int = 0
    stage_info: _Stage | None = None
    task_type: str = ""
    task_info: _Task | None = None
    task_end_reason: _Reason | None = None
    task_metrics: _Metrics | None = None
    job_id: int = NONE
    stage_ids: list[int] = msgspec.field(default_factory=list, name="Stage IDs")
    stage_infos: list[_Stage] = []
    job_result: _Result | None = None
    app_name: str = ""
    app_id: str = ""
    user: str = ""
    timestamp: int = NONE


_DECODER = msgspec.json.Decoder(_Line)
_KINDS = tuple(
    f'{{"Event":"SparkListener{kind}"'.encode()
    for kind in (
        "StageSubmitted", "StageCompleted", "TaskStart", "TaskEnd", "JobStart", "JobEnd", "ApplicationStart",
        "ApplicationEnd",
    )
)  # fmt: skip


class LoggedRun(msgspec.Struct, frozen=True, kw_only=True):
    """The contents of a log: everything of stages and tasks, in its order, as one batch, and whose application it was.

    ``started_ms`` and ``ended_ms`` are ``NONE`` where the log does not say.
    """

    rows: Observations
    application_id: str = ""
    name: str = ""
    user: str = ""
    started_ms: int = NONE
    ended_ms: int = NONE


def logged_run(path: Path) -> LoggedRun:
    """The whole log at once; raises as ``events``."""
    replay = _Replay()
    rows = [event.rows for event in replay.of(log_lines(path)) if isinstance(event, Observed)]
    begin, end = replay.application_began, replay.application_ended
    return LoggedRun(
        rows=join(rows) if rows else ObservationsBuilder().observations(),
        application_id=begin.app_id if begin is not None else "",
        name=begin.app_name if begin is not None else "",
        user=begin.user if begin is not None else "",
        started_ms=begin.timestamp if begin is not None else NONE,
        ended_ms=end.timestamp if end is not None else NONE,
    )


def observations(path: Path) -> Observations:
    """Everything that the log tells of stages and tasks, in its order, as one batch."""
    return logged_run(path).rows


def events(path: Path) -> list[Event]:
    """The events that the core gets of the same run: ``Observed``, ``JobStarted`` and ``JobEnded``, in the log's order.

    Raises:
        UnreadableLogError: the log has a form that cannot be read.
        msgspec.DecodeError: a line is not what Spark writes.
    """
    return _Replay().of(log_lines(path))


class _Replay:
    def __init__(self) -> None:
        self.application_began: _Line | None = None
        self.application_ended: _Line | None = None
        self._found: list[Event | ObservationsBuilder] = []
        self._rows = ObservationsBuilder()
        self._newest_ms = NONE
        self._started: dict[tuple[int, int], tuple[ObservationsBuilder, int, int]] = {}
        self._cached: set[tuple[int, int]] = set()
        # Places in rows that are all kept until the end, for the stages' flags.
        self._launched: dict[tuple[int, int, int], list[tuple[ObservationsBuilder, int]]] = {}

    def of(self, lines: Iterator[bytes]) -> list[Event]:
        for line in lines:
            if line.startswith(_KINDS):
                self._take(_DECODER.decode(line))
        self._close_rows()
        # Only now: a stage's flags are known when its first task has ended, and a task's input when it has.
        return [
            Observed(rows=one.observations()) if isinstance(one, ObservationsBuilder) else one for one in self._found
        ]

    def _take(self, line: _Line) -> None:
        kind = line.event.removeprefix("SparkListener")
        if kind == "JobStart":
            parents = tuple((one.stage_id, tuple(one.parent_ids)) for one in line.stage_infos if one.parent_ids)
            self._between(JobStarted(job=line.job_id, stages=tuple(line.stage_ids), parents=parents))
        elif kind == "JobEnd":
            ended = line.job_result or _Result(result="")
            failed = ended.result != "JobSucceeded"
            self._between(JobEnded(job=line.job_id, failure=(ended.exception.message or "failed") if failed else ""))
        elif kind == "ApplicationStart":
            self.application_began = line
        elif kind == "ApplicationEnd":
            self.application_ended = line
        elif line.stage_info is not None:
            self._stage(kind, line.stage_info)
        elif line.task_info is not None:
            self._task(kind, line, line.task_info)

    def _between(self, event: Event) -> None:
        self._close_rows()
        self._found.append(event)

    def _close_rows(self) -> None:
        if len(self._rows):
            self._found.append(self._rows)
            self._rows = ObservationsBuilder()

    def _stage(self, kind: str, stage: _Stage) -> None:
        key = (stage.stage_id, stage.stage_attempt_id)
        self._newest_ms = max(self._newest_ms, stage.submission_time, stage.completion_time)
        if kind == "StageSubmitted":
            flags = _flags(stage.rdd_info)
            row = self._rows.add(
                kind=RowKind.STAGE_STARTED, time_ms=stage.submission_time, stage=key[0], stage_attempt=key[1],
                state=State.RUNNING, tasks=stage.number_of_tasks, flags=flags, text=stage.stage_name,
            )  # fmt: skip
            self._started[key] = (self._rows, row, flags)
            if any(rdd.storage_level.use_disk or rdd.storage_level.use_memory for rdd in stage.rdd_info):
                self._cached.add(key)
        else:
            self._started.pop(key, None)
            self._rows.add(
                kind=RowKind.STAGE_ENDED, time_ms=stage.completion_time, stage=key[0], stage_attempt=key[1],
                state=State.FAILED if stage.failure_reason else State.SUCCESS, text=stage.failure_reason,
            )  # fmt: skip

    def _task(self, kind: str, line: _Line, task: _Task) -> None:
        numbers = {
            "stage": line.stage_id, "stage_attempt": line.stage_attempt_id, "index": task.index,
            "partition": task.partition, "attempt": task.attempt, "task_id": task.task_id,
            "speculative": int(task.speculative), "launch_ms": task.launch_time,
        }  # fmt: skip
        key = (line.stage_id, line.stage_attempt_id)
        self._newest_ms = max(self._newest_ms, task.launch_time, task.finish_time)
        if kind == "TaskStart":
            row = self._rows.add(
                kind=RowKind.TASK_STARTED, time_ms=task.launch_time, host=task.host, executor=task.executor_id,
                state=State.RUNNING, text="", **numbers,
            )  # fmt: skip
            self._launched.setdefault((*key, task.index), []).append((self._rows, row))
            return
        reason = line.task_end_reason or _Reason(reason="")
        failure = reason.failure()
        metrics = line.task_metrics.columns() if line.task_metrics is not None else {}
        state = State.FAILED if task.failed else State.KILLED if task.killed else State.SUCCESS
        lost_later = reason.reason == "Resubmitted"
        self._rows.add(
            kind=RowKind.TASK_ENDED, time_ms=self._newest_ms if lost_later else task.finish_time, host=task.host,
            executor=task.executor_id, state=State.FAILED if lost_later else state, failure=failure,
            finish_ms=task.finish_time, text="" if failure == Failure.NONE else reason.text(),
            **numbers, **metrics,
        )  # fmt: skip
        if line.task_type == "ShuffleMapTask":
            self._is_map(key)
        if reason.reason == "Success":
            self._has_read((*key, task.index), metrics.get("bytes_read", 0))

    def _has_read(self, key: tuple[int, int, int], size: int) -> None:
        launched = self._launched.pop(key, [])
        if size > 0 and key[:2] not in self._cached:
            for rows, row in launched:
                rows.put(row, input_bytes=size)

    def _is_map(self, key: tuple[int, int]) -> None:
        if key in self._started:
            rows, row, flags = self._started.pop(key)
            rows.put(row, flags=flags | StageFlag.MAP)


def _flags(rdds: list[_Rdd]) -> int:
    flags = StageFlag(0)
    for rdd in rdds:
        flags |= StageFlag.BARRIER if rdd.barrier else StageFlag(0)
        flags |= StageFlag.INDETERMINATE if rdd.determinism == "INDETERMINATE" else StageFlag(0)
        flags |= StageFlag.PYTHON if _PYTHON.search(rdd.name) or _PYTHON.search(rdd.scope) else StageFlag(0)
    return int(flags)
