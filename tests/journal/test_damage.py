"""Cuts and flipped bits: nothing is invented, and damage is told with its place."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import google_crc32c
import pytest

from tests.journal import damage
from tests.journal.memory import MemoryFiles
from tests.journal.world import began, directory_in, finished, fold, registered, story, write
from yarnspec.core.journal.carriedtexts import lost_of
from yarnspec.core.journal.journalrecords import UnknownRecord
from yarnspec.journal.directory import JournalDirectory
from yarnspec.journal.errors import JournalDamaged
from yarnspec.journal.records import HEAD, MAGIC, MAX_PAYLOAD_BYTES, encode, type_name

SEED = 20_261_121
PLACES = 500


def test_a_journal_cut_anywhere_opens_and_gives_the_records_that_are_whole() -> None:
    for end in [0, 1, 7, 8, 9, *damage.drawn(SEED, PLACES, damage.sizes()[0]), damage.sizes()[0]]:
        damage.check_cut(end)


def test_a_sealed_journal_cut_anywhere_is_damaged_there() -> None:
    for end in [0, 1, 8, *damage.drawn(SEED + 1, PLACES, damage.sizes()[0])]:
        damage.check_cut_of_sealed(end)


@pytest.mark.parametrize("sealed", [True, False])
def test_a_flipped_bit_is_damage_where_it_is(sealed: bool) -> None:
    for bit in [0, 63, 64, *damage.drawn(SEED + 2, PLACES, 8 * damage.sizes()[0])]:
        damage.check_flip(bit, sealed=sealed)


def test_every_flipped_bit_of_a_seal_is_noticed() -> None:
    for bit in range(8 * damage.sizes()[1]):
        damage.check_flip_of_seal(bit)


def test_the_seal_of_another_epoch_is_none() -> None:
    contents, _ = damage.whole()
    files = MemoryFiles()
    files.make_directories("/journal/epoch-2")
    files.contents["/journal/epoch-2/log"] = b""
    files.contents["/journal/epoch-2/sealed"] = contents[damage.SEAL]
    with pytest.raises(JournalDamaged, match="no seal of epoch 2"):
        list(JournalDirectory(files, "/journal").entries(2))


def test_a_damaged_seal_is_no_reason_not_to_look_at_the_others(tmp_path: Path) -> None:
    """Of an application that has ended: who reads makes all of it readable first."""
    directory = directory_in(tmp_path)
    for epoch in (1, 2):
        journal, _ = directory.begin(began(epoch))
        assert journal.close(10)
    seal = tmp_path / "journal" / "epoch-1" / "sealed"
    seal.write_bytes(seal.read_bytes()[:-1])
    directory.close_for_dead_writers()
    assert [report.damage is None for report in directory.verify()] == [False, True]


def test_what_is_taken_over_from_a_cut_journal_is_what_its_records_add_up_to() -> None:
    contents, entries = damage.whole()
    for end in damage.drawn(SEED + 3, 20, damage.sizes()[0]):
        directory = damage.opened(contents[damage.LOG][:end], None)
        journal, past = directory.begin(began(2))
        whole = [entry for entry in entries if entry.offset + HEAD.size + len(entry.payload) <= end]
        assert past.problem == ""
        assert list(past.recorded.live()) == fold([began(1), *story(damage.COUNT)][: len(whole)])
        assert journal.close(10)
        assert list(directory.replay().recorded.live()) == [*_with(past.recorded.live())]


def _with(live: object) -> list[object]:
    records = list(live)  # type: ignore[call-overload]
    return [records[0], began(2), *records[1:]] if records else [began(2)]


def test_after_damage_nothing_is_taken_over_and_the_place_is_told(tmp_path: Path) -> None:
    directory = write(tmp_path, story(100), close=False)
    log = tmp_path / "journal" / "epoch-1" / "log"
    data = bytearray(log.read_bytes())
    data[len(data) // 2] ^= 1
    log.write_bytes(data)
    with pytest.raises(JournalDamaged) as caught:
        list(directory.entries(1))
    journal, past = directory.begin(began(2))
    assert past.problem == caught.value.message
    assert f"{log}, byte {caught.value.offset}: the " in past.problem
    assert caught.value.offset <= len(data) // 2
    assert not list(past.recorded.live())
    journal.append_durable(registered(5)).result(10)
    assert journal.close(10)
    # Every reader meets the damage, as the seal covers all of it; but nobody needs that epoch any more.
    assert [report.damage is not None for report in directory.verify()] == [True, False]
    later = directory.replay()
    assert later.problem == ""
    assert list(later.recorded.shuffles) == [5]
    # But what was written to files is not known by then either.
    assert lost_of(later.recorded) == past.problem
    last, again = directory.begin(began(3))
    assert (again.problem, lost_of(again.recorded)) == ("", past.problem)
    assert last.close(10)


def test_damage_before_the_tail_is_no_torn_tail_however_long_the_record_says_it_is(tmp_path: Path) -> None:
    directory = write(tmp_path, [registered(0), *(finished(0, index) for index in range(20))], close=False)
    log = tmp_path / "journal" / "epoch-1" / "log"
    data = bytearray(log.read_bytes())
    third = [entry.offset for entry in directory.entries(1)][3]
    data[third : third + 4] = (60_000_000).to_bytes(4, "big")
    log.write_bytes(data)
    with pytest.raises(JournalDamaged) as caught:
        list(directory.entries(1))
    assert caught.value.offset == third


def _head(size: int, *, epoch: int = 1, seq: int = 1) -> bytes:
    return _checked(HEAD.pack(size, epoch, seq, 1, 0, 0)[:-4])


def _checked(head: bytes) -> bytes:
    checksum: int = google_crc32c.value(head)
    return head + checksum.to_bytes(4, "big")


@pytest.mark.parametrize("size", [MAX_PAYLOAD_BYTES, MAX_PAYLOAD_BYTES + 1, 2**32 - 1])
def test_a_length_alone_costs_no_memory(size: int) -> None:
    directory = damage.opened(MAGIC + _head(size) + bytes(1000), None)
    tracemalloc.start()
    try:
        found, error = damage.read(directory)
        assert tracemalloc.get_traced_memory()[1] < 1024 * 1024
    finally:
        tracemalloc.stop()
    assert not found
    assert (error is None) == (size <= MAX_PAYLOAD_BYTES)


def test_a_record_in_the_wrong_place_is_damage() -> None:
    first, second = (encode(1, seq, 1_000, b"\x80") for seq in (1, 2))
    other = encode(2, 2, 1_000, b"\x80")
    for wrong in (first + first, second, first + second + first, first + other):
        assert damage.read(damage.opened(MAGIC + wrong, None))[1] is not None
    assert damage.read(damage.opened(MAGIC + first + second, None))[1] is None


@pytest.mark.parametrize(
    ("kind", "payload"),
    [
        (32, b"\x80"),
        (36, b"\x82\xa4kind\xa1\xff\xa7payload\xc4\x00"),
        (36, b"\x81\xa4deep" + b"\x91" * 100_000 + b"\xc0"),
    ],
    ids=["no-fields", "no-utf-8", "too-deep"],
)
def test_a_payload_that_is_none_is_damage_in_spite_of_its_checksum(kind: int, payload: bytes) -> None:
    directory = damage.opened(MAGIC + encode(1, 1, kind, payload), None)
    assert type_name(kind) in directory.replay().problem
    assert directory.verify()[0].damage is not None


def test_a_type_that_is_not_known_is_kept_and_told() -> None:
    directory = damage.opened(MAGIC + encode(1, 1, 77, b"\xc3"), None)
    assert directory.replay().recorded.unknown == [UnknownRecord(type=77, payload=b"\xc3")]
    assert directory.verify()[0].types == {77: 1}


def test_an_epoch_without_a_log_has_no_records(tmp_path: Path) -> None:
    (tmp_path / "journal" / "epoch-1").mkdir(parents=True)
    directory = directory_in(tmp_path)
    journal, past = directory.begin(began(2))
    assert past.problem == ""
    assert journal.close(10)
    assert [(report.epoch, report.sealed_by, report.records) for report in directory.verify()] == [(1, 2, 0), (2, 2, 4)]
