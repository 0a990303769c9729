"""The event log's record: what is written is what was logged, and what cannot be read says so."""

from __future__ import annotations

import contextlib
import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.observe.messages import KINDS, messages
from yarnspec.core.messages.commands import BlockHost, Command, RefuseBlock, StartDriver, Summarize
from yarnspec.core.messages.events import (
    AttemptStarted,
    BlockRequested,
    DriverStarted,
    Event,
    HostReport,
    HostsReported,
)
from yarnspec.core.messages.figures import StageMetrics, StageSpeculation
from yarnspec.observe.forms.records import UnreadableRecordError, decode, decode_lines, encode, record_of


def written(message: Event | Command, epoch: int = 1) -> dict[str, object]:
    line = encode(record_of(message, seq=7, time_ms=1000, epoch=epoch))
    assert line.endswith(b"\n")
    found = json.loads(line)
    assert isinstance(found, dict)
    return found


@given(messages)
def test_every_message_comes_back(message: Event | Command) -> None:
    record = decode(encode(record_of(message, seq=7, time_ms=1000, epoch=2)))
    assert record.message() == message
    assert (record.seq, record.time_ms, record.epoch, record.type) == (7, 1000, 2, type(message).__name__)


def test_all_kinds_are_there() -> None:
    assert {"BlockHost", "ContainerLost", "TaskFinished"} <= {kind.__name__ for kind in KINDS}


def test_a_stage_s_metrics_have_the_names_that_status_has() -> None:
    figures = StageSpeculation(
        stage=3, stage_attempt=0, name="s", tasks=8, state="SUCCESS", slow_tasks=1, effective_copies=2,
        min_finished_for_speculation=3, finished_executions=8, speculative_executions=4, speculative_threshold_ms=5.5,
        running_ms_by_index={7: 900}, fastest_copies=2, running_copies=0, gained_ms=10, wasted_ms=0,
    )  # fmt: skip
    (stage,) = msgspec.convert(written(Summarize(stages=(figures,), reason="r"))["stages"], list[dict[str, object]])
    shared = {key: stage[key] for key in stage.keys() & msgspec.to_builtins(StageMetrics()).keys()}
    assert shared == {
        "numSlowTasks": 1,
        "numSlowExecutionVertices": 1,
        "numEffectiveCopies": 2,
        "numEffectiveSpeculativeExecutions": 2,
        "minFinishedForSpeculationThresholdMetrics": 3,
        "finishedExecutionCountMetrics": 8,
        "speculativeExecutionCountMetrics": 4,
        "speculativeThresholdOfTime": 5.5,
        "executionIndex2RunningTimespan": {"7": 900},
        "speculativeExecutionFastestFinishedCountMetrics": 2,
    }


def test_the_envelope_comes_first() -> None:
    keys = list(written(BlockHost(reason="slow", host="h", until_ms=None, by="me")))
    assert keys[:10] == ["schema", "seq", "time_ms", "epoch", "kind", "type", "reason", "host", "until_ms", "by"]


def test_a_reason_is_always_there_and_only_once() -> None:
    assert written(BlockRequested(host="h", reason="slow", by="me"))["reason"] == "slow"
    assert written(DriverStarted(pid=1))["reason"] == ""


def test_a_field_that_is_called_like_the_envelope_keeps_out_of_its_way() -> None:
    refused = written(RefuseBlock(reason="all hosts", host="h", kind="unblock"))
    assert (refused["kind"], refused["kind_"]) == ("command", "unblock")
    assert written(StartDriver(reason="lost", epoch=2), epoch=1)["epoch_"] == 2


def test_a_field_with_the_envelopes_value_is_not_written_twice() -> None:
    started = AttemptStarted(
        application_id="a", attempt=1, epoch=1, container_id="c", host="h", placement_mode="blacklist"
    )
    assert "epoch_" not in written(started, epoch=1)


def test_a_type_of_a_later_version_is_read_without_its_class() -> None:
    line = b'{"schema":1,"seq":1,"time_ms":2,"epoch":1,"kind":"command","type":"MoveTask","reason":"slow","task_id":5}'
    record = decode(line)
    assert record.message() is None
    assert (record.reason, record.fields) == ("slow", {"task_id": 5})


def test_a_field_of_a_later_version_is_passed_over() -> None:
    line = encode(record_of(DriverStarted(pid=5), seq=1, time_ms=1, epoch=1)).replace(b'"pid":5', b'"pid":5,"cpu":1')
    assert decode(line).message() == DriverStarted(pid=5)


def test_nested_values_come_back_as_their_types() -> None:
    message = HostsReported(hosts=(HostReport(host="127.0.0.2"),))
    assert decode(encode(record_of(message, seq=1, time_ms=1, epoch=1))).message() == message


@pytest.mark.parametrize(
    "line",
    [b"", b"{", b"[]", b"5", b"{}", b'{"schema":2}', b'{"schema":1}', b"\xff", b'{"schema":1,"kind":[]}', b"[" * 9999],
)
def test_what_is_no_record_is_an_error(line: bytes) -> None:
    with pytest.raises(UnreadableRecordError):
        decode(line)


@given(st.binary(max_size=60))
def test_no_line_gives_another_error(line: bytes) -> None:
    with contextlib.suppress(UnreadableRecordError):
        decode(line)


@given(st.lists(messages, min_size=1, max_size=4), st.data())
def test_a_torn_file_gives_the_whole_records(logged: list[Event | Command], data: st.DataObject) -> None:
    records = [record_of(message, seq=seq, time_ms=1, epoch=1) for seq, message in enumerate(logged, start=1)]
    whole = b"".join(encode(record) for record in records)
    cut = data.draw(st.integers(0, len(whole)))
    found = list(decode_lines(whole[:cut]))
    assert len(found) in (whole[:cut].count(b"\n"), whole[:cut].count(b"\n") + 1)
    assert [one.message() for one in found] == [one.message() for one in records[: len(found)]]


def test_a_damaged_line_in_the_middle_is_an_error() -> None:
    good = encode(record_of(DriverStarted(pid=1), seq=1, time_ms=1, epoch=1))
    with pytest.raises(UnreadableRecordError):
        list(decode_lines(good + b'{"schema":1,\n' + good))


def test_a_record_with_wrong_fields_says_which() -> None:
    line = encode(record_of(DriverStarted(pid=5), seq=3, time_ms=1, epoch=1)).replace(b'"pid":5', b'"pid":"x"')
    with pytest.raises(UnreadableRecordError, match=r"DriverStarted number 3.*pid"):
        decode(line).message()


def test_fields_are_plain_json() -> None:
    record = record_of(HostsReported(hosts=(HostReport(host="h"),)), seq=1, time_ms=1, epoch=1)
    assert msgspec.json.decode(encode(record))["hosts"][0]["host"] == "h"
