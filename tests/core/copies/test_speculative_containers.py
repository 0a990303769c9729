"""Containers beside Spark's target, for copies that find no slot."""

from __future__ import annotations

from typing import Any

import pytest

from tests.core.stragglers import H2, H3, H4, NO_FLAGS, Stragglers
from tests.core.world import names, of, only
from yarnspec.core.detectors.execution_time import ExecutionTime
from yarnspec.core.messages import events as ev
from yarnspec.core.messages.commands import (
    AskHeldBlocks,
    BlockExecutor,
    Command,
    LaunchCopy,
    ReleaseContainer,
    RemoveExecutor,
    RequestContainers,
    UpdatePlacement,
    UpdateTaskBlocks,
)
from yarnspec.core.messages.observations import Failure, StageFlag, State


def no_free_slot(flags: StageFlag = NO_FLAGS, **changes: Any) -> tuple[Stragglers, list[int]]:
    """Two hosts, one slot each; stage 0's task on H3 is slow, and stage 1 has the slot of H2."""
    world = Stragglers(hosts=(H2, H3), slots=1, **changes)
    world.tell(ev.JobStarted(job=0, stages=(0, 1)))
    tasks = world.fill(0, 2, flags)
    world.pass_ms(900)
    world.end(tasks[0])
    world.stage(1, 1)
    world.launch(1, 0, "1")
    return world, tasks


def with_extra(flags: StageFlag = NO_FLAGS, **changes: Any) -> tuple[Stragglers, list[int], str]:
    world, tasks = no_free_slot(flags, **changes)
    asked = only(RequestContainers, world.pass_ms(5_000)).executor_ids
    assert asked == ("3",)
    world.executor("3", H4, cores=1)
    return world, tasks, "3"


def copy_wins(world: Stragglers, tasks: list[int], executor_id: str) -> list[Command]:
    copy = world.launch(0, 1, executor_id, copy=True)
    world.pass_ms(500)
    answer = world.end(copy) + world.end(tasks[1], State.KILLED, Failure.KILLED)
    return answer + world.stage_ends(0)


def test_a_container_is_asked_for_where_no_slot_is_free_and_never_where_the_task_runs() -> None:
    world, _ = no_free_slot()
    answer = world.pass_ms(1_200)
    assert of(LaunchCopy, answer)
    assert of(RequestContainers, answer) == []
    explanation = world.negotiator.explain_task(0, 1, world.now_ms)
    assert explanation is not None
    assert any("has not waited for a slot for 2 s yet" in line for line in explanation.lines)
    answer = world.pass_ms(3_000)
    assert len(only(RequestContainers, answer).executor_ids) == 1
    placement = only(UpdatePlacement, answer)
    assert [one.not_hosts for one in placement.wanted] == [(H3,)]
    assert world.view().extra == 1
    assert of(RequestContainers, world.pass_ms(60_000)) == []


def test_none_is_asked_for_while_a_slot_is_free() -> None:
    world = Stragglers(hosts=(H2, H3), slots=1)
    tasks = world.fill(0, 2)
    world.pass_ms(900)
    world.end(tasks[0])
    assert of(RequestContainers, world.pass_ms(60_000)) == []


def test_a_free_slot_on_a_blocked_host_or_where_the_task_runs_is_none() -> None:
    world = Stragglers(hosts=(H2, H3), slots=2)
    world.block(H2)
    world.stage(0, 2)
    done, _slow = world.launch(0, 0, "2"), world.launch(0, 1, "2")
    world.pass_ms(900)
    world.end(done)
    answer = world.pass_ms(6_000)
    assert only(UpdatePlacement, answer).blocked_hosts == (H2,)
    assert [one.not_hosts for one in only(UpdatePlacement, answer).wanted] == [(H3,)]


def test_none_is_asked_for_while_tasks_of_the_stage_wait_for_slots_themselves() -> None:
    world, _ = no_free_slot()
    assert of(LaunchCopy, world.pass_ms(1_200))
    world.stage(0, 4)
    assert of(RequestContainers, world.pass_ms(10_000)) == []
    explanation = world.negotiator.explain_task(0, 1, world.now_ms)
    assert explanation is not None
    assert any("2 tasks wait for slots, and might get a new one before it" in line for line in explanation.lines)


