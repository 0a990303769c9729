"""The line about resources, from what the core says."""

from __future__ import annotations

from tests.core.world import START_MS, World, hosts
from yarnspec.core.messages import events as ev
from yarnspec.core.messages.settings import ResourcesSettings
from yarnspec.observe.forms.resource_words import resources_in_words
from yarnspec.observe.status.resources import ResourcesFold


def words(world: World, have: int, wanted: int) -> str:
    """The line two seconds after the start."""
    fold = ResourcesFold()
    began = ev.AttemptStarted(
        application_id="a", attempt=1, epoch=1, container_id="c", host="h", placement_mode="blacklist"
    )
    fold.apply(began, START_MS)
    for command in world.commands:
        fold.apply(command, START_MS)
    status = fold.status(have)
    assert status is not None
    return resources_in_words(status, wanted, START_MS + 2_000)


def test_without_bounds_a_job_starts_at_a_share_and_then_has_what_it_has() -> None:
    world = World(initial_executors=10)
    world.start()
    assert words(world, 0, 10) == "created for 2 s"
    world.driver_ready()
    world.run(*world.wanted()[:2])
    assert words(world, 2, 10) == (
        "waiting for resources for 2 s; 2 executors, starts at 8 of 10; waits for more executors, 28 s more"
    )
    world.run(*world.wanted())
    world.tell(ev.JobStarted(job=0, stages=(0,)))
    assert words(world, 10, 10) == "executing for 2 s; 10 executors"
    world.tell(ev.ScaleRequested(least=4, most=10, by="ann"))
    assert words(world, 10, 10) == "executing for 2 s; 10 executors, at least 4, at most 10"


def test_with_bounds_they_are_said() -> None:
    world = World(initial_executors=4, resources=ResourcesSettings(min_executors=2, max_executors=4))
    world.start()
    world.tell(hosts())
    world.driver_ready()
    world.run(*world.wanted())
    world.tell(ev.JobStarted(job=0, stages=(0,)))
    assert words(world, 4, 4) == "executing for 2 s; 4 executors, at least 2, at most 4"


def test_after_the_end_there_is_nothing_to_wait_for() -> None:
    world = World(initial_executors=1)
    world.start()
    world.driver_ready()
    world.run(*world.wanted())
    world.tell(ev.DriverFinished(exit_code=1, traceback="", reason="no"))
    assert words(world, 0, 1) == ""
