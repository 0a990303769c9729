"""Observations of stages and tasks as lines of the event log, without an object for each.

A row that tells of a stage's start or end, or of the end of a task's attempt, is a record: ``StageStarted``,
``StageFinished``, ``TaskFinished``. The attempts that a batch leaves running are in records of many,
``AttemptsStarted``: a driver's death must not hide them. The other rows are no records. Of 100,000 task ends each
costs a few microseconds here, where making an event, a record and a dictionary would cost ten times as much; a test
compares the bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec
import numpy as np

from yarnspec.core.messages.events import AttemptsStarted, RunningAttempt
from yarnspec.core.messages.observations import Observations, RowKind, State
from yarnspec.observe.forms.records import SCHEMA, encode, record_of

ATTEMPTS_MAX = 1_000
_RECORDED = (RowKind.STAGE_STARTED, RowKind.TASK_ENDED, RowKind.STAGE_ENDED)
_STATES = {int(state): f'"state":"{state.name}"' for state in State}
_UNKNOWN_STATE = '"state":"UNKNOWN"'
_COLUMNS = (
    "kind", "stage", "stage_attempt", "index", "attempt", "task_id", "executor", "host", "state", "launch_ms",
    "finish_ms", "tasks", "speculative",
)  # fmt: skip


def _recorded(rows: Observations) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The places of the rows that are records."""
    return np.flatnonzero(np.isin(rows.kind, _RECORDED))


def lines(rows: Observations, *, seq: int, time_ms: int, epoch: int) -> Iterator[tuple[bool, bytes]]:
    """For each record whether it is about attempts, and its line; the first gets the number ``seq``."""
    places = _recorded(rows)
    # One more at the end: the code for "not known", -1, finds it.
    hosts = [*map(_text, rows.hosts), '""']
    executors = [*map(_text, rows.executors), '""']
    head = f'"time_ms":{time_ms},"epoch":{epoch},"kind":"event","type":'
    columns = (getattr(rows, name)[places].tolist() for name in _COLUMNS)
    failures = rows.texts
    each_row = enumerate(zip(places.tolist(), *columns, strict=True), start=seq)
    for number, (row, kind, stage, stage_attempt, index, attempt, task_id, executor, host, state, launch_ms,
                 finish_ms, tasks, speculative) in each_row:  # fmt: skip
        text = failures.get(row)
        if kind == RowKind.TASK_ENDED:
            line = (
                f'{{"schema":{SCHEMA},"seq":{number},{head}"TaskFinished","reason":"","stage":{stage},'
                f'"stage_attempt":{stage_attempt},"index":{index},"attempt":{attempt},"task_id":{task_id},'
                f'"executor_id":{executors[executor]},"host":{hosts[host]},{_STATES.get(state, _UNKNOWN_STATE)},'
                f'"launch_ms":{launch_ms},"finish_ms":{finish_ms},"failure":{_text(text) if text else _NOTHING},'
                f'"speculative":{"true" if speculative == 1 else "false"}}}\n'
            )
            yield True, line.encode()
        elif kind == RowKind.STAGE_STARTED:
            line = (
                f'{{"schema":{SCHEMA},"seq":{number},{head}"StageStarted","reason":"","stage":{stage},'
                f'"stage_attempt":{stage_attempt},"name":{_text(text or "")},"tasks":{tasks}}}\n'
            )
            yield False, line.encode()
        else:
            failure = "" if state == State.SUCCESS else text or _state_name(state)
            line = (
                f'{{"schema":{SCHEMA},"seq":{number},{head}"StageFinished","reason":"","stage":{stage},'
                f'"stage_attempt":{stage_attempt},"failure":{_text(failure)}}}\n'
            )
            yield False, line.encode()
    for number, begun in enumerate(attempts_begun(rows), start=seq + len(places)):
        yield True, encode(record_of(begun, seq=number, time_ms=time_ms, epoch=epoch))


def attempts_begun(rows: Observations) -> Iterator[AttemptsStarted]:
    """The attempts that began by these rows and did not end by them, so many in a record."""
    begun = np.flatnonzero(rows.kind == RowKind.TASK_STARTED)
    begun = begun[~np.isin(rows.task_id[begun], rows.task_id[rows.kind == RowKind.TASK_ENDED])]
    for first in range(0, len(begun), ATTEMPTS_MAX):
        yield AttemptsStarted(attempts=_running(rows, begun[first : first + ATTEMPTS_MAX]))


def _running(rows: Observations, places: np.ndarray[tuple[int], np.dtype[np.intp]]) -> tuple[RunningAttempt, ...]:
    names = ("stage", "stage_attempt", "index", "attempt", "task_id", "executor", "host", "launch_ms", "speculative")
    hosts, executors = (*rows.hosts, ""), (*rows.executors, "")
    return tuple(
        RunningAttempt(
            stage=stage, stage_attempt=stage_attempt, index=index, attempt=attempt, task_id=task_id,
            executor_id=executors[executor], host=hosts[host], launch_ms=launch_ms, speculative=speculative == 1,
        )
        for stage, stage_attempt, index, attempt, task_id, executor, host, launch_ms, speculative in zip(
            *(getattr(rows, name)[places].tolist() for name in names), strict=True
        )
    )  # fmt: skip


def _state_name(state: int) -> str:
    return State(state).name.lower() if state in _STATES else "unknown"


_NOTHING = '""'
_ENCODE: Callable[[str], bytes] = msgspec.json.Encoder().encode


def _text(text: str) -> str:
    return _ENCODE(text).decode()