def test_none_is_asked_for_while_tasks_of_another_stage_wait_for_slots() -> None:
    """First in, first out: a stage with a lower number takes every new slot, and the copy would go on to wait."""
    world = Stragglers(hosts=(H2, H3), slots=1)
    world.stage(3, 2)
    quick, _ = world.launch(3, 0, "1"), world.launch(3, 1, "2")
    world.pass_ms(900)
    world.end(quick)
    world.stage(1, 100)
    launched = [world.launch(1, 0, "1")]
    for _ in range(10):
        for asked in of(RequestContainers, world.pass_ms(3_000)):
            for executor_id in asked.executor_ids:
                world.executor(executor_id, H4, cores=1)
                launched.append(world.launch(1, len(launched), executor_id))
    assert (len(launched), world.view().extra) == (1, 0)
    for index in range(1, 100):
        world.end(launched.pop())
        launched.append(world.launch(1, index, "1"))
    assert len(only(RequestContainers, world.pass_ms(1_000)).executor_ids) == 1


def test_none_is_asked_for_where_no_other_host_is_left() -> None:
    world, _ = no_free_slot()
    world.tell(ev.HostsReported(hosts=(ev.HostReport(host=H3), ev.HostReport(host=H2, state="LOST"))))
    assert of(RequestContainers, world.pass_ms(10_000)) == []
    explanation = world.negotiator.explain_task(0, 1, world.now_ms)
    assert explanation is not None
    assert any("without an attempt of it" in line for line in explanation.lines)


def test_where_none_serves_all_copies_only_those_count_that_it_serves() -> None:
    """Copies of a task on H2 and of one on H3: no third host is there, and on H3 only the former's can start."""
    world = Stragglers(hosts=(H2, H3), slots=1)
    for executor_id, host in (("8", H2), ("9", H3)):
        world.executor(executor_id, host, cores=1)
    world.tell(ev.HostsReported(hosts=(ev.HostReport(host=H2), ev.HostReport(host=H3))))
    tasks = world.fill(0, 4)
    world.pass_ms(900)
    world.end(tasks[0])
    world.end(tasks[1])
    world.stage(1, 2)
    world.launch(1, 0, "1")
    world.launch(1, 1, "2")
    answer = world.pass_ms(5_000)
    assert [(one.index, one.not_hosts) for one in of(LaunchCopy, answer)] == [(2, (H2,)), (3, (H3,))]
    (extra,) = only(RequestContainers, answer).executor_ids
    assert [one.not_hosts for one in only(UpdatePlacement, answer).wanted] == [(H2,)]
    explanation = world.negotiator.explain_task(0, 3, world.now_ms)
    assert explanation is not None
    assert any("serves an older copy" in line for line in explanation.lines)
    # The next one's turn comes when the first has started.
    world.executor(extra, H3, cores=1)
    world.launch(0, 2, extra, copy=True)
    answer = world.pass_ms(3_000)
    assert [one.not_hosts for one in only(UpdatePlacement, answer).wanted] == [(H3,)]


def test_the_request_is_withdrawn_when_the_copy_is_not_needed_any_more() -> None:
    world, tasks = no_free_slot()
    world.pass_ms(5_000)
    answer = world.end(tasks[1]) + world.stage_ends(0) + world.pass_ms(1_000)
    assert only(ReleaseContainer, answer).executor_id == "3"
    assert world.wanted() == ()
    assert world.view().extra == 0


def test_a_request_that_waits_follows_the_copies_that_it_is_for() -> None:
    world = Stragglers(hosts=(H2, H3, H4), slots=1)
    world.stage(0, 2)
    first = [world.launch(0, 0, "1"), world.launch(0, 1, "2")]
    world.pass_ms(900)
    world.end(first[0])
    world.stage(1, 2)
    second = [world.launch(1, 0, "1"), world.launch(1, 1, "3")]
    world.pass_ms(900)
    world.end(second[1])
    world.stage(2, 1)
    world.launch(2, 0, "3")
    placement = only(UpdatePlacement, world.pass_ms(2_500))
    assert [one.not_hosts for one in placement.wanted] == [(H3,)]
    world.pass_ms(2_500)
    # The copy that the first request was for is not needed any more; the other one's task runs on H2.
    world.end(first[1])
    world.stage_ends(0)
    world.stage(3, 1)
    world.launch(3, 0, "2")
    placement = of(UpdatePlacement, world.pass_ms(2_500))[-1]
    assert [one.not_hosts for one in placement.wanted] == [(H2,)]


