"""Who may write to a path."""

from __future__ import annotations

import contextlib
import dataclasses
import threading
from pathlib import Path

import pytest

from tests.sink.world import around
from yarnspec.sink.claim import Claim, Owner, PathClaimed
from yarnspec.sink.files import LocalSinkFiles

FIRST = Owner("r1", "application_1_0001", 1, "process 1", "ann", "worker7", 4242, 1_700_000_000_000)
NEXT_EPOCH = dataclasses.replace(FIRST, run="r2", epoch=2, process="process 2")
OTHER = dataclasses.replace(FIRST, run="r3", application="application_1_0002", process="process 3", user="bob")


def claim_of(tmp_path: Path, owner: Owner) -> Claim:
    return Claim(LocalSinkFiles(), f"{tmp_path}/.out.yarnspec-claim", f"{tmp_path}/.out.yarnspec-sink", owner)


def test_the_second_is_refused_and_told_by_whom_and_since_when(tmp_path: Path) -> None:
    claim_of(tmp_path, FIRST).take()
    before = around(tmp_path / "out")
    with pytest.raises(PathClaimed) as refused:
        claim_of(tmp_path, OTHER).take()
    for said in ("application_1_0001", "ann", "4242 on worker7", "2023-11-14T22:13:20+00:00", "take_over=True"):
        assert said in str(refused.value)
    assert claim_of(tmp_path, FIRST).is_ours()
    assert around(tmp_path / "out") in (before, [".out.yarnspec-claim"])


def test_released_it_can_be_taken(tmp_path: Path) -> None:
    first = claim_of(tmp_path, FIRST)
    first.take()
    first.release()
    claim_of(tmp_path, OTHER).take()
    assert not first.is_ours()


@pytest.mark.parametrize(
    ("next_one", "active", "may"),
    [
        (NEXT_EPOCH, (), True),
        (dataclasses.replace(NEXT_EPOCH, epoch=1), (), False),  # another driver of the same epoch may well live
        (dataclasses.replace(NEXT_EPOCH, epoch=0), (), False),
        (dataclasses.replace(FIRST, run="r4"), (), True),  # ended by an error in this very process
        (dataclasses.replace(FIRST, run="r4"), ("r1",), False),  # goes on in another thread
        (OTHER, (), False),
    ],
)
def test_who_is_gone_for_certain(tmp_path: Path, next_one: Owner, active: tuple[str, ...], may: bool) -> None:
    first = claim_of(tmp_path, FIRST)
    first.take()
    if may:
        claim_of(tmp_path, next_one).take(active)
        first.release()
        assert claim_of(tmp_path, next_one).is_ours()
    else:
        with pytest.raises(PathClaimed):
            claim_of(tmp_path, next_one).take(active)


def test_epochs_that_nobody_counts_do_not_succeed_each_other() -> None:
    uncounted = dataclasses.replace(FIRST, epoch=0)
    assert not NEXT_EPOCH.succeeds(uncounted, ())


def test_only_the_user_may_end_somebody_elses_claim_or_one_that_cannot_be_read(tmp_path: Path) -> None:
    for content in (
        FIRST.encode(),
        b"",
        b"[]",
        b'{"schema": 2}',
        FIRST.encode().replace(b'"schema": 1', b'"schema": 2'),
    ):
        (tmp_path / ".out.yarnspec-claim").write_bytes(content)
        with pytest.raises(PathClaimed):
            claim_of(tmp_path, OTHER).take()
        claim_of(tmp_path, OTHER).take(take_over=True)
        assert claim_of(tmp_path, OTHER).is_ours()


def test_of_many_at_once_one_gets_it(tmp_path: Path) -> None:
    got: list[str] = []
    refused: list[str] = []
    together = threading.Barrier(8)

    def contend(number: int) -> None:
        owner = dataclasses.replace(OTHER, run=f"many{number}", application=f"a{number}", process=f"p{number}")
        together.wait(20)
        try:
            claim_of(tmp_path, owner).take()
            got.append(owner.run)
        except PathClaimed:
            refused.append(owner.run)

    threads = [threading.Thread(target=contend, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert (len(got), len(refused)) == (1, 7)
    owner = Owner.decode((tmp_path / ".out.yarnspec-claim").read_bytes())
    assert owner is not None
    assert [owner.run] == got


def test_a_directory_is_made_however_often_others_make_and_remove_it(tmp_path: Path) -> None:
    failed: list[OSError] = []

    def contend() -> None:
        for _ in range(300):
            try:
                LocalSinkFiles().make_directories(str(tmp_path / "room"))
            except OSError as error:
                failed.append(error)
            with contextlib.suppress(OSError):
                (tmp_path / "room").rmdir()

    threads = [threading.Thread(target=contend) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert failed == []
