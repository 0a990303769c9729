"""Copies of slow tasks: when, where, how many, which one won, and what a failure means."""

from __future__ import annotations

import pytest

from tests.core.stragglers import H2, H3, Stragglers
from tests.core.taskworld import T0, TaskWorld
from tests.core.world import HOSTS, names, of, only
from yarnspec.core.copies.task_copies import TaskCopies
from yarnspec.core.detectors import MAX_VERDICTS
from yarnspec.core.messages import events as ev
from yarnspec.core.messages.commands import (
    BlockHost,
    CreditCopy,
    JudgeTasks,
    KillAttempt,
    LaunchCopy,
    SetTimer,
    Summarize,
    UpdateTaskBlocks,
    Verdict,
    WithdrawCopy,
)
from yarnspec.core.messages.observations import Failure, StageFlag, State
from yarnspec.core.messages.settings import SpeculationSettings
from yarnspec.core.tasks.stagetasks import TaskAttempt


def one_slow_task(**changes: object) -> tuple[Stragglers, list[int]]:
    """Eight tasks on four hosts; all but task 1, which runs on H3, end after a second."""
    world = Stragglers(**changes)  # type: ignore[arg-type]
    tasks = world.fill(0, 8)
    world.pass_ms(900)
    for index, task_id in enumerate(tasks):
        if index != 1:
            world.end(task_id)
    return world, tasks


def test_a_slow_task_is_judged_kept_off_its_host_and_copied_elsewhere() -> None:
    world, tasks = one_slow_task()
    answer = world.pass_ms(1_100)
    verdict = only(JudgeTasks, answer).verdicts[0]
    assert (verdict.index, verdict.host, verdict.task_id) == (1, H3, tasks[1])
    block = only(BlockHost, answer)
    assert (block.host, block.level, block.stage, block.index, block.cause) == (H3, "task", 0, 1, "slow")
    copy = only(LaunchCopy, answer)
    assert (copy.stage, copy.stage_attempt, copy.index, copy.not_hosts, copy.attempts_max) == (0, 0, 1, (H3,), 2)
    assert copy.reason == verdict.reason
    order = names(answer)
    assert order.index("BlockHost") < order.index("UpdateTaskBlocks") < order.index("LaunchCopy")
    stage_blocks = only(UpdateTaskBlocks, answer).stages
    assert [(one.stage, one.index, one.hosts) for one in stage_blocks] == [(0, 1, (H3,))]


def test_a_task_is_told_and_copied_once() -> None:
    world, _ = one_slow_task()
    world.pass_ms(1_100)
    world.launch(0, 1, "1", copy=True)
    answer = world.pass_ms(5_000)
    assert of(LaunchCopy, answer) == []
    told = [verdict for judged in of(JudgeTasks, answer) for verdict in judged.verdicts]
    assert all(verdict.attempt > 0 for verdict in told)
    explanation = world.negotiator.explain_task(0, 1, world.now_ms)
    assert explanation is not None
    assert any("2 attempts are there, and 2 may be at once" in line for line in explanation.lines)
    assert any(f"attempt 0 on {H3} stands for the task" in line for line in explanation.lines)


def test_nothing_is_judged_while_no_stage_runs() -> None:
    world, tasks = one_slow_task()
    world.end(tasks[1])
    world.stage_ends(0)
    world.pass_ms(2_000)
    assert world.pass_ms(600_000) == []


def test_nothing_is_judged_when_speculation_is_off() -> None:
    world, _ = one_slow_task(speculation={"enabled": False})
    assert world.pass_ms(600_000) == []