def test_an_extra_container_is_given_back_when_it_is_idle_and_first_takes_no_new_task() -> None:
    world, tasks, extra = with_extra()
    copy_wins(world, tasks, extra)
    answer = world.pass_ms(8_000)
    assert of(ReleaseContainer, answer) == []
    answer = world.pass_ms(5_000)
    blocked = of(UpdateTaskBlocks, answer)[0]
    assert blocked.executors == (extra,)
    released = only(ReleaseContainer, answer)
    assert released.executor_id == extra
    assert answer.index(blocked) < answer.index(released)
    # A task that started there while the container ends would run twice.
    assert of(UpdateTaskBlocks, answer) == [blocked]
    assert of(UpdateTaskBlocks, world.pass_ms(2_000)) == []
    gone = world.lose(extra, -105, host=H4)
    assert (of(UpdateTaskBlocks, gone), of(RequestContainers, gone)) == ([], [])
    assert world.view().running == 2


def test_an_extra_container_that_gets_a_task_at_the_last_moment_stays() -> None:
    world, tasks, extra = with_extra()
    copy_wins(world, tasks, extra)
    answer: list[Command] = []
    while not of(UpdateTaskBlocks, answer):
        answer = world.pass_ms(100)
    world.stage(2, 1)
    task = world.launch(2, 0, extra)
    world.pass_ms(600)
    assert of(UpdateTaskBlocks, world.commands)[-1].executors == ()
    assert of(ReleaseContainer, world.pass_ms(20_000)) == []
    world.end(task)
    assert of(ReleaseContainer, world.pass_ms(20_000))


def test_a_copy_that_waits_and_cannot_start_there_keeps_no_extra_container() -> None:
    world, tasks, extra = with_extra()
    copy_wins(world, tasks, extra)
    world.block(H4)
    world.stage(2, 2)
    world.end(world.launch(2, 0, "2"))
    world.launch(2, 1, "2")
    answer = world.pass_ms(30_000)
    assert [(one.stage, one.index) for one in of(LaunchCopy, answer)] == [(2, 1)]
    assert [one.executor_id for one in of(ReleaseContainer, answer)] == [extra]


def kept_off(world: Stragglers) -> tuple[str, ...]:
    """The executors that take no task, as Spark was told last."""
    return of(UpdateTaskBlocks, world.commands)[-1].executors


def with_map_output(**changes: Any) -> tuple[Stragglers, str]:
    """An extra executor that holds a map output of stage 0, which has ended; stage 1 of the same job runs."""
    world, tasks, extra = with_extra(StageFlag.MAP, **changes)
    world.held[extra] = ev.ONLY_MAP_OUTPUTS
    copy_wins(world, tasks, extra)
    return world, extra


def job_ends(world: Stragglers) -> list[Command]:
    world.end(max(world.running))
    world.stage_ends(1)
    return world.tell(ev.JobEnded(job=0))


def test_map_outputs_are_not_given_back_while_a_job_runs_and_spark_has_not_forgotten_them() -> None:
    world, extra = with_map_output()
    answer = world.pass_ms(1_200_000)
    assert of(ReleaseContainer, answer) == []
    assert len(of(AskHeldBlocks, answer)) in (19, 20)
    world.pass_ms(2_000)
    assert kept_off(world) == ()
    world.held[extra] = 0
    assert only(ReleaseContainer, world.pass_ms(62_000)).executor_id == extra


def test_map_outputs_stay_between_the_jobs_of_a_query() -> None:
    """With adaptive execution each stage of a query is a job, and the next one reads what the last one wrote."""
    world, _ = with_map_output()
    answer = world.pass_ms(15_000) + job_ends(world) + world.pass_ms(290_000)
    assert of(ReleaseContainer, answer) == []
    world.tell(ev.JobStarted(job=1, stages=(2, 3), parents=((3, (2,)),)))
    assert of(ReleaseContainer, world.pass_ms(600_000)) == []
    world.tell(ev.JobEnded(job=1))
    assert of(ReleaseContainer, world.pass_ms(299_000)) == []


