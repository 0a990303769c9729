"""The shipped detector: who is late, whose fault it is, and whether a copy would end sooner."""

from __future__ import annotations

from typing import Any

import pytest

from tests.core.taskworld import NO_FLAGS, T0, Launched, TaskWorld
from yarnspec.core.detectors import detector_of
from yarnspec.core.detectors.registry import DetectorSettings
from yarnspec.core.messages.observations import NONE, Failure, StageFlag, State

MB = 1 << 20
HOSTS = ("h1", "h2", "h3", "h4")


def world(*, warm: bool = True, **changes: Any) -> TaskWorld:
    those = TaskWorld(DetectorSettings(**changes))
    if warm:
        those.warm(*HOSTS)
    return those


def one_wave(those: TaskWorld, took_ms: int = 2000, *, slow: str = "h4", stage: int = 0, at: int = 0) -> list[Launched]:
    """Eight tasks on four hosts with two slots each: all but those on the slow host end in time."""
    those.stage(8, stage=stage, at=at)
    tasks = [those.launch(index, HOSTS[index % 4], at, stage=stage) for index in range(8)]
    for task in tasks:
        if task.host != slow:
            those.end(task, at + took_ms)
    return [task for task in tasks if task.host == slow]


def test_the_two_tasks_of_a_slow_host_are_found_at_one_and_a_half_times_the_median() -> None:
    those = world()
    one_wave(those)
    assert those.judge(2000) == those.judge(2999) == []
    found = those.judge(3000)
    assert [(each.index, each.host, each.elapsed_ms) for each in found] == [(3, "h4", 3000), (7, "h4", 3000)]
    numbers = found[0].numbers
    assert (numbers["expected_ms"], numbers["ratio"], numbers["copy_ms"]) == (2000, 1.5, 2300)
    assert numbers["remaining_ms"] >= numbers["copy_ms"] + 300
    assert numbers["host_probability"] > 0.3
    assert "1.5 x the 2.0 s" in found[0].reason


@pytest.mark.parametrize(
    ("told", "read", "said"),
    [
        (NONE, 0, "inputs unknown: by time alone"),
        (NONE, 3 * MB, "inputs unknown: by the 2.0 MB that it has read so far"),
        (3 * MB, 3 * MB, "3.0 MB of input"),
    ],
)
def test_a_verdict_says_by_what_inputs_tasks_were_compared(told: int, read: int, said: str) -> None:
    those = world()
    those.stage(8)
    tasks = [those.launch(index, HOSTS[index % 4], input_bytes=told) for index in range(8)]
    for task in tasks:
        if task.host != "h4":
            those.end(task, 2000, bytes_read=read)
        else:
            those.count(task, 1000, min(read, 2 * MB))
    found = those.judge(5000)
    assert [each.index for each in found] == [3, 7]
    assert said in found[0].reason
    assert found[0].numbers.get("input_bytes", NONE) == told
    explained = those.detector.explain(those.running(), 3, those.running().started_ms + 5000)
    assert said in explained.text
    assert explained.numbers == found[0].numbers


def test_with_short_tasks_the_copy_must_gain_more_than_its_start() -> None:
    """A copy takes 0.5 s and 0.3 s to start, and must gain 0.3 s: what has run for 1.1 s will need as long again."""
    those = world()
    those.stage(64)
    for wave in range(3):
        for index in range(6):
            task = those.launch(8 + wave * 6 + index, HOSTS[index % 3], wave * 500)
            those.end(task, wave * 500 + 500)
    for index in (3, 7):
        those.launch(index, "h4")
    assert those.judge(900) == []
    assert those.slow_tasks(1200) == [3, 7]
    assert those.slow_hosts(1500) == ["h4"]


def test_tasks_shorter_than_the_start_of_a_copy_are_left_alone() -> None:
    those = world()
    one_wave(those, 40)
    assert those.judge(120) == []  # three times as long, and over in a moment for all that is known
    assert those.slow_tasks(700) == [3, 7]


def test_one_late_task_among_normal_ones_on_its_host_has_more_to_do() -> None:
    those = world()
    those.stage(8)
    for index in range(8):
        task = those.launch(index, HOSTS[index % 4])
        if index:
            those.end(task, 2000)
    assert those.judge(20_000) == []
    explained = those.detector.explain(those.running(), 0, those.running().started_ms + 20_000)
    assert not explained.slow
    assert explained.numbers["ratio"] == 10
    assert explained.numbers["host_probability"] < 0.6