@pytest.mark.parametrize(
    ("flags", "allowed", "why"),
    [
        (StageFlag.BARRIER, False, "barrier"),
        (StageFlag.STREAM, False, "belongs to a stream"),
        (StageFlag.WRITES, False, "copy_writers"),
        (StageFlag.READS | StageFlag.MAP, False, "copy_readers"),
        (StageFlag.KEEPS | StageFlag.CACHED, False, "copy_cached"),
        (StageFlag.CACHED, True, ""),
        (StageFlag.NO_COPIES | StageFlag.COMMITS, False, "yarnspec.speculation=false"),
        (StageFlag.COMMITS, True, ""),
        (StageFlag.INDETERMINATE, True, ""),
        (StageFlag.MAP | StageFlag.PYTHON, True, ""),
    ],
)
def test_the_stages_kind_decides_whether_its_tasks_are_copied(flags: StageFlag, allowed: bool, why: str) -> None:
    world = Stragglers()
    tasks = world.fill(0, 8, flags)
    world.pass_ms(900)
    for task_id in tasks[1:]:
        world.end(task_id)
    answer = world.pass_ms(3_000)
    assert bool(of(LaunchCopy, answer)) == allowed
    if not allowed:
        explanation = world.negotiator.explain_task(0, 0, world.now_ms)
        assert explanation is not None
        assert any(why in line for line in explanation.lines)


@pytest.mark.parametrize(
    ("flags", "copied"),
    [
        (StageFlag.WRITES, "copy_writers"),
        (StageFlag.READS, "copy_readers"),
        (StageFlag.KEEPS | StageFlag.CACHED, "copy_cached"),
        (StageFlag.READS | StageFlag.WRITES, ""),
        (StageFlag.READS | StageFlag.NO_COPIES, ""),
    ],
)
@pytest.mark.parametrize("allowed", ["copy_writers", "copy_readers", "copy_cached"])
def test_a_stage_that_writes_or_reads_by_itself_is_copied_when_the_user_says_so(
    allowed: str, flags: StageFlag, copied: str
) -> None:
    world = Stragglers(speculation={allowed: True})
    tasks = world.fill(0, 8, flags)
    world.pass_ms(900)
    for task_id in tasks[1:]:
        world.end(task_id)
    assert bool(of(LaunchCopy, world.pass_ms(3_000))) == (allowed == copied)


@pytest.mark.parametrize("enabled", [True, False])
def test_a_stages_metrics_say_why_it_has_no_copies(enabled: bool) -> None:
    world = Stragglers(speculation={"enabled": enabled})
    tasks = world.fill(0, 2, StageFlag.READS) + world.fill(1, 2, StageFlag.MAP)
    for task_id in tasks[:2]:
        world.end(task_id)
    world.stage_ends(0)
    running, ended = world.negotiator.speculation_view(world.now_ms).stages
    assert (running.stage, running.not_copied) == (1, "")
    assert ended.stage == 0
    assert ("speculation.copy_readers" in ended.not_copied) == enabled


def test_no_option_allows_copies_that_the_program_does_not_want() -> None:
    world = Stragglers(speculation={"copy_writers": True, "copy_readers": True, "copy_cached": True})
    tasks = world.fill(0, 8, StageFlag.READS | StageFlag.WRITES | StageFlag.KEEPS | StageFlag.NO_COPIES)
    world.pass_ms(900)
    for task_id in tasks[1:]:
        world.end(task_id)
    assert of(LaunchCopy, world.pass_ms(3_000)) == []


def test_a_third_attempt_only_where_three_are_allowed() -> None:
    world, _ = one_slow_task(speculation={"max_concurrent_executions": 3})
    copy = only(LaunchCopy, world.pass_ms(1_100))
    assert copy.attempts_max == 3
    world.launch(0, 1, "1", copy=True)
    again = only(LaunchCopy, world.pass_ms(2_000))
    assert again.not_hosts == (H2, H3)
    world.launch(0, 1, "3", copy=True)
    assert of(LaunchCopy, world.pass_ms(10_000)) == []


def test_a_third_attempt_is_worth_it_only_when_the_second_is_late_too() -> None:
    """Of each task two seconds; those on H3 hang, and so does the first one's copy."""
    world = Stragglers(
        slots=4,
        speculation={"max_concurrent_executions": 3, "min_copies": 4},
        detector={"kind": "progress", "cold_start_ms": 0},
    )
    tasks = world.fill(0, 16)
    world.pass_ms(2_000)
    for index, task_id in enumerate(tasks):
        if index not in (1, 5):
            world.end(task_id)
    assert [one.index for one in of(LaunchCopy, world.pass_ms(4_000))] == [1, 5]
    _, quick = (world.launch(0, index, "1", copy=True) for index in (1, 5))
    assert of(LaunchCopy, world.pass_ms(2_500)) == []
    explanation = world.negotiator.explain_task(0, 1, world.now_ms)
    assert explanation is not None
    assert any("an attempt of it that runs may end before a further copy would" in line for line in explanation.lines)
    world.end(quick)
    world.end(tasks[5], State.KILLED, Failure.KILLED)
    again = only(LaunchCopy, world.pass_ms(40_000))
    assert (again.index, again.not_hosts) == (1, (H2, H3))