def test_map_outputs_go_when_no_job_has_run_for_minutes() -> None:
    """In a session Spark remembers the shuffle of each DataFrame that somebody holds."""
    world, extra = with_map_output()
    answer = job_ends(world) + world.pass_ms(299_000)
    assert of(ReleaseContainer, answer) == []
    released = only(ReleaseContainer, world.pass_ms(63_000))
    assert released.executor_id == extra
    assert "map outputs, and no job has run for 5 min" in released.reason


@pytest.mark.parametrize("gap_ms", [0, 200, 400])
def test_an_executor_that_leaves_when_the_next_job_starts_works_for_it(gap_ms: int) -> None:
    world, extra = with_map_output()
    job_ends(world)
    while not of(UpdateTaskBlocks, world.commands) or kept_off(world) != (extra,):
        world.pass_ms(100)
    world.pass_ms(gap_ms)
    world.tell(ev.JobStarted(job=1, stages=(2, 3), parents=((3, (2,)),)))
    world.stage(3, 50)
    world.launch(3, 0, "1")
    world.launch(3, 1, "2")
    assert of(ReleaseContainer, world.pass_ms(1_500)) == []
    assert kept_off(world) == ()


def test_what_a_failed_attempt_of_a_stage_had_finished_is_not_given_back() -> None:
    """After a failed fetch Spark keeps it, and runs only the rest of the stage."""
    world, tasks, extra = with_extra(StageFlag.MAP)
    world.held[extra] = ev.ONLY_MAP_OUTPUTS
    copy = world.launch(0, 1, extra, copy=True)
    world.pass_ms(500)
    world.end(copy)
    world.end(tasks[1], State.KILLED, Failure.KILLED)
    world.stage_ends(0, State.FAILED)
    world.stage(0, 1, StageFlag.MAP, stage_attempt=1)
    world.launch(0, 0, "2", stage_attempt=1)
    answer = world.pass_ms(600_000)
    assert {one.executor_id for one in of(AskHeldBlocks, answer)} == {extra}
    assert of(ReleaseContainer, answer) == []


def test_map_outputs_are_not_given_back_while_a_stage_runs_of_which_no_job_is_known() -> None:
    world, extra = with_map_output()
    world.stage(7, 1)
    world.launch(7, 0, "2")
    answer = job_ends(world) + world.pass_ms(600_000)
    assert {one.executor_id for one in of(AskHeldBlocks, answer)} == {extra}
    assert of(ReleaseContainer, answer) == []


def test_what_holds_cached_data_is_not_given_back_and_takes_tasks_meanwhile() -> None:
    """A locally checkpointed RDD is lost with its executor, and a cached one is computed again."""
    world, tasks, extra = with_extra()
    world.held[extra] = 2
    copy_wins(world, tasks, extra)
    answer = world.pass_ms(60_000)
    assert [one.executor_id for one in of(AskHeldBlocks, answer)] == [extra]
    assert [one.executors for one in of(UpdateTaskBlocks, answer)] == [(extra,), ()]
    assert of(ReleaseContainer, answer) == []
    world.end(max(world.running))
    world.stage_ends(1)
    world.tell(ev.JobEnded(job=0))
    assert len(of(AskHeldBlocks, world.pass_ms(300_000))) in (4, 5)
    world.held[extra] = -1  # nobody could say
    assert of(ReleaseContainer, world.pass_ms(120_000)) == []
    world.held[extra] = 0
    assert only(ReleaseContainer, world.pass_ms(62_000)).executor_id == extra


def test_an_answer_from_before_the_last_task_says_nothing() -> None:
    world, tasks, extra = with_extra()
    world.silent = True
    copy_wins(world, tasks, extra)
    while not of(AskHeldBlocks, world.commands):
        world.pass_ms(100)
    assert of(AskHeldBlocks, world.pass_ms(30_000)) == []
    world.stage(2, 1)
    world.end(world.launch(2, 0, extra))
    assert of(ReleaseContainer, world.tell(ev.HeldBlocksTold(executor_id=extra, count=0))) == []
    world.silent = False
    world.held[extra] = 1
    assert of(ReleaseContainer, world.pass_ms(60_000)) == []


