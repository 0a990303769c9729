"""What tasks' times say for and against a host: the test itself, without stages and tables."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from yarnspec.core.slowness.likelihood import LEAST, MOST, Sample, Weighed, add_up, shifts, weigh


def weighed(
    took: list[list[int]],
    *,
    expected: int = 1000,
    hiccup: int = 100,
    running: int | None = None,
    unjudged: int | None = None,
    at_once: bool = False,
) -> Weighed:
    """Tasks of one host after the other, each list one host's; ``running``: a host whose tasks have not ended.

    ``unjudged``: one whose tasks could not be compared with others.
    """
    host = np.repeat(np.arange(len(took)), [len(each) for each in took])
    took_ms = np.array([each for those in took for each in those], dtype=float)
    begins = [0 if at_once else sum(those[:at]) for those in took for at in range(len(those))]
    hiccups = np.full(len(host), float(hiccup))
    expected_ms = np.full(len(host), float(expected))
    sample = Sample(
        host=host, hosts=len(took), x=np.log((took_ms + hiccup) / (expected + hiccup)),
        shift=shifts(expected_ms, hiccups), running=host == running, by_rate=np.zeros(len(host), dtype=bool),
        paired=np.zeros(len(host), dtype=bool), judged=host != unjudged,
        launch_ms=np.array(begins), end_ms=np.array(begins) + took_ms.astype(int),
    )  # fmt: skip
    return weigh(sample, np.arange(len(took)))


def test_tasks_that_take_longer_than_on_all_other_hosts_speak_for_a_slow_one() -> None:
    found = weighed([[1000] * 4, [1100] * 4, [900] * 4, [4000] * 4])
    assert found.worst.argmax() == 3
    assert found.worst[3] == pytest.approx(found.whole[3])
    assert found.whole[3] > 8
    assert (found.whole[:3] < -2).all()
    assert found.worst[:3] == pytest.approx(0)


def test_tasks_that_are_not_judged_still_tell_what_others_take() -> None:
    found = weighed([[1000] * 6, [8000] * 2], running=1, unjudged=0)
    assert found.told[:6] == pytest.approx(0)
    assert found.worst[1] > 3


def test_tasks_as_late_as_some_elsewhere_say_nothing() -> None:
    found = weighed([[1000, 4000, 1000], [4000, 1000, 1000], [1000, 1000, 4000], [4000, 4000]])
    assert (found.worst < 2).all()


def test_one_task_says_only_so_much() -> None:
    far, farther = weighed([[1000] * 4] * 3 + [[10_000]]), weighed([[1000] * 4] * 3 + [[1_000_000]], running=3)
    assert far.told[-1] <= MOST
    assert farther.told[-1] <= MOST


def test_a_running_task_says_the_more_the_longer_it_runs() -> None:
    told = [weighed([[1000] * 4] * 3 + [[so_far]], running=3).told[-1] for so_far in range(1200, 20_000, 200)]
    assert told == sorted(told)
    assert told[0] < 1
    assert told[-1] == pytest.approx(MOST)


def test_a_hiccup_is_no_slowness() -> None:
    """Three tenths of a second are much for a task of 0.05 s, and nothing for its host."""
    hiccup = weighed([[50] * 4] * 3 + [[350, 350]], expected=50, hiccup=200, at_once=True)
    ten_times = weighed([[500] * 4] * 3 + [[3500, 3500]], expected=500, hiccup=200)
    assert hiccup.whole[3] < 4
    assert ten_times.whole[3] > 5.5


def test_short_tasks_that_ran_at_once_count_as_one() -> None:
    at_once = weighed([[200] * 4] * 3 + [[700] * 4], expected=200, at_once=True)
    in_turn = weighed([[2000] * 4] * 3 + [[7000] * 4], expected=2000)
    assert at_once.whole[3] < in_turn.whole[3] / 2
    assert at_once.whole[3] < at_once.told[-4:].max() * 2


def test_the_worst_run_is_told_beside_the_whole() -> None:
    """Slow since a moment ago, after a good past; and recovered after a bad one."""
    usual = [[1000] * 10] * 3
    now_slow, recovered = weighed([*usual, [1000] * 7 + [5000] * 3]), weighed([*usual, [5000] * 3 + [1000] * 9])
    assert now_slow.worst[3] > 6
    assert now_slow.whole[3] < 3
    assert recovered.worst[3] == 0


def test_a_clock_that_was_set_back_makes_no_evidence_of_nothing() -> None:
    """Of a task that ended a second before its launch the time is none, and its weight that of a single one."""
    second = np.array([1_000])
    sums = add_up(np.array([0]), 1, np.array([0.5]), launch_ms=second, end_ms=second - 1_000)
    assert sums.whole == pytest.approx(0.5)


def test_hosts_that_nobody_can_be_compared_with_get_no_evidence() -> None:
    assert weighed([[1000, 5000, 20_000]]).whole == pytest.approx(0)


@given(st.lists(st.lists(st.integers(1, 10**7), min_size=1, max_size=20), min_size=1, max_size=6), st.integers(0, 6))
def test_whatever_the_times_the_evidence_keeps_to_its_bounds(took: list[list[int]], running: int) -> None:
    found = weighed(took, running=running)
    assert ((found.told >= LEAST) & (found.told <= MOST)).all()
    assert (found.worst >= 0).all()
    assert (found.worst >= found.whole - 1e-9).all()
    assert all(math.isfinite(each) for each in found.whole)