def test_copies_of_a_stage_and_of_the_application_are_capped_and_at_least_one() -> None:
    for changes in ({"max_share_of_stage": 0.5}, {"max_share_of_application": 0.5}, {"max_share_of_stage": 0.01}):
        world = Stragglers(
            speculation={"max_share_of_stage": 1.0, "max_share_of_application": 1.0, "min_copies": 1, **changes}
        )
        tasks = world.fill(0, 8)
        world.pass_ms(900)
        for task_id in tasks[4:]:
            world.end(task_id)
        answer = world.pass_ms(3_000)
        allowed = 1 if 0.01 in changes.values() else 2
        assert len(of(LaunchCopy, answer)) == allowed
        explanation = world.negotiator.explain_task(0, 3, world.now_ms)
        assert explanation is not None
        assert any(f"{allowed} copies are live" in line and f"{allowed} may be" in line for line in explanation.lines)


def test_running_copies_make_no_room_for_further_ones() -> None:
    world = Stragglers(slots=8, speculation={"max_share_of_stage": 0.5, "max_share_of_application": 0.5})
    world.stage(0, 16)
    first = [world.launch(0, index, str(index % 4 + 1)) for index in range(16)]
    world.pass_ms(500)
    for task_id in first[:8]:
        world.end(task_id)
    for _ in range(8):
        for copy in of(LaunchCopy, world.pass_ms(1_000)):
            executor = next(one for one, host in world.where.items() if host not in copy.not_hosts)
            world.launch(0, copy.index, executor, copy=True)
    assert sum(one.copy for one in world.running.values()) == 4


def test_both_slow_tasks_at_the_end_of_a_stage_are_copied_at_once() -> None:
    world = Stragglers()
    tasks = world.fill(0, 8)
    world.pass_ms(900)
    for index in range(8):
        if index % 4 != 1:
            world.end(tasks[index])
    assert [one.index for one in of(LaunchCopy, world.pass_ms(1_100))] == [1, 5]


def test_a_cap_makes_room_when_a_copy_ends() -> None:
    world = Stragglers(speculation={"max_share_of_stage": 0.01, "min_copies": 1})
    tasks = world.fill(0, 8)
    world.pass_ms(900)
    for task_id in tasks[4:]:
        world.end(task_id)
    first = only(LaunchCopy, world.pass_ms(1_500))
    copy = world.launch(0, first.index, str((first.index + 1) % 4 + 1), copy=True)
    world.pass_ms(500)
    world.end(copy)
    world.end(tasks[first.index], State.KILLED, Failure.KILLED)
    assert len(of(LaunchCopy, world.pass_ms(1_500))) == 1


def test_copies_that_would_only_wait_take_no_place_of_those_that_can_start() -> None:
    """Stage 0's copies would come after its own tasks; however many of it are slow, stage 1's task is copied."""
    world = Stragglers(hosts=HOSTS[:2], slots=MAX_VERDICTS, detector={"baseline_ratio": 0.1})
    slow = 2 * MAX_VERDICTS - 2
    world.stage(0, 10 * slow)
    for index in range(slow):
        world.end(world.launch(0, index, "1"))
    for index in range(slow, 2 * slow):
        world.launch(0, index, str(index % 2 + 1))
    world.pass_ms(600)
    world.stage(1, 2)
    quick, _ = world.launch(1, 0, "1"), world.launch(1, 1, "2")
    world.pass_ms(300)
    world.end(quick)
    answer = world.pass_ms(3_000)
    assert [(one.stage, one.index) for one in of(LaunchCopy, answer)] == [(1, 1)]
    explanation = world.negotiator.explain_task(0, slow, world.now_ms)
    assert explanation is not None
    assert any(f"{8 * slow} tasks of its stage wait for slots before it" in line for line in explanation.lines)