def test_what_hangs_is_slow_in_the_end() -> None:
    those = world()
    those.stage(8)
    for index in range(8):
        task = those.launch(index, HOSTS[index % 4])
        if index:
            those.end(task, 4000)
    assert those.judge(79_999) == []
    assert those.slow_tasks(80_000) == [0]  # 20 x 4 s, and more than a minute


def test_tasks_with_more_input_are_not_late() -> None:
    those = world()
    those.stage(8)
    for index in range(8):
        heavy = index in (3, 7)
        task = those.launch(index, HOSTS[index % 4], input_bytes=(100 if heavy else 10) * MB)
        if not heavy:
            those.end(task, 2000)
    assert those.judge(20_000) == []
    assert those.slow_hosts(20_000) == []
    assert those.slow_tasks(30_000) == [3, 7]  # 1.5 x what ten times the input takes


def lone_late_task(input_bytes: int, *others: tuple[int, int]) -> TaskWorld:
    """Nothing is known of h4, where one task runs; the others had so much input and took so long."""
    those = world(warm=False, cold_start_ms=0)
    those.stage(len(others) + 1)
    for index, (size, took) in enumerate(others):
        those.end(those.launch(index, HOSTS[index % 3], input_bytes=size), took)
    those.launch(len(others), "h4", input_bytes=input_bytes)
    return those


def test_one_late_task_is_enough_where_bytes_explain_times_and_nothing_speaks_for_its_host() -> None:
    those = lone_late_task(10 * MB, *[(size * MB, 200 * size) for size in (8, 8, 8, 10, 10, 10, 12, 12, 12)])
    assert those.judge(2999) == []
    assert those.slow_tasks(3000) == [9]
    assert those.slow_hosts(15_000) == []  # one task is no proof against its host


@pytest.mark.parametrize(
    "others",
    [[(10, 2000)] * 9, [(size, 2000) for size in (7, 7, 7, 10, 10, 10, 13, 13, 13)]],
    ids=["equal bytes", "bytes and times that have nothing to do with each other"],
)
def test_bytes_that_do_not_explain_times_are_no_reason_to_blame_the_host(others: list[tuple[int, int]]) -> None:
    those = lone_late_task(10 * MB, *[(size * MB, took) for size, took in others])
    assert those.slow_tasks(3000) == []
    assert those.slow_tasks(5000) == [9]  # by so much that it says enough by itself


def test_a_task_whose_copy_takes_long_as_well_is_large_and_says_nothing_of_its_host() -> None:
    those = world(warm=False, cold_start_ms=0)
    late = one_wave(those)
    assert those.slow_tasks(3000) == [3, 7]
    for task, host in zip(late, ("h1", "h2"), strict=True):
        those.launch(task.index, host, 3000, copy=True)
    assert those.slow_hosts(5900) == ["h4"]
    assert those.slow_hosts(6000) == []
    assert those.speeds.probability("h4") == pytest.approx(0.05)


def test_late_is_later_in_a_stage_whose_tasks_differ_much() -> None:
    those = world()
    those.stage(14)
    for index, took in enumerate((1000, 1200, 1500, 1800, 2000, 2200, 2500, 2800, 3200, 3600, 4000, 4400)):
        those.end(those.launch(index, HOSTS[index % 3]), took)
    for index in (12, 13):
        those.launch(index, "h4")
    assert those.judge(5000) == []
    assert those.running().finished == 12
    threshold = those.detector.threshold_ms(those.running(), 0)
    assert threshold is not None
    assert threshold > 2 * 2350


def test_the_start_of_a_cold_executor_is_not_held_against_its_task() -> None:
    those = world(warm=False)
    those.warm("h1", "h2", "h3")
    those.stage(20)
    for index in range(6):
        those.end(those.launch(index, HOSTS[index % 3]), 500)
    for index in (6, 7):
        those.launch(index, "h4", 500)  # its first tasks
    assert those.judge(3500) == []
    assert those.slow_tasks(5000) == [6, 7]


def test_an_executor_is_cold_for_python_until_a_python_task_has_ended_there() -> None:
    those = world(warm=False)
    those.warm("h1", "h2", "h3", python=True)
    those.stage(1, stage=901, at=-5000)
    those.end(those.launch(0, "h4", -5000, stage=901), -4000)
    those.end_stage(-4000, stage=901)
    those.stage(20, flags=StageFlag.PYTHON)
    for index in range(6):
        those.end(those.launch(index, HOSTS[index % 3]), 500)
    for index in (6, 7):
        those.launch(index, "h4", 500)
    assert those.judge(3000) == []


