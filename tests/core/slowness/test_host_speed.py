"""What is learnt about hosts: from how many tasks, against what doubt, and for how long."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.taskworld import T0, TaskWorld
from yarnspec.core.detectors.registry import DetectorSettings
from yarnspec.core.messages.observations import Failure, State

HOSTS = ("h1", "h2", "h3", "h4")


def world(**changes: Any) -> TaskWorld:
    those = TaskWorld(DetectorSettings(cold_start_ms=0, **changes))
    those.warm(*HOSTS)
    for host in HOSTS:
        those.speeds.forget(host, T0 - 5000)
    return those


def stage(
    those: TaskWorld,
    took_ms: dict[str, list[int]],
    *,
    number: int = 0,
    at: int = 0,
    inputs: dict[str, int] | None = None,
) -> int:
    """A whole stage: on each host a task for each of these times; when it was over."""
    tasks = [(host, took) for host, each in took_ms.items() for took in each]
    those.stage(len(tasks), stage=number, at=at)
    for index, (host, took) in enumerate(tasks):
        size = (inputs or {}).get(host, -1)
        those.end(those.launch(index, host, at, stage=number, input_bytes=size), at + took)
    over = at + max(took for _, took in tasks)
    those.end_stage(over, stage=number)
    those.observe(over)
    return over


def with_slow(slow: list[int], normal: int = 1000) -> dict[str, list[int]]:
    return {"h1": [normal] * 3, "h2": [normal] * 3, "h3": [normal] * 3, "h4": slow}


def test_what_running_stages_have_shown_is_forgotten_in_all_of_them() -> None:
    those = world()
    for number in range(4):
        those.stage(8, stage=number)
        for index in range(8):
            task = those.launch(index, HOSTS[index % 4], 0, stage=number)
            if index != 3:
                those.end(task, 1000 if index < 7 else 4000)
    for passed in range(4):
        assert those.slow_hosts(4000 + passed) == ["h4"]
    those.speeds.forget("h4", T0 + 4010)
    assert those.speeds.slow() == []
    assert those.slow_hosts(4011) == []


def test_nothing_is_known_of_a_host_at_first() -> None:
    those = TaskWorld()
    assert those.speeds.slow() == []
    assert those.speeds.factor("h1") == 1.0
    assert those.speeds.probability("h1") == pytest.approx(0.05)
    assert those.speeds.healthy("h1", 0) is None
    assert "no task that ended on h1" in those.speeds.explain("h1")


@pytest.mark.parametrize("took", [2_000, 10_000, 500_000])
def test_one_late_task_is_no_proof_however_late(took: int) -> None:
    those = world()
    over = stage(those, with_slow([took]))
    assert those.slow_hosts(over) == []
    assert those.speeds.probability("h4") < 0.85


def test_two_late_tasks_are_when_nobody_else_is_late() -> None:
    those = world()
    over = stage(those, with_slow([3000, 3000]))
    (found,) = those.found_slow(over)
    assert (found.host, found.late, found.observed, found.latest_ms) == ("h4", 2, 2, T0 + 3000)
    assert 2 < found.factor < 3
    assert found.probability > 0.85
    assert "2 of the latest 2" in found.reason
    assert found.numbers["factor"] == found.factor
    assert those.speeds.explain("h4") == found.reason


def test_one_late_task_in_each_of_several_stages_is_proof() -> None:
    those = world()
    at = 0
    for number in range(5):
        at = stage(those, with_slow([3000]), number=number, at=at)
    assert those.slow_hosts(at) == ["h4"]


def test_of_two_hosts_the_slow_one_is_found_although_nobody_can_be_compared_with_it_the_other_way_round() -> None:
    those = world()
    for number in range(2):
        at = 10_000 * number
        those.stage(12, stage=number, at=at)
        late = [those.launch(index, "h1", at, stage=number) for index in range(2)]
        for index in range(2, 12):
            those.end(those.launch(index, "h2", at + index // 4 * 650, stage=number), at + index // 4 * 650 + 620)
        those.observe(at + 5000)
        found = [verdict.host for verdict in those.found_slow(at + 5000)]
        for task in late:
            those.end(task, at + 6000)
        those.end_stage(at + 6000, stage=number)
        those.observe(at + 6000)
    assert found == ["h1"]


def test_late_tasks_are_no_proof_where_they_are_common() -> None:
    those = world()
    over = stage(those, {"h1": [1000, 5000], "h2": [1000, 1000, 5000], "h3": [5000, 1000], "h4": [5000, 5000]})
    assert those.slow_hosts(over) == []


def test_tasks_that_take_long_for_their_input_s_sake_are_no_proof() -> None:
    those = world()
    inputs = {"h1": 1000, "h2": 1000, "h3": 1000, "h4": 10_000}
    over = stage(those, with_slow([10_000] * 3), inputs=inputs)
    assert those.slow_hosts(over) == []
    assert those.speeds.factor("h4") < 1.1


def first_and_later(those: TaskWorld, last_host: tuple[int, ...], later_ms: int = 100) -> None:
    """A stage whose first task on each host compiles its code; the last host comes late, and has just one turn."""
    those.stage(24 + len(last_host))
    index = 0
    for host in HOSTS[:3]:
        for at, took in ((0, 400), (0, 420), *((500 + 150 * n, later_ms + 10 * n) for n in range(6))):
            those.end(those.launch(index, host, at), at + took)
            index += 1
    for took in last_host:
        those.end(those.launch(index, HOSTS[3], 0), took)
        index += 1
    those.observe(2000)


def test_a_host_s_first_tasks_of_a_stage_are_compared_with_the_first_ones_of_others() -> None:
    those = world()
    first_and_later(those, (450, 480))
    assert those.slow_hosts(2000) == []
    assert those.speeds.factor("h4") == pytest.approx(1.0, abs=0.15)
    slow = world()
    first_and_later(slow, (2100, 2400))
    slow.slow_hosts(2500)
    assert slow.speeds.factor("h4") > 3


def test_a_host_that_is_only_a_little_slower_is_not_slow() -> None:
    those = world()
    at = 0
    for number in range(4):
        at = stage(those, with_slow([1600] * 4), number=number, at=at)
    assert those.slow_hosts(at) == []
    assert those.speeds.factor("h4") == pytest.approx(1.6, abs=0.1)


def test_tasks_that_still_run_count_for_as_long_as_they_have_run() -> None:
    those = world()
    those.stage(8)
    for index in range(8):
        task = those.launch(index, HOSTS[index % 4])
        if task.host != "h4":
            those.end(task, 1000)
    assert those.slow_hosts(1400) == []
    assert those.slow_hosts(2500) == ["h4"]
    early = those.speeds.factor("h4")
    assert those.slow_hosts(9000) == ["h4"]
    assert those.speeds.factor("h4") > early


def test_attempts_that_lost_to_their_copies_count_although_they_never_ended() -> None:
    those = world()
    those.stage(8)
    originals = []
    for index in range(8):
        task = those.launch(index, HOSTS[index % 4])
        if task.host == "h4":
            originals.append(task)
        else:
            those.end(task, 2000)
    for task in originals:
        those.end(those.launch(task.index, "h1", 3000, copy=True), 5000)
    those.end(originals[0], 5010, State.KILLED, Failure.KILLED)
    those.end_stage(5020)  # the other one is still being ended
    those.observe(5020)
    assert those.slow_hosts(6000) == ["h4"]


def test_an_original_tells_of_its_host_by_its_copy_where_tasks_differ_too_much_to_tell_who_is_late() -> None:
    those = world()
    sizes = [400, 900, 600, 6000, 9000, 7000]
    those.stage(9)
    for index, took in enumerate(sizes):
        those.end(those.launch(index, HOSTS[index % 3]), took)
    originals = [those.launch(index, "h4", 6000) for index in range(6, 9)]
    for task in originals:
        those.end(those.launch(task.index, "h1", 10_000, copy=True), 10_600)
        those.end(task, 10_610, State.KILLED, Failure.KILLED)
    those.end_stage(10_620)
    those.observe(10_620)
    assert those.slow_hosts(11_000) == ["h4"]


def test_a_late_task_whose_copy_was_as_late_has_more_to_do() -> None:
    those = world()
    those.stage(8)
    for index in range(8):
        task = those.launch(index, HOSTS[index % 4])
        if task.host != "h4":
            those.end(task, 2000)
            continue
        those.end(those.launch(index, "h1", 3000, copy=True), 13_000)
        those.end(task, 13_010, State.KILLED, Failure.KILLED)
    assert those.slow_hosts(13_100) == []


def test_a_host_is_not_compared_with_itself() -> None:
    """Half of all tasks ran on the slow host: a median over all would lie between."""
    those = world()
    over = stage(those, {"h1": [1000] * 6, "h4": [3000] * 6})
    (found,) = those.found_slow(over)
    assert found.host == "h4"
    assert found.factor == pytest.approx(3, abs=0.3)


def test_what_was_seen_fades() -> None:
    those = world(host_memory_ms=60_000)
    over = stage(those, with_slow([4000] * 3))
    assert those.slow_hosts(over + 10_000) == ["h4"]
    sure = those.speeds.probability("h4")
    assert those.slow_hosts(over + 300_000) == []
    assert 0.05 < those.speeds.probability("h4") < sure


def test_many_good_stages_do_not_shield_a_host_that_becomes_slow() -> None:
    those = world()
    at = 0
    for number in range(20):
        at = stage(those, with_slow([1000] * 3), number=number, at=at)
    at = stage(those, with_slow([5000] * 3), number=30, at=at)
    assert those.slow_hosts(at) == ["h4"]


def test_a_host_that_recovers_is_no_longer_slow() -> None:
    those = world()
    at = stage(those, with_slow([5000, 5000]))
    assert those.slow_hosts(at) == ["h4"]
    for number in range(1, 4):
        at = stage(those, with_slow([1000] * 4), number=number, at=at)
    assert those.slow_hosts(at) == []


def test_four_normal_tasks_since_then_prove_a_blocked_host_healthy() -> None:
    those = world()
    over = stage(those, with_slow([1000] * 3))
    assert those.speeds.healthy("h4", T0) is None
    over = stage(those, with_slow([1000]), number=1, at=over)
    proof = those.speeds.healthy("h4", T0)
    assert proof is not None
    assert (proof.observed, proof.late) == (4, 0)
    assert "4 of the 4 tasks" in proof.reason
    assert those.speeds.healthy("h4", T0 + 1001) is None  # three of them ended before


def test_a_late_task_spoils_the_proof_of_health() -> None:
    those = world()
    over = stage(those, with_slow([1000] * 4))
    stage(those, with_slow([5000]), number=1, at=over)
    assert those.speeds.healthy("h4", T0) is None


def test_tasks_that_were_late_until_a_host_recovered_do_not_hide_that_it_did() -> None:
    """Long tasks, launched before the short ones that were late, end after them and no later than on other hosts."""
    those = world()
    those.stage(13, stage=1)
    long = [those.launch(index, HOSTS[index % 4], stage=1) for index in range(12)] + [those.launch(12, "h4", stage=1)]
    over = stage(those, with_slow([3000] * 3), number=2)
    assert those.slow_hosts(over) == ["h4"]
    assert those.speeds.healthy("h4", T0 + 2000) is None
    for task in long:
        those.end(task, 12_000)
    those.end_stage(12_000, stage=1)
    those.observe(12_000)
    proof = those.speeds.healthy("h4", T0 + 2000)
    assert proof is not None
    assert (proof.observed, proof.late) == (4, 0)


def test_tasks_that_are_over_in_a_moment_speak_neither_for_nor_against() -> None:
    those = world()
    over = stage(those, with_slow([60] * 8, normal=20))
    assert those.speeds.healthy("h4", T0) is None
    assert those.slow_hosts(over) == []
    assert those.speeds.factor("h4") == 1.0


def test_a_host_that_is_forgotten_is_as_new() -> None:
    those = world()
    over = stage(those, with_slow([5000, 5000]))
    assert those.slow_hosts(over) == ["h4"]
    those.speeds.forget("h4", T0 + over)
    assert those.slow_hosts(over + 1) == []
    assert those.speeds.factor("h4") == 1.0
    over = stage(those, with_slow([5000, 5000]), number=1, at=over)
    assert those.slow_hosts(over) == ["h4"]


def test_speeds_outlive_a_context() -> None:
    those = world()
    over = stage(those, with_slow([5000, 5000]))
    those.table.forget()
    stage(those, {"h9": [1000] * 4, "h4": [1000]}, at=over + 1000)
    assert those.speeds.factor("h4") > 2
    assert those.speeds.probability("h9") < 0.1


@given(
    st.lists(st.integers(500, 1500), min_size=2, max_size=12),
    st.integers(2, 12),
    st.integers(30, 100),
)
def test_a_host_that_is_several_times_slower_is_the_only_one_found(usual: list[int], count: int, tenths: int) -> None:
    """Whatever the other tasks take within a factor of three, and however many there are on the slow host."""
    those = world()
    took = dict.fromkeys(HOSTS[:3], usual)
    over = stage(those, {**took, "h4": [max(usual) * tenths // 5] * count})
    assert those.slow_hosts(over) in (["h4"], [])
    if min(usual) * 1.5 > max(usual):
        assert those.slow_hosts(over) == ["h4"]


@given(st.lists(st.lists(st.integers(900, 1100), min_size=1, max_size=8), min_size=4, max_size=4))
def test_nobody_is_slow_where_all_are_alike(took: list[list[int]]) -> None:
    those = world()
    over = stage(those, dict(zip(HOSTS, took, strict=True)))
    assert those.slow_hosts(over) == []
    assert all(those.speeds.factor(host) < 1.3 for host in HOSTS)