def test_where_slots_are_free_for_all_that_wait_copies_are_asked_for() -> None:
    """Such a task waits for a host of its choice, or runs, and the row that told so was lost."""
    world, _ = one_slow_task()
    world.stage(0, 10)
    assert [one.index for one in of(LaunchCopy, world.pass_ms(1_200))] == [1]


def test_waiting_copies_leave_the_places_of_a_pass_to_other_tasks() -> None:
    shares = {"max_share_of_stage": 1.0, "max_share_of_application": 1.0}
    world = Stragglers(hosts=HOSTS[:2], slots=2 * MAX_VERDICTS, speculation=shares, blocks={"enabled": False})
    world.stage(0, 3 * MAX_VERDICTS)
    tasks = [world.launch(0, index, str(index % 2 + 1)) for index in range(3 * MAX_VERDICTS)]
    world.pass_ms(500)
    for task_id in tasks[MAX_VERDICTS + 10 :]:
        world.end(task_id)
    world.stage(1, 2)
    quick, _ = world.launch(1, 0, "1"), world.launch(1, 1, "2")
    world.pass_ms(400)
    world.end(quick)
    asked = [(one.stage, one.index) for one in of(LaunchCopy, world.pass_ms(6_000))]
    assert len(asked) == len(set(asked)) == MAX_VERDICTS + 11
    assert (1, 1) in asked


def test_the_copy_that_ends_first_wins_and_is_counted() -> None:
    world, tasks = one_slow_task()
    world.pass_ms(1_100)
    copy = world.launch(0, 1, "1", copy=True)
    world.pass_ms(1_000)
    world.end(copy)
    world.end(tasks[1], State.KILLED, Failure.KILLED)
    view = world.negotiator.speculation_view(world.now_ms)
    assert (view.effective_copies, view.ledger.copies_won, view.ledger.copies_running) == (1, 1, 0)
    assert view.ledger.spent_ms == 1_000
    assert view.ledger.wasted_ms == 0
    stage = view.stages[0]
    assert (stage.effective_copies, stage.fastest_copies, stage.speculative_executions) == (1, 1, 1)
    assert (stage.finished_executions, stage.slow_tasks, stage.min_finished_for_speculation) == (8, 1, 4)
    assert stage.running_ms_by_index[1] == 3_000
    assert stage.speculative_threshold_ms == 1_350


def test_the_gain_is_estimated_from_the_slowdown_of_the_originals_host() -> None:
    world = Stragglers()
    for stage in range(3):
        tasks = world.fill(stage, 8)
        world.pass_ms(1_000)
        slow = [index for index in range(8) if index % 4 == 1]
        for index in range(8):
            if index not in slow:
                world.end(tasks[index])
        world.pass_ms(9_000)
        for index in slow:
            world.end(tasks[index])
        world.stage_ends(stage)
    assert world.negotiator.explain_host(H3, world.now_ms).numbers["factor"] > 4  # type: ignore[union-attr, operator]
    world.stage(9, 8)
    slow_id = world.launch(9, 0, "2")
    for index in range(1, 8):
        task_id = world.launch(9, index, "1")
        world.pass_ms(100)
        world.end(task_id)
    world.pass_ms(2_000)
    copy = world.launch(9, 0, "3", copy=True)
    world.pass_ms(1_000)
    world.end(copy)
    world.end(slow_id, State.KILLED, Failure.KILLED)
    ledger = world.negotiator.speculation_view(world.now_ms).ledger
    # The original had run for 3.7 s; at more than 4 times the copy's second it would have run longer.
    assert ledger.gained_ms > 300