def test_a_single_task_is_judged_by_its_host_s_speed() -> None:
    those = world()
    for stage in range(3):
        slow = one_wave(those, stage=stage, at=stage * 30_000)
        for task in slow:
            those.end(task, stage * 30_000 + 20_000)
        those.end_stage(stage * 30_000 + 20_000, stage=stage)
        those.observe(stage * 30_000 + 20_000)
    those.stage(1, stage=5, at=90_000)
    those.launch(0, "h4", 90_000, stage=5)
    (verdict,) = those.judge(91_000)
    assert "nothing to compare it with but the speed of its host" in verdict.reason
    assert verdict.numbers["host_factor"] > 5

    those.stage(1, stage=6, at=90_000)
    those.launch(0, "h1", 90_000, stage=6)
    assert [each.stage for each in those.judge(95_000)] == [5]


def test_on_a_proven_slow_host_a_task_is_late_at_once() -> None:
    those = world()
    for stage in range(2):
        slow = one_wave(those, stage=stage, at=stage * 30_000)
        for task in slow:
            those.end(task, stage * 30_000 + 20_000)
        those.end_stage(stage * 30_000 + 20_000, stage=stage)
        those.observe(stage * 30_000 + 20_000)
    one_wave(those, stage=5, at=60_000)
    assert those.judge(62_100) == []
    assert those.slow_tasks(62_300) == [3, 7]


def test_nothing_is_judged_with_fewer_than_three_to_compare_with() -> None:
    those = world()
    those.stage(8)
    for index in range(8):
        task = those.launch(index, HOSTS[index % 4])
        if index < 2:
            those.end(task, 1000)
    assert those.judge(50_000) == []
    explained = those.detector.explain(those.running(), 3, those.running().started_ms + 50_000)
    assert "nothing to compare" in explained.text


def test_attempts_of_finished_tasks_are_not_judged() -> None:
    those = world()
    slow = one_wave(those)
    copy = those.launch(3, "h1", 3100, copy=True)
    those.end(copy, 5100)
    assert those.slow_tasks(5200) == [7]
    those.end(slow[0], 5150, State.KILLED, Failure.KILLED)
    assert those.slow_tasks(5300) == [7]


def test_many_stages_are_looked_at_in_turn() -> None:
    those = world()
    for stage in range(20):
        one_wave(those, stage=stage)
    found: set[int] = set()
    for passed in range(10):
        now = [each.stage for each in those.judge(4000 + passed * 500)]
        assert found <= set(now)  # what was slow and still runs stays so between two looks
        found |= set(now)
    assert found == set(range(20))


def test_of_very_many_late_tasks_the_oldest_are_looked_at_and_at_least_so_many_are_slow() -> None:
    those = world()
    those.stage(40)
    for index in range(20):
        those.end(those.launch(index, HOSTS[index % 3]), 2000)
    for index in range(20, 40):
        those.launch(index, "h4")
    those.observe(4000)
    those.speeds.refresh(those.table, T0 + 4000)
    whole, part = (detector_of(those.settings, those.speeds, many).judge(those.table, T0 + 4000) for many in (20, 5))
    assert whole.slow == {(0, 0): 20}
    assert part.slow == {(0, 0): 5}
    assert [one.index for one in part.worst] == list(range(20, 25))


def test_each_stage_has_its_turn_again_while_nothing_is_heard() -> None:
    those = world()
    for stage in range(5):
        one_wave(those, stage=stage)
    for passed in range(3):
        assert those.judge(2000 + passed) == []
    found = {each.stage for passed in range(3) for each in those.judge(4000 + passed * 500)}
    assert found == set(range(5))


def test_a_new_context_s_stages_are_not_mixed_up_with_the_old_ones() -> None:
    those = world()
    one_wave(those)
    assert those.slow_tasks(4000) == [3, 7]
    those.table.forget()
    those.stage(8, at=10_000)
    those.launch(0, "h4", 10_000)
    assert those.judge(10_100) == []


# by counters


def counted(those: TaskWorld, *, flags: StageFlag = NO_FLAGS, at: int = 2000) -> None:
    """Eight tasks of 100 MB, none ended: those on h4 have read a tenth of what the others have."""
    those.stage(8, flags=flags)
    for index in range(8):
        host = HOSTS[index % 4]
        task = those.launch(index, host, input_bytes=100 * MB)
        those.count(task, at, (2 if host == "h4" else 20) * MB)


