"""What records add up to: the shortest journal for a state gives that state again."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from yarnspec.core.journal.journalrecords import (
    ApplicationRegistered,
    Carried,
    EpochBegan,
    EpochSealed,
    InputsRead,
    JobCommitted,
    JournalRecord,
    MapFinished,
    ShuffleDropped,
    ShuffleFacts,
    ShuffleNotReusable,
    ShuffleRegistered,
    SnapshotBegan,
    SnapshotEnded,
    UnknownRecord,
    WriteBegan,
    WriteCommitting,
    WriteForgotten,
)
from yarnspec.core.journal.journalstate import Recorded

FEW = st.integers(0, 2)
TEXTS = st.sampled_from(["", "a", "b"])
SHUFFLES = st.builds(
    ShuffleRegistered, shuffle=FEW, signature=TEXTS, maps=FEW, reduces=FEW, determinism=st.just("determinate")
)
OUTPUTS = st.builds(
    MapFinished, shuffle=FEW, index=FEW, map_id=FEW, stage=FEW, executor_id=TEXTS, host=TEXTS, epoch=FEW,
    size_bytes=FEW, blob=st.binary(max_size=2),
)  # fmt: skip
OTHERS = st.one_of(
    st.builds(EpochBegan, epoch=FEW, attempt=FEW, host=TEXTS, time_ms=FEW),
    st.builds(
        ApplicationRegistered, application_id=TEXTS, program_digest=TEXTS, arguments_digest=TEXTS, spark_version=TEXTS,
        python_version=TEXTS, yarnspec_version=TEXTS,
    ),
    st.builds(EpochSealed, sealed=FEW, by=FEW, size_bytes=FEW),
    st.builds(ShuffleNotReusable, shuffle=FEW, why=st.just("why")),
    st.builds(WriteBegan, ordinal=FEW, plan=TEXTS),
    st.builds(WriteCommitting, ordinal=FEW, files=FEW, digest=TEXTS, made=st.dictionaries(TEXTS, FEW, max_size=2)),
    st.builds(InputsRead, epoch=FEW, ordinal=FEW, places=st.just(("f:/x",))),
    st.builds(WriteForgotten, ordinal=FEW, moved=st.booleans()),
    st.builds(JobCommitted, ordinal=FEW, plan=TEXTS),
    st.builds(ShuffleFacts, shuffle=FEW, blob=st.binary(max_size=2)),
    st.builds(ShuffleDropped, shuffle=FEW),
    st.builds(Carried, kind=TEXTS, payload=st.binary(max_size=2)),
    st.builds(UnknownRecord, type=st.just(99), payload=st.binary(max_size=2)),
)  # fmt: skip
RECORDS = st.lists(st.one_of(SHUFFLES, OUTPUTS, OUTPUTS, OTHERS), max_size=40)


def of(records: list[JournalRecord]) -> Recorded:
    recorded = Recorded()
    for record in records:
        recorded.apply(record)
    return recorded


def live(records: list[JournalRecord]) -> list[JournalRecord]:
    return list(of(records).live())


@given(RECORDS, RECORDS)
def test_a_snapshot_stands_for_what_came_before_it(before: list[JournalRecord], after: list[JournalRecord]) -> None:
    short = live(before)
    assert live(short) == short
    assert live(short + after) == live(before + after)
    snapshot = [SnapshotBegan(through_epoch=1), *short, SnapshotEnded(records=len(short))]
    assert live(before + snapshot + after) == live(before + after)
    assert live([*snapshot, *after]) == live(before + after)


@given(RECORDS, RECORDS)
def test_a_snapshot_that_is_not_complete_does_nothing(before: list[JournalRecord], inside: list[JournalRecord]) -> None:
    recorded = of([*before, SnapshotBegan(through_epoch=1), *inside])
    recorded.end_of_epoch()
    assert list(recorded.live()) == live(before)
    for record in inside:
        recorded.apply(record)
    assert list(recorded.live()) == live(before + inside)
    wrong = [*before, SnapshotBegan(through_epoch=1), *inside, SnapshotEnded(records=len(inside) + 1)]
    assert live(wrong) == live(before)


@given(RECORDS)
def test_nothing_is_known_of_what_was_not_recorded(records: list[JournalRecord]) -> None:
    recorded = of(records)
    for shuffle, known in recorded.shuffles.items():
        assert known.registered in records
        for index, output in known.outputs.items():
            assert output in records
            assert (output.shuffle, output.index) == (shuffle, index)
        assert not (known.not_reusable and (known.outputs or known.facts is not None))


def registered(signature: str = "s") -> ShuffleRegistered:
    return ShuffleRegistered(shuffle=1, signature=signature, maps=2, reduces=2, determinism="determinate")


def finished(map_id: int, index: int = 0) -> MapFinished:
    return MapFinished(
        shuffle=1, index=index, map_id=map_id, stage=1, executor_id="1", host="h", epoch=1, size_bytes=1, blob=b""
    )


def outputs(*records: JournalRecord) -> list[int]:
    known = of(list(records)).shuffles.get(1)
    return [] if known is None else [output.map_id for output in known.outputs.values()]


def test_the_newest_output_of_an_index_holds() -> None:
    assert outputs(registered(), finished(5), finished(9)) == [9]


def test_the_same_shuffle_again_keeps_its_outputs_and_another_one_does_not() -> None:
    assert outputs(registered(), finished(5), registered()) == [5]
    assert outputs(registered(), finished(5), registered("other")) == []
    assert outputs(registered(), finished(5), ShuffleDropped(shuffle=1), registered()) == []


def test_what_is_not_reusable_stays_so() -> None:
    why = ShuffleNotReusable(shuffle=1, why="indeterminate")
    assert outputs(registered(), finished(5), why, finished(9), registered()) == []
    assert of([registered(), why, registered()]).shuffles[1].not_reusable == "indeterminate"