@pytest.mark.parametrize("seen_late", [False, True])
@pytest.mark.parametrize("enabled", [False, True])
def test_a_task_that_begins_before_a_surplus_executor_is_barred_is_neither_lost_nor_run_twice(
    enabled: bool, seen_late: bool
) -> None:
    """It writes a map output: the executor is asked again when it is idle, and keeps what may still be read."""
    world = Stragglers(hosts=(H2, H3, H4), speculation={"enabled": enabled})
    world.silent = True
    world.stage(0, 4, StageFlag.MAP)
    running = [world.launch(0, 0, "1"), world.launch(0, 1, "2")]
    told = ev.HeldBlocksTold(executor_id="3", count=0)
    assert only(AskHeldBlocks, world.tell(ev.ScaleRequested(least=1, most=2, by="ann"))).executor_id == "3"
    if not seen_late:
        task = world.launch(0, 2, "3")
    assert only(UpdateTaskBlocks, world.tell(told)).executors == ("3",)
    if seen_late:
        while len(of(AskHeldBlocks, world.commands)) < 2:
            world.pass_ms(100)
        task = world.launch(0, 2, "3")
        assert of(ReleaseContainer, world.tell(told)) == []
    asked = len(of(AskHeldBlocks, world.commands))
    world.pass_ms(900)
    assert len(of(AskHeldBlocks, world.commands)) == asked
    world.end(task)
    answer = world.pass_ms(3_000)
    assert only(AskHeldBlocks, answer).executor_id == "3"
    kept = world.tell(ev.HeldBlocksTold(executor_id="3", count=ev.ONLY_MAP_OUTPUTS))
    assert only(UpdateTaskBlocks, kept).executors == ()
    world.silent = False
    world.held["3"] = ev.ONLY_MAP_OUTPUTS
    assert of(ReleaseContainer, world.pass_ms(300_000)) == []
    for task in running:
        world.end(task)
    world.stage_ends(0)
    world.held["3"] = 0
    assert only(ReleaseContainer, world.pass_ms(70_000)).executor_id == "3"


def test_after_a_stop_of_speculation_one_that_is_needed_again_is_not_given_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world, _, extra = with_extra()
    world.silent = True
    monkeypatch.setattr(world.negotiator._speculation.detector, "judge", None)
    world.pass_ms(1_000)
    assert world.view().stopped
    assert kept_off(world) == (extra,)
    assert only(AskHeldBlocks, world.tell(ev.JobEnded(job=0))).executor_id == extra
    world.lose("2", -100, host=H3)
    assert kept_off(world) == ()
    assert of(ReleaseContainer, world.tell(ev.HeldBlocksTold(executor_id=extra, count=0))) == []


def test_without_a_running_stage_the_end_of_the_idle_time_still_comes() -> None:
    world, tasks, extra = with_extra()
    copy_wins(world, tasks, extra)
    world.end(max(world.running))
    world.stage_ends(1)
    assert only(ReleaseContainer, world.pass_ms(15_000)).executor_id == extra
    world.lose(extra, -105, host=H4)
    assert set(names(world.pass_ms(600_000))) == {"Summarize"}


def test_an_extra_takes_the_place_of_an_executor_that_is_lost() -> None:
    world, tasks, extra = with_extra()
    copy_wins(world, tasks, extra)
    answer = world.lose("2", -100, host=H3)
    assert of(RequestContainers, answer) == []
    assert world.view().extra == 0
    assert of(ReleaseContainer, world.pass_ms(60_000)) == []


def test_dynamic_allocation_that_wants_more_takes_the_extra_over_and_may_end_it() -> None:
    world, _, extra = with_extra()
    assert of(RequestContainers, world.tell(ev.TargetExecutorsChanged(count=3))) == []
    assert world.view().extra == 0
    assert only(ReleaseContainer, world.tell(ev.ExecutorsUnwanted(executor_ids=(extra,)))).executor_id == extra


