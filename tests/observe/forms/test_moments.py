"""Times and spans as people read them."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from yarnspec.observe.forms.moments import at_time, span, until, zone


@pytest.mark.parametrize(
    ("duration_ms", "words"),
    [(-5, "0 s"), (59_999, "59 s"), (90_000, "1 min 30 s"), (3_660_000, "1 h 1 min"), (90_000_000, "1 d 1 h")],
)
def test_span(duration_ms: int, words: str) -> None:
    assert span(duration_ms) == words


def test_until() -> None:
    assert until(None, 5) == "until it is unblocked"
    assert until(5, 5) == "over"
    assert until(10_000, 0) == "for 10 s more"


@pytest.fixture
def in_zone(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[None]:
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("in_zone", "said"),
    [
        ("UTC0", "2025-06-15 15:06:40 UTC"),
        ("CET-1", "2025-06-15 16:06:40 CET (UTC+01:00)"),
        ("<-0330>3:30", "2025-06-15 11:36:40 -0330 (UTC-03:30)"),
    ],
    indirect=["in_zone"],
)
@pytest.mark.usefixtures("in_zone")
def test_zone(said: str) -> None:
    time_ms = 1_750_000_000_000
    assert f"{at_time(time_ms)} {zone(time_ms)}" == said