def test_when_the_original_would_end_is_not_told_by_a_verdict_on_its_copy() -> None:
    those = TaskWorld()
    those.stage(1)
    original = those.launch(0, "h1")
    those.observe()
    copies = TaskCopies(SpeculationSettings(), those.table, lambda _: 1.0, lambda _: set(), lambda *_: None)
    stage = those.running()

    def found_slow(attempt: TaskAttempt, remaining_ms: float) -> Verdict:
        return Verdict(
            stage=0, stage_attempt=0, index=0, attempt=attempt.attempt, task_id=attempt.task_id, host=attempt.host,
            executor_id=attempt.executor_id, detector="progress", elapsed_ms=1, reason="slow",
            numbers={"remaining_ms": remaining_ms},
        )  # fmt: skip

    copies.launch(found_slow(stage.attempts_of(0)[0], 60_000.0), stage.attempts_of(0), T0)
    copies.expect((0, 0, 0), stage.attempts_of(0)[0].task_id, 60_000.0, T0)
    copy = those.launch(0, "h2", 1_000, copy=True)
    ((_, started),) = those.observe().copies_started
    copies.started(stage, started, T0 + 1_000)
    copies.expect((0, 0, 0), started.task_id, 5_000.0, T0 + 4_000)
    those.end(copy, 10_000)
    ((_, ended),) = those.observe().attempts_ended
    credit = only(CreditCopy, copies.ended(stage, ended, T0 + 10_000))
    assert original.task_id != copy.task_id
    assert copies.total().gained_ms == 50_000
    assert (credit.index, credit.task_id, credit.gained_ms) == (0, copy.task_id, 50_000)


def test_a_copy_that_loses_is_wasted() -> None:
    world, tasks = one_slow_task()
    world.pass_ms(1_100)
    copy = world.launch(0, 1, "1", copy=True)
    world.pass_ms(700)
    world.end(tasks[1])
    world.end(copy, State.KILLED, Failure.KILLED)
    ledger = world.negotiator.speculation_view(world.now_ms).ledger
    assert (ledger.copies_won, ledger.copies_cancelled, ledger.wasted_ms, ledger.gained_ms) == (0, 1, 700, 0)
    assert not of(CreditCopy, world.commands)


def test_when_two_finish_together_one_wins() -> None:
    world, tasks = one_slow_task()
    world.pass_ms(1_100)
    copy = world.launch(0, 1, "1", copy=True)
    world.pass_ms(700)
    world.end(copy)
    world.end(tasks[1])
    view = world.negotiator.speculation_view(world.now_ms)
    assert view.stages[0].finished_executions == 8
    # The driver heard of the copy's end first.
    assert (view.ledger.copies_won, view.ledger.copies_cancelled) == (1, 0)


def test_a_failed_copy_makes_room_for_another_but_not_for_ever() -> None:
    world, _ = one_slow_task(speculation={"max_copies_of_task": 3})
    asked = 0
    for _ in range(10):
        copies = of(LaunchCopy, world.pass_ms(2_000))
        asked += len(copies)
        for copy in copies:
            world.end(world.launch(0, copy.index, "1", copy=True), State.FAILED, Failure.COPY_FAILED)
    assert asked == 3
    explanation = world.negotiator.explain_task(0, 1, world.now_ms)
    assert explanation is not None
    assert any("copied 3 times" in line for line in explanation.lines)
    assert world.negotiator.speculation_view(world.now_ms).ledger.copies_failed == 3


def test_as_many_attempts_run_at_once_as_may_whatever_a_task_may_have_in_its_life() -> None:
    hosts = tuple(f"h{number}" for number in range(8))
    world = Stragglers(hosts=hosts, speculation={"max_concurrent_executions": 7, "min_copies": 9})
    tasks = world.fill(0, 8)
    world.pass_ms(900)
    for index in set(range(8)) - {1}:
        world.end(tasks[index])
    for _ in range(20):
        for copy in of(LaunchCopy, world.pass_ms(1_100)):
            executor = next(one for one, host in world.where.items() if host not in copy.not_hosts)
            world.launch(0, copy.index, executor, copy=True)
    assert sum(one.copy for one in world.running.values()) == 6
    explanation = world.negotiator.explain_task(0, 1, world.now_ms)
    assert explanation is not None
    assert any("7 attempts are there, and 7 may be at once" in line for line in explanation.lines)


