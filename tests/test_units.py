"""Durations and sizes, as people write them."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yarnspec.units import format_duration, format_size, parse_duration_ms, parse_size_bytes


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [("5 min", 300_000), ("10m", 600_000), ("30s", 30_000), ("250 ms", 250), ("7 d", 604_800_000), ("1 H", 3_600_000)],
)
def test_durations_are_read(text: str, milliseconds: int) -> None:
    assert parse_duration_ms(text) == milliseconds


@pytest.mark.parametrize(
    ("text", "size"), [("1g", 1024**3), ("512 MB", 512 * 1024**2), ("64KiB", 65536), ("7b", 7), ("2 t", 2 * 1024**4)]
)
def test_sizes_are_read(text: str, size: int) -> None:
    assert parse_size_bytes(text) == size


@pytest.mark.parametrize("text", ["", "5", "-5s", "5 parsecs", "1.5h", "s", "5 s s", "\u0665s", "9" * 30 + "d"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="duration"):
        parse_duration_ms(text)


@pytest.mark.parametrize("text", ["", "5", "-5m", "5 parsecs", "1.5g", "g", "5m m", "9" * 30 + "p"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="size"):
        parse_size_bytes(text)


def test_a_default_unit_stands_in_for_none() -> None:
    assert parse_size_bytes("512", default_unit="m") == 512 * 1024**2


@given(st.integers(min_value=0, max_value=2**50))
def test_what_is_written_is_read_back(quantity: int) -> None:
    assert parse_duration_ms(format_duration(quantity)) == quantity
    assert parse_size_bytes(format_size(quantity)) == quantity


@given(st.text(max_size=12))
def test_any_text_is_read_or_refused(text: str) -> None:
    for parse in (parse_duration_ms, parse_size_bytes):
        with contextlib.suppress(ValueError):
            assert parse(text) >= 0