def test_an_extra_that_spark_wants_ended_is_not_replaced_by_itself() -> None:
    world, tasks, extra = with_extra()
    copy_wins(world, tasks, extra)
    answer = world.tell(ev.ExecutorsUnwanted(executor_ids=(extra,))) + world.lose(extra, -105, host=H4)
    assert of(RequestContainers, answer) == []


def test_after_an_extra_that_dies_young_the_next_one_waits() -> None:
    world, _, extra = with_extra()
    world.pass_ms(31_000)
    answer = world.lose(extra, 1, host=H4)
    assert of(RequestContainers, answer + world.pass_ms(29_000)) == []
    assert len(only(RequestContainers, world.pass_ms(2_000)).executor_ids) == 1


def test_one_container_serves_as_many_waiting_copies_as_it_has_slots() -> None:
    world = Stragglers(
        hosts=(H2, H3), slots=4, speculation={"max_share_of_application": 1.0, "max_share_of_stage": 1.0}
    )
    world.stage(0, 12)
    for index in range(4):
        world.launch(0, index, "2")
    world.pass_ms(900)
    for index in range(4, 12):
        world.end(world.launch(0, index, "1"))
    world.stage(1, 4)
    for index in range(4):
        world.launch(1, index, "1")
    answer = world.pass_ms(6_000)
    assert len(of(LaunchCopy, answer)) == 4
    assert sum(len(one.executor_ids) for one in of(RequestContainers, answer)) == 1
    assert {one.not_hosts for one in of(UpdatePlacement, answer)[-1].wanted} == {(H3,)}


def test_executors_that_a_block_puts_out_of_work_are_stood_in_for_while_tasks_wait() -> None:
    world = Stragglers(hosts=(H2, H3), slots=1)
    world.block(H3)
    world.stage(0, 4)
    tasks = [world.launch(0, 0, "1")]
    answer = world.pass_ms(5_000)
    assert len(only(RequestContainers, answer).executor_ids) == 1
    world.executor("3", H4, cores=1)
    tasks.append(world.launch(0, 1, "3"))
    assert of(RequestContainers, world.pass_ms(20_000)) == []
    for task_id in tasks:
        world.end(task_id)
    for index in (2, 3):
        world.end(world.launch(0, index, "1"))
    world.stage_ends(0)
    assert only(ReleaseContainer, world.pass_ms(15_000)).executor_id == "3"


def test_an_executor_that_is_blocked_by_itself_is_stood_in_for() -> None:
    world = Stragglers(hosts=(H2, H3), slots=1)
    wish = ev.BlockRequested(host=H3, executor_id="2", reason="tasks fail", by="a test", automatic=True, cause="faulty")
    only(BlockExecutor, world.tell(wish))
    world.stage(0, 4)
    world.launch(0, 0, "1")
    assert len(only(RequestContainers, world.pass_ms(5_000)).executor_ids) == 1


def test_none_stands_in_for_a_stage_of_a_profile() -> None:
    """Its tasks wait for executors of the profile: more of the usual ones would stand idle, and come again."""
    world = Stragglers(hosts=(H2, H3), slots=1)
    profile = ev.ExecutorProfile(id=7, count=0, memory_mb=4096)
    world.tell(ev.TargetExecutorsChanged(count=2, profiles=(profile,)))
    world.block(H3)
    world.stage(0, 4, profile=7)
    assert of(RequestContainers, world.pass_ms(10_000)) == []
    # The next stage is of the usual size, which is known before its first task starts.
    world.stage(1, 4)
    assert len(only(RequestContainers, world.pass_ms(5_000)).executor_ids) == 1


def test_a_block_for_slowness_is_not_stood_in_for() -> None:
    world = Stragglers(hosts=(H2, H3), slots=1)
    world.block(H3, automatic=True, cause="slow", duration_ms=60_000)
    world.stage(0, 4)
    world.launch(0, 0, "1")
    assert of(RequestContainers, world.pass_ms(30_000)) == []