def test_while_another_attempt_can_finish_a_failure_changes_nothing() -> None:
    world, tasks = one_slow_task()
    world.pass_ms(1_100)
    world.launch(0, 1, "1", copy=True)
    answer = world.end(tasks[1], State.FAILED, Failure.EXCEPTION)
    assert not {"KillAttempt", "WithdrawCopy"} & set(names(answer))


def test_a_lost_map_output_cancels_the_copies_of_the_stage_that_reads_it() -> None:
    world = Stragglers(speculation={"min_copies": 3})
    tasks = world.fill(3, 8)
    world.pass_ms(900)
    for task_id in tasks[3:]:
        world.end(task_id)
    asked = of(LaunchCopy, world.pass_ms(1_200))
    assert len(asked) == 3
    running = world.launch(3, asked[0].index, "4", copy=True)
    answer = world.end(tasks[asked[2].index], State.FAILED, Failure.FETCH_FAILED)
    killed = only(KillAttempt, answer)
    assert (killed.stage, killed.task_id, killed.index) == (3, running, asked[0].index)
    assert {one.index for one in of(WithdrawCopy, answer)} == {asked[1].index, asked[2].index}
    assert "map output" in killed.reason
    assert of(LaunchCopy, world.pass_ms(5_000)) == []
    world.end(running, State.KILLED, Failure.KILLED)
    world.stage_ends(3, State.FAILED)
    # The next attempt of the stage is free to be copied again.
    world.stage(3, 3, stage_attempt=1)
    again = [world.launch(3, index, str(index + 1), stage_attempt=1) for index in range(3)]
    world.pass_ms(900)
    for task_id in again[1:]:
        world.end(task_id)
    assert only(LaunchCopy, world.pass_ms(1_500)).stage_attempt == 1


def test_a_copy_whose_start_crosses_its_withdrawal_after_a_lost_map_output_is_ended() -> None:
    world = Stragglers()
    tasks = world.fill(3, 4)
    world.pass_ms(900)
    for task_id in tasks[2:]:
        world.end(task_id)
    assert {one.index for one in of(LaunchCopy, world.pass_ms(1_200))} == {0, 1}
    answer = world.end(tasks[1], State.FAILED, Failure.FETCH_FAILED)
    assert {one.index for one in of(WithdrawCopy, answer)} == {0, 1}
    before = len(world.commands)
    copy = world.launch(3, 0, "4", copy=True)
    killed = only(KillAttempt, world.commands[before:])
    assert (killed.stage, killed.index, killed.task_id) == (3, 0, copy)
    assert "could not fetch a map output" in killed.reason


def test_a_lost_map_output_cancels_the_copies_of_every_stage_that_reads_it() -> None:
    world = Stragglers(slots=8, speculation={"max_share_of_application": 1.0})
    world.tell(ev.JobStarted(job=0, stages=(0, 3), parents=((3, (0,)),)))
    world.tell(ev.JobStarted(job=1, stages=(0, 1, 4), parents=((4, (0, 1)),)))
    world.tell(ev.JobStarted(job=2, stages=(1, 5), parents=((5, (1,)),)))
    tasks = {stage: world.fill(stage, 4) for stage in (3, 4, 5)}
    world.pass_ms(900)
    for stage in tasks:
        for task_id in tasks[stage][2:]:
            world.end(task_id)
    asked = {(one.stage, one.index): one for one in of(LaunchCopy, world.pass_ms(1_200))}
    assert asked.keys() == {(stage, index) for stage in tasks for index in (0, 1)}
    running = world.launch(4, 0, "3", copy=True)
    answer = world.end(tasks[3][1], State.FAILED, Failure.FETCH_FAILED)
    assert {(one.stage, one.index) for one in of(WithdrawCopy, answer)} == {(3, 0), (3, 1), (4, 1)}
    killed = only(KillAttempt, answer)
    assert (killed.stage, killed.index, killed.task_id) == (4, 0, running)
    world.end(running, State.KILLED, Failure.KILLED)
    # Stage 5 reads something else; of stage 4 only the originals are left.
    assert of(LaunchCopy, world.pass_ms(5_000)) == []
    assert of(WithdrawCopy, world.end(tasks[4][0]) + world.end(tasks[5][0]) + world.pass_ms(1_000))[0].stage == 5