def test_by_their_counters_tasks_are_found_before_any_has_ended() -> None:
    those = world()
    counted(those)
    found = those.judge(2100)
    assert [each.index for each in found] == [3, 7]
    numbers = found[0].numbers
    assert numbers["by_counters"] == 1
    assert numbers["expected_ms"] == pytest.approx(10_000)
    assert numbers["remaining_ms"] == pytest.approx(100_000 - 2100)
    assert numbers["copy_ms"] == pytest.approx(10_300)
    assert "by its counters" in found[0].reason
    assert those.slow_hosts(2100) == ["h4"]


def test_a_task_that_is_nearly_done_is_not_copied() -> None:
    """Half as fast as the others, but at 70 of 100 MB: the copy would end later."""
    those = world()
    those.stage(8)
    for index in range(8):
        host = HOSTS[index % 4]
        task = those.launch(index, host, input_bytes=(30 if host == "h4" else 100) * MB)
        those.count(task, 4000, (20 if host == "h4" else 40) * MB)
    assert those.judge(4100) == []


def test_counters_of_python_stages_are_not_believed_unseen() -> None:
    those = world()
    counted(those, flags=StageFlag.PYTHON)
    assert those.judge(2100) == []


def test_counters_of_python_stages_are_believed_once_they_were_seen_to_track() -> None:
    those = world(warm=False)
    those.warm(*HOSTS, python=True)
    those.stage(12, flags=StageFlag.PYTHON)
    for index in range(6):
        task = those.launch(index, HOSTS[index % 3], input_bytes=100 * MB)
        those.count(task, 1000, 50 * MB)
        those.end(task, 2000, bytes_read=100 * MB)
    for index in range(6, 12):
        host = HOSTS[index % 4]
        task = those.launch(index, host, 2000, input_bytes=100 * MB)
        those.count(task, 3000, (5 if host == "h4" else 50) * MB)
    assert those.slow_tasks(3050) == [7, 11]


def test_counters_that_run_ahead_are_not_believed() -> None:
    """All is read in the first tenth of a second: by its counters each task is nearly done for most of its time."""
    those = world()
    those.stage(12)
    for index in range(6):
        task = those.launch(index, HOSTS[index % 3], input_bytes=100 * MB)
        those.count(task, 1000, 99 * MB)
        those.end(task, 2000, bytes_read=100 * MB)
    for index in (6, 7):
        task = those.launch(index, "h4", input_bytes=100 * MB)
        those.count(task, 1000, 80 * MB)
    assert those.slow_tasks(3000) == [6, 7]


@pytest.mark.parametrize(("slow", "found"), [(1, []), (10, [7, 11])], ids=["healthy", "slow-host"])
def test_tasks_that_read_a_part_of_their_input_are_not_late_by_it(slow: int, found: list[int]) -> None:
    """Each reads 40 of 500 MB, as of a Parquet file a few columns: at 20 MB it is half done."""
    those = world()
    those.stage(12)
    for index in range(6):
        task = those.launch(index, HOSTS[index % 3], input_bytes=500 * MB)
        those.count(task, 3000, 20 * MB)
        those.end(task, 6000, bytes_read=40 * MB)
    for index in range(6, 12):
        host = HOSTS[index % 4]
        task = those.launch(index, host, 6000, input_bytes=500 * MB)
        those.count(task, 9000, round(20 * MB / (slow if host == "h4" else 1)))
    assert those.slow_tasks(9050) == found
    assert those.slow_hosts(9050) == (["h4"] if found else [])


def test_where_tasks_read_different_shares_of_their_inputs_counters_tell_nothing() -> None:
    those = world()
    those.stage(12)
    for index in range(6):
        share = (4, 40, 90)[index % 3]
        task = those.launch(index, HOSTS[index % 3], input_bytes=100 * MB)
        those.count(task, 3000, share // 2 * MB)
        those.end(task, 6000, bytes_read=share * MB)
    for index in range(6, 12):
        task = those.launch(index, HOSTS[index % 4], 6000, input_bytes=100 * MB)
        those.count(task, 9000, 4 * MB)
    assert those.slow_tasks(9050) == []


def test_the_explanation_of_a_task_that_ended_or_waits() -> None:
    those = world()
    one_wave(those)
    those.observe()
    stage = those.running()
    assert "finished on h1 after 2.0 s" in those.detector.explain(stage, 0, 0).text
    assert "has not been launched" in those.detector.explain(stage, 9, 0).text
    assert those.detector.min_finished(stage) == 3
