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

from yarnspec.core.messages.events import AttemptsStarted, RunningAttempt, StageFinished, StageStarted, TaskFinished
from yarnspec.core.messages.observations import Observations, RowKind, State
from yarnspec.observe.forms.records import SCHEMA, encode, record_of

ATTEMPTS_MAX = 1_000
_RECORDED = (RowKind.STAGE_STARTED, RowKind.TASK_ENDED, RowKind.STAGE_ENDED)
_STATES = {int(state): f'"{state.name}"' for state in State}
_UNKNOWN_STATE = '"UNKNOWN"'
_TASK_FIELDS = TaskFinished.__struct_fields__
_TASK_LINE = (
    f'{{"schema":{SCHEMA},"seq":%s,"time_ms":%s,"epoch":%s,"kind":"event","type":"{TaskFinished.__name__}","reason":"",'
    + ",".join(f'"{name}":%s' for name in _TASK_FIELDS)
    + "}\n"
)


def _recorded(rows: Observations) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The places of the rows that are records."""
    return np.flatnonzero(np.isin(rows.kind, _RECORDED))


def lines(rows: Observations, *, seq: int, time_ms: int, epoch: int) -> Iterator[tuple[bool, bytes]]:
    """For each record whether it is about attempts, and its line; the first gets the number ``seq``."""
    places = _recorded(rows)
    tasks = _tasks_finished(rows, places[rows.kind[places] == RowKind.TASK_ENDED])
    each_row = zip(places.tolist(), rows.kind[places].tolist(), strict=True)
    for number, (row, kind) in enumerate(each_row, start=seq):
        if kind == RowKind.TASK_ENDED:
            yield True, (_TASK_LINE % (number, time_ms, epoch, *next(tasks))).encode()
        else:
            yield False, encode(record_of(_stage_event(rows, row), seq=number, time_ms=time_ms, epoch=epoch))
    for number, begun in enumerate(attempts_begun(rows), start=seq + len(places)):
        yield True, encode(record_of(begun, seq=number, time_ms=time_ms, epoch=epoch))


def _tasks_finished(
    rows: Observations, places: np.ndarray[tuple[int], np.dtype[np.intp]]
) -> Iterator[tuple[object, ...]]:
    """The fields of ``TaskFinished`` as JSON, row by row: a column of the same name, or what is made of one here."""
    # One more at the end: the code for "not known", -1, finds it.
    hosts = [*map(_text, rows.hosts), _NOTHING]
    executors = [*map(_text, rows.executors), _NOTHING]
    texts = rows.texts
    made: dict[str, list[str]] = {
        "executor_id": [executors[code] for code in rows.executor[places].tolist()],
        "host": [hosts[code] for code in rows.host[places].tolist()],
        "state": [_STATES.get(state, _UNKNOWN_STATE) for state in rows.state[places].tolist()],
        "failure": [_text(texts[row]) if row in texts else _NOTHING for row in places.tolist()],
        "speculative": ["true" if is_copy == 1 else "false" for is_copy in rows.speculative[places].tolist()],
    }
    return zip(
        *(made[name] if name in made else getattr(rows, name)[places].tolist() for name in _TASK_FIELDS), strict=True
    )


def _stage_event(rows: Observations, row: int) -> StageStarted | StageFinished:
    stage, stage_attempt, text = int(rows.stage[row]), int(rows.stage_attempt[row]), rows.texts.get(row, "")
    if rows.kind[row] == RowKind.STAGE_STARTED:
        return StageStarted(stage=stage, stage_attempt=stage_attempt, name=text, tasks=int(rows.tasks[row]))
    state = int(rows.state[row])
    failure = "" if state == State.SUCCESS else text or _state_name(state)
    return StageFinished(stage=stage, stage_attempt=stage_attempt, failure=failure)


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