def test_a_copy_that_waits_is_withdrawn_when_its_task_ends() -> None:
    world, tasks = one_slow_task()
    world.pass_ms(1_100)
    answer = world.end(tasks[1]) + world.pass_ms(1_000)
    assert only(WithdrawCopy, answer).index == 1
    assert world.negotiator.speculation_view(world.now_ms).waiting_copies == 0


def test_a_copy_that_waits_is_withdrawn_when_its_stage_ends() -> None:
    world, _ = one_slow_task()
    world.pass_ms(1_100)
    assert only(WithdrawCopy, world.stage_ends(0, State.FAILED)).index == 1


def test_a_copy_that_spark_refuses_is_no_longer_waited_for() -> None:
    world, _ = one_slow_task()
    world.pass_ms(1_100)
    world.tell(ev.CopyRefused(stage=0, stage_attempt=0, index=1, why="the task set is gone"))
    view = world.negotiator.speculation_view(world.now_ms)
    assert (view.waiting_copies, view.ledger.copies_refused) == (0, 1)
    explanation = world.negotiator.explain_task(0, 1, world.now_ms)
    assert explanation is not None
    assert any("the task set is gone" in line for line in explanation.lines)


def test_a_task_that_is_not_slow_is_explained_with_its_numbers() -> None:
    world, _ = one_slow_task(detector={"baseline_lower_bound_ms": 60_000})
    world.pass_ms(2_000)
    explanation = world.negotiator.explain_task(0, 1, world.now_ms)
    assert explanation is not None
    assert "60" in explanation.verdict
    assert explanation.numbers
    assert world.negotiator.explain_task(0, 99, world.now_ms) is None
    assert world.negotiator.explain_task(7, 0, world.now_ms) is None


def test_a_summary_is_told_each_interval_while_stages_run() -> None:
    world, _ = one_slow_task(speculation={"log_interval_ms": 10_000})
    world.pass_ms(1_100)
    world.launch(0, 1, "1", copy=True)
    told = of(Summarize, world.pass_ms(30_000))
    assert told
    assert "1 copies started" in told[0].reason
    assert told[0].ledger is not None
    assert told[0].ledger.copies_launched == 1
    assert [(one.stage, one.state, one.slow_tasks) for one in told[0].stages] == [(0, "RUNNING", 1)]
    # Though nothing new has happened.
    assert len(of(Summarize, world.pass_ms(30_000))) == 3


def test_a_stage_with_slow_tasks_is_told_at_its_end() -> None:
    world, tasks = one_slow_task()
    world.pass_ms(1_100)
    world.launch(0, 1, "1", copy=True)
    world.end(tasks[1])
    told = only(Summarize, world.stage_ends(0))
    assert [(one.stage, one.state, one.speculative_executions) for one in told.stages] == [(0, "SUCCESS", 1)]
    assert told.ledger is not None


def test_a_stage_in_which_nothing_was_slow_is_told_with_its_metrics_as_well() -> None:
    world = Stragglers()
    for index, task_id in enumerate(world.fill(0, 40)):
        world.pass_ms(1 + index // 30)
        world.end(task_id)
    (told,) = of(Summarize, world.stage_ends(0))
    assert told.ledger is None
    (stage,) = told.stages
    assert (stage.finished_executions, stage.min_finished_for_speculation, stage.fastest_copies) == (40, 20, 0)
    assert stage.running_ms_by_index == {index: 30 + 2 * (index - 29) for index in range(39, 19, -1) if index >= 29} | {
        index: index + 1 for index in range(28, 19, -1)
    }
    assert of(Summarize, Stragglers(speculation={"enabled": False}).stage_ends(0)) == []


def test_a_new_context_begins_with_nothing_but_what_was_learnt_of_hosts() -> None:
    world, _ = one_slow_task()
    world.pass_ms(1_100)
    assert world.view().blocks
    world.tell(ev.DriverStopping())
    view = world.negotiator.speculation_view(world.now_ms)
    assert (view.blocks, view.stages, view.waiting_copies) == ((), (), 0)
    assert of(SetTimer, world.pass_ms(60_000)) == []