def test_one_that_registers_when_no_stage_runs_any_more_is_given_back() -> None:
    world, tasks = no_free_slot()
    assert only(RequestContainers, world.pass_ms(5_000)).executor_ids == ("3",)
    world.allocate("3", H4)
    world.end(tasks[1])
    world.stage_ends(0)
    world.stage_ends(1)
    world.tell(ev.JobEnded(job=0))
    assert of(ReleaseContainer, world.pass_ms(60_000)) == []
    world.register("3", H4)
    assert only(ReleaseContainer, world.pass_ms(60_000)).executor_id == "3"


def stop_speculation(world: Stragglers, monkeypatch: pytest.MonkeyPatch) -> list[Command]:
    monkeypatch.setattr(ExecutionTime, "judge", lambda *_: 1 // 0)
    answer = world.pass_ms(600)
    assert world.negotiator.speculation_view(world.now_ms).stopped
    return answer


def test_when_speculation_stops_extra_containers_go_with_the_jobs_that_ran_then(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world, _, extra = with_extra()
    world.tell(ev.JobStarted(job=1, stages=(1,)))
    answer = stop_speculation(world, monkeypatch)
    assert only(UpdateTaskBlocks, answer).executors == (extra,)
    world.tell(ev.JobStarted(job=2, stages=(2,)))
    answer += world.tell(ev.JobEnded(job=0))
    assert of(ReleaseContainer, answer) == []
    answer = world.tell(ev.JobEnded(job=1))
    assert only(ReleaseContainer, answer).executor_id == extra
    assert only(RemoveExecutor, answer).executor_id == extra
    assert of(UpdateTaskBlocks, answer) == []  # it takes no task until it is gone
    assert of(RequestContainers, world.lose(extra, -105, host=H4)) == []
    assert world.view().extra == 0


@pytest.mark.parametrize("held", [1, ev.ONLY_MAP_OUTPUTS])
def test_when_speculation_stops_what_holds_data_stays_and_takes_tasks(
    monkeypatch: pytest.MonkeyPatch, held: int
) -> None:
    world, _, extra = with_extra()
    world.held[extra] = held
    stop_speculation(world, monkeypatch)
    answer = world.tell(ev.JobEnded(job=0))
    assert of(ReleaseContainer, answer) == []
    assert only(UpdateTaskBlocks, answer).executors == ()
    world.tell(ev.JobStarted(job=1, stages=(2,)))
    assert of(ReleaseContainer, world.tell(ev.JobEnded(job=1))) == []


def test_when_speculation_stops_containers_without_an_executor_go_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    world, _ = no_free_slot()
    only(RequestContainers, world.pass_ms(5_000))
    world.allocate("3", H4)
    assert only(ReleaseContainer, stop_speculation(world, monkeypatch)).executor_id == "3"
    monkeypatch.undo()
    world, _ = no_free_slot()
    only(RequestContainers, world.pass_ms(5_000))
    assert only(ReleaseContainer, stop_speculation(world, monkeypatch)).executor_id == "3"
    assert world.wanted() == ()


def test_a_copy_waits_for_a_slot_of_its_stages_profile_and_none_is_asked_for_beside_spark() -> None:
    """The usual executors stand idle, but Spark would start nothing of this stage on them."""
    world = Stragglers(hosts=(H2, H3), slots=1)
    profile = ev.ExecutorProfile(id=7, count=2, memory_mb=4096, slots=1)
    asked = only(RequestContainers, world.tell(ev.TargetExecutorsChanged(count=2, profiles=(profile,)))).executor_ids
    for executor_id, host in zip(asked, (H4, H3), strict=True):
        world.executor(executor_id, host, cores=1)
    world.tell(ev.JobStarted(job=0, stages=(0, 1)))
    world.stage(0, 2, profile=7)
    quick, _slow = (world.launch(0, index, executor_id) for index, executor_id in enumerate(asked))
    world.pass_ms(900)
    world.end(quick)
    world.stage(1, 1, profile=7)
    world.launch(1, 0, asked[0])
    answer = world.pass_ms(60_000)
    assert of(LaunchCopy, answer)
    assert of(RequestContainers, answer) == []
    explanation = world.negotiator.explain_task(0, 1, world.now_ms)
    assert explanation is not None
    assert any("executors of resource profile 7" in line for line in explanation.lines)
