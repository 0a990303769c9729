"""Columns become the same records, and the same status, as events one by one."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from tests.feed.strategies import observations
from yarnspec.core.messages.events import AttemptsStarted, Event, StageFinished, StageStarted, TaskFinished
from yarnspec.core.messages.observations import Observations, ObservationsBuilder, RowKind, State
from yarnspec.observe.forms.observation_lines import ATTEMPTS_MAX, attempts_begun, lines
from yarnspec.observe.forms.records import decode_lines, encode, record_of
from yarnspec.observe.log.eventlog import EventLog
from yarnspec.observe.status.status_fold import StatusFold

APP = "application_1_0001"


def as_events(rows: Observations) -> list[Event]:
    """What the rows tell, one by one."""
    found: list[Event] = []
    for row, kind in enumerate(rows.kind.tolist()):
        stage, stage_attempt = int(rows.stage[row]), int(rows.stage_attempt[row])
        state = next((each.name for each in State if each == rows.state[row]), "UNKNOWN")
        text = rows.texts.get(row, "")
        if kind == RowKind.STAGE_STARTED:
            found.append(StageStarted(stage=stage, stage_attempt=stage_attempt, name=text, tasks=int(rows.tasks[row])))
        elif kind == RowKind.STAGE_ENDED:
            failure = "" if state == "SUCCESS" else text or state.lower()
            found.append(StageFinished(stage=stage, stage_attempt=stage_attempt, failure=failure))
        elif kind == RowKind.TASK_ENDED:
            numbers = {
                name: int(getattr(rows, name)[row])
                for name in ("index", "attempt", "task_id", "launch_ms", "finish_ms")
            }
            found.append(
                TaskFinished(
                    stage=stage,
                    stage_attempt=stage_attempt,
                    executor_id=rows.executors[rows.executor[row]] if rows.executor[row] >= 0 else "",
                    host=rows.hosts[rows.host[row]] if rows.host[row] >= 0 else "",
                    state=state,
                    failure=text,
                    speculative=bool(rows.speculative[row] == 1),
                    **numbers,
                )
            )
    return [*found, *attempts_begun(rows)]


@given(st.lists(observations(), max_size=4))
def test_the_same_lines_and_the_same_status(batches: list[Observations]) -> None:
    live, replayed = StatusFold(APP), StatusFold(APP)
    seq = 1
    for rows in batches:
        told = as_events(rows)
        records = [record_of(one, seq=seq + n, time_ms=99, epoch=2) for n, one in enumerate(told)]
        made = list(lines(rows, seq=seq, time_ms=99, epoch=2))
        assert [line for _, line in made] == [encode(record) for record in records]
        about_attempts = [isinstance(one, TaskFinished | AttemptsStarted) for one in told]
        assert [is_of_attempts for is_of_attempts, _ in made] == about_attempts
        seq += len(told)
        live.observe(rows)
        for record in records:
            replayed.apply(record)
    assert live.document().stages == replayed.document().stages
    tasks = live.document().tasks
    assert msgspec.structs.replace(tasks, launched=None) == replayed.document().tasks
    launched = sum(int((rows.kind == RowKind.TASK_STARTED).sum()) for rows in batches)
    assert tasks.launched == (launched if batches else None)


def test_a_job_in_one_piece() -> None:
    rows = ObservationsBuilder()
    rows.add(kind=RowKind.STAGE_STARTED, stage=3, stage_attempt=0, tasks=2, text="collect")
    rows.add(kind=RowKind.TASK_STARTED, stage=3, stage_attempt=0, index=0)
    for index, state in (
        (0, State.SUCCESS),
        (0, State.SUCCESS),
        (1, State.FAILED),
        (1, State.KILLED),
        (1, State.SUCCESS),
    ):
        rows.add(kind=RowKind.TASK_ENDED, stage=3, stage_attempt=0, index=index, state=state, host="h", executor="1")
    rows.add(kind=RowKind.STAGE_ENDED, stage=3, stage_attempt=0, state=State.SUCCESS)
    fold = StatusFold(APP)
    fold.observe(rows.observations())
    (stage,) = fold.document().stages
    assert (stage.name, stage.tasks, stage.finished, stage.failed, stage.state) == ("collect", 2, 2, 1, "SUCCEEDED")


def test_the_log_numbers_rows_and_events_without_gaps() -> None:
    rows = ObservationsBuilder()
    rows.add(kind=RowKind.TASK_STARTED, stage=0, index=0)
    rows.add(kind=RowKind.TASK_ENDED, stage=0, index=0, state=State.SUCCESS)
    rows.add(kind=RowKind.STAGE_ENDED, stage=0, state=State.SUCCESS)
    log = EventLog(1)
    log.append_rows(rows.observations(), 5)
    log.append(StageStarted(stage=1, stage_attempt=0, name="n", tasks=1), 6)
    log.append_rows(rows.observations(), 7)
    chunk = log.after(0)
    assert [line.seq for line in chunk.lines] == [1, 2, 3, 4, 5]
    records = list(decode_lines(b"".join(line.data for line in chunk.lines)))
    assert [record.seq for record in records] == [1, 2, 3, 4, 5]
    assert [record.type for record in records] == [
        "TaskFinished", "StageFinished", "StageStarted", "TaskFinished", "StageFinished"
    ]  # fmt: skip


def test_attempts_that_a_batch_leaves_running_are_one_record() -> None:
    rows = ObservationsBuilder()
    for task_id in (4, 5, 6):
        rows.add(
            RowKind.TASK_STARTED, stage=2, stage_attempt=0, index=task_id - 4, attempt=0, task_id=task_id,
            host=f"w{task_id}", executor="1", launch_ms=70, speculative=int(task_id == 6),
        )  # fmt: skip
    rows.add(RowKind.TASK_ENDED, stage=2, stage_attempt=0, index=1, attempt=0, task_id=5, state=State.SUCCESS)
    ended, begun = decode_lines(b"".join(line for _, line in lines(rows.observations(), seq=7, time_ms=99, epoch=2)))
    assert (ended.type, begun.seq) == ("TaskFinished", 8)
    message = begun.message()
    assert isinstance(message, AttemptsStarted)
    told = [(one.index, one.task_id, one.host, one.executor_id, one.speculative) for one in message.attempts]
    assert told == [(0, 4, "w4", "1", False), (2, 6, "w6", "1", True)]


def test_very_many_attempts_are_several_records() -> None:
    rows = ObservationsBuilder()
    for task_id in range(2 * ATTEMPTS_MAX + 1):
        rows.add(RowKind.TASK_STARTED, stage=2, stage_attempt=0, index=task_id, attempt=0, task_id=task_id, launch_ms=7)
    log = EventLog(1)
    log.append_rows(rows.observations(), 5)
    found = list(decode_lines(b"".join(line.data for line in log.after(0).lines)))
    assert [(one.seq, len(one.fields["attempts"])) for one in found] == [(1, 1_000), (2, 1_000), (3, 1)]


def test_stages_of_a_second_spark_context_begin_with_the_same_numbers() -> None:
    rows = ObservationsBuilder()
    for name in ("first", "second"):
        rows.add(kind=RowKind.STAGE_STARTED, stage=0, stage_attempt=0, tasks=1, text=name)
        rows.add(kind=RowKind.TASK_ENDED, stage=0, stage_attempt=0, index=0, state=State.SUCCESS)
        rows.add(kind=RowKind.STAGE_ENDED, stage=0, stage_attempt=0, state=State.SUCCESS)
    fold = StatusFold(APP)
    fold.observe(rows.observations())
    assert [(stage.name, stage.finished) for stage in fold.document().stages] == [("second", 1)]
    assert fold.document().tasks.finished == 2
