"""Rows that were lost on their way leave nothing behind that seems to run for ever."""

from __future__ import annotations

from tests.core.stragglers import H2, H3, Stragglers
from tests.core.taskworld import T0, TaskWorld
from yarnspec.core.messages import events as ev
from yarnspec.core.messages.observations import Failure, RowKind, StageFlag, State
from yarnspec.core.tasks.task_table import Happened

SILENT_MS = 60_000


def test_the_table_settles_what_nothing_was_heard_of() -> None:
    those = TaskWorld()
    those.stage(2, flags=StageFlag.MAP)
    done, lost = those.launch(0, "h1", 10), those.launch(1, "h2", 20)
    those.end(done, 500)
    those.stage(1, stage=1)
    those.observe()
    happened = those.table.settle({0}, T0 + 20, T0 + 900)
    assert (happened.stages_ended, those.table.running) == ([], 1)
    stage = those.running()
    happened = those.table.settle({0}, T0 + 21, T0 + 900)
    assert happened.stages_ended == [(stage, State.KILLED)]
    assert (stage.ended_ms, list(those.table.stages)) == (T0 + 900, [(1, 0)])
    assert (those.table.running, those.table.running_on("e-h2"), those.table.running_on_host("h2")) == (0, 0, 0)
    # What comes after all says nothing any more.
    those.end(lost, 600)
    those.end_stage(610)
    assert those.observe() == Happened()
    assert those.table.running_on("e-h2") == 0


def test_a_stage_whose_tasks_have_all_ended_well_has_ended_well() -> None:
    those = TaskWorld()
    those.stage(1)
    those.end(those.launch(0, "h1"), 500)
    those.observe()
    assert [state for _, state in those.table.settle({0}, T0, T0 + 900).stages_ended] == [State.SUCCESS]


def test_counters_show_that_an_attempt_still_runs() -> None:
    those = TaskWorld()
    those.stage(1)
    slow = those.launch(0, "h1")
    those.end(those.launch(0, "h2", copy=True), 500)
    those.end_stage(510)
    those.count(slow, 70_000, 5)
    those.observe()
    those.table.settle({0}, T0 + 70_000, T0 + 80_000)
    assert those.table.running == 1
    happened = those.table.settle({0}, T0 + 70_001, T0 + 130_001)
    ((_, ended),) = happened.attempts_ended
    assert (ended.task_id, ended.state, ended.failure) == (slow.task_id, State.KILLED, Failure.KILLED)
    assert (those.table.running, ended.finish_ms) == (0, T0 + 70_000)


def running(world: Stragglers) -> int:
    return world.negotiator._speculation.table.running


def a_job_without_its_ends() -> Stragglers:
    """Job 0 with a copy: neither the ends of the slow task and its copy nor the stage's have come."""
    world = Stragglers(hosts=(H2, H3))
    world.tell(ev.JobStarted(job=0, stages=(0,)))
    tasks = world.fill(0, 4)
    world.pass_ms(900)
    for task_id in tasks[:3]:
        world.end(task_id)
    world.pass_ms(1_100)
    world.launch(0, 3, "1", copy=True)
    world.pass_ms(500)
    world.tell(ev.JobEnded(job=0))
    return world


def test_after_a_while_an_ended_job_s_stages_and_copies_have_ended_too() -> None:
    world = a_job_without_its_ends()
    assert running(world) == 2
    world.pass_ms(SILENT_MS - 1_000)
    assert running(world) == 2
    world.pass_ms(SILENT_MS + 1_000)
    view = world.negotiator.speculation_view(world.now_ms)
    assert running(world) == 0
    assert [(one.state, one.running_copies) for one in view.stages] == [("KILLED", 0)]
    assert (view.ledger.copies_running, view.ledger.copies_cancelled, view.slow_tasks) == (0, 1, 0)
    # Nothing is looked at any more.
    assert [name for name in world.due if name in ("judge-tasks", "ended-jobs")] == []


def test_a_stage_that_another_job_runs_goes_on() -> None:
    world = a_job_without_its_ends()
    world.tell(ev.JobStarted(job=1, stages=(0, 1)))
    world.pass_ms(3 * SILENT_MS)
    assert running(world) == 2
    world.tell(ev.JobEnded(job=1))
    world.pass_ms(2 * SILENT_MS)
    assert running(world) == 0


def test_of_a_job_that_ends_as_it_should_nothing_is_looked_at_again() -> None:
    world = Stragglers(hosts=(H2, H3))
    world.tell(ev.JobStarted(job=0, stages=(0,)))
    for task_id in world.fill(0, 2):
        world.end(task_id)
    world.stage_ends(0)
    world.tell(ev.JobEnded(job=0))
    assert "ended-jobs" not in world.due


def test_a_stage_that_never_ran_settles_with_its_job() -> None:
    world = Stragglers(hosts=(H2, H3))
    world.tell(ev.JobStarted(job=0, stages=(0,)))
    world.rows((RowKind.STAGE_STARTED, {"stage": 0, "stage_attempt": 0, "tasks": 3}))
    world.tell(ev.JobEnded(job=0))
    world.pass_ms(SILENT_MS)
    assert [one.state for one in world.negotiator.speculation_view(world.now_ms).stages] == ["KILLED"]
