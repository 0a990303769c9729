"""When a host was blocked, and what started there all the same."""

from __future__ import annotations

from typing import Any

from integration.soak.blocks import ON_ITS_WAY_MS, Blocked, Start, blocked, started_while_blocked
from integration.soak.checks import gaps

H = "127.0.0.3"


def record(type_name: str, time_ms: int, epoch: int = 1, **fields: Any) -> dict[str, Any]:
    return {"type": type_name, "time_ms": time_ms, "epoch": epoch, **fields}


def block(time_ms: int, version: int, until_ms: int | None = None, epoch: int = 1) -> list[dict[str, Any]]:
    return [
        record("BlockHost", time_ms, epoch, host=H, until_ms=until_ms),
        record("UpdatePlacement", time_ms, epoch, version=version, blocked_hosts=[H]),
        record("PlacementAcknowledged", time_ms + 100, epoch, version=version),
    ]


def test_a_block_counts_from_its_acknowledgement_to_its_end() -> None:
    records = [*block(1000, 4), record("UnblockHost", 5000, host=H)]
    assert blocked(records) == [Blocked(H, 1100, 5000)]


def test_a_block_that_was_never_acknowledged_does_not_count() -> None:
    older = record("PlacementAcknowledged", 1100, version=3)
    assert blocked([*block(1000, 4)[:2], older]) == []


def test_a_block_outlives_the_attempt_and_ends_in_time() -> None:
    again = block(9000, 1, epoch=2)
    assert blocked([*block(1000, 4), *again]) == [Blocked(H, 1100, None)]
    assert blocked([*block(1000, 4, until_ms=3000), record("DriverStarted", 9000, 2)]) == [Blocked(H, 1100, 3000)]
    assert blocked(block(1000, 4, until_ms=3000)) == [Blocked(H, 1100, 3000)]


def test_only_starts_within_a_block_count() -> None:
    during = 1100 + ON_ITS_WAY_MS + 1
    starts = [Start("early", H, 1000), Start("late", H, during), Start("after", H, 9000), Start("there", "h", during)]
    found = started_while_blocked(starts, [Blocked(H, 1100, 9000)])
    assert [text.split()[0] for text in found] == ["late"]


def test_missing_records_are_found() -> None:
    whole = [{"epoch": 1, "seq": 1}, {"epoch": 1, "seq": 2}, {"epoch": 2, "seq": 1}]
    assert list(gaps(whole, 2)) == []
    assert list(gaps(whole[1:], 2)) == ["epoch 1 has record 2 where 1 should be"]
    assert len(list(gaps(whole, 1))) == 1
