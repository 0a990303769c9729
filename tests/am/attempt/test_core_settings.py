"""What the core is told of the options."""

from __future__ import annotations

import msgspec
import pytest

from yarnspec import options
from yarnspec.am.__main__ import earlier_attempts
from yarnspec.am.attempt.core_settings import settings_of
from yarnspec.am.attempt.earlier import Earlier
from yarnspec.am.attempt.epoch_numbers import attempt_of, epoch_of, epochs_of
from yarnspec.am.end.attempt_endings import ended_before, killed, taken_away
from yarnspec.core.lifecycle.restarts import Restarts
from yarnspec.core.messages.events import ExecutorProfile, PlacementInEffect
from yarnspec.core.options.recovery import EPOCH_MAX
from yarnspec.journal.writer import JournalOptions
from yarnspec.plan import ExecutorSize, Plan, Program
from yarnspec.yarn.rm.rm_reports import AttemptReport


def plan(*settings: str) -> Plan:
    return Plan(
        name="etl",
        user="me",
        queue="default",
        program=Program(primary="job.py"),
        executors=ExecutorSize(heap_mb=512, container_memory_mb=1024, cores=2),
        initial_executors=3,
        placement_mode="blacklist",
        python="python3",
        driver_python="python3",
        worker_python="python3",
        driver_heap_mb=512,
        history_directory="/h",
        options=options.load(None, settings, {}).options,
    )


def test_options_reach_the_core() -> None:
    told = ExecutorProfile(id=0, count=0, memory_mb=2000)
    settings = settings_of(
        plan(
            "speculation.max_concurrent_executions=3",
            "detector.kind=execution-time",
            "slow-task-detector.check-interval=250 ms",
            "flink.blacklist.timeout.in.millis=90000",
        ),
        Earlier(executor=told),
    )
    assert settings.executor_told == told
    assert settings.speculation.max_concurrent_executions == 3
    assert (settings.detector.kind, settings.detector.check_interval_ms) == ("execution-time", 250)
    assert settings.blocks.slow_duration_ms == 90_000


def test_what_decides_on_recovery_is_an_option_with_the_same_default() -> None:
    shipped = options.default_options().recovery
    batches = JournalOptions()
    batched = (batches.buffer_bytes, round(batches.flush_interval_s * 1000))
    assert (shipped.journal_buffer_bytes, shipped.flush_interval_ms) == batched
    told = settings_of(plan("recovery.window=7 s", "recovery.keep_for=2 min", "recovery.repeatable=true"), Earlier(), 1)
    assert (told.recovery.window_ms, told.recovery.keep_for_ms, told.recovery.repeatable) == (7_000, 120_000, True)


def test_people_are_told_of_the_placement_that_holds() -> None:
    """A constraint that ties executors to others leaves the hosts to YARN: nothing is spread."""
    asked = msgspec.structs.replace(plan("placement.max_per_host=2", "placement.spread_wait=3 s"), queue_label="fast")
    held = PlacementInEffect(spread=True, spread_wait_ms=3_000, max_per_host=2, label="fast")
    assert settings_of(asked, Earlier()).placement_in_effect == held
    assert not settings_of(plan("placement.constraint=in,node,all/db"), Earlier()).placement_in_effect.spread


def test_an_attempt_has_a_range_of_epochs_only_while_recovery_is_on() -> None:
    on = plan()
    assert [epoch_of(on, attempt) for attempt in (1, 2, 3)] == [1, 6, 11]
    assert [attempt_of(on, epoch) for epoch in (0, 1, 5, 6, 10, 11)] == [0, 1, 1, 2, 2, 3]
    assert [epoch_of(plan("recovery.driver_restarts=0"), each) for each in (1, 2)] == [1, 2]
    off = plan("recovery.enabled=false")
    assert [epoch_of(off, attempt) for attempt in (1, 2, 3)] == [1, 2, 3]


@pytest.mark.parametrize(
    ("attempts", "wanted", "restarts"),
    [(1, 9, 9), (2, 9, 7), (2, 4, 4), (3, 9, 5), (4, 4, 4), (5, 4, 4), (6, 4, 3), (10, 4, 2), (38, 4, 0), (60, 4, 0)],
)
def test_with_many_attempts_a_driver_has_fewer_lives_in_each(attempts: int, wanted: int, restarts: int) -> None:
    asked = plan("recovery.enabled=true", f"recovery.driver_restarts={wanted}")
    many = msgspec.structs.replace(asked, max_attempts=attempts)
    last = epoch_of(many, attempts + 3)  # YARN may not count three
    assert settings_of(many, Earlier(), epoch_of(many, 1)).recovery.driver_restarts == restarts
    assert last + restarts <= max(EPOCH_MAX, attempts + 3)


@pytest.mark.parametrize(("attempt", "enabled", "restarts"), [(1, True, 4), (8, True, 4), (9, True, 0), (10, False, 0)])
def test_no_life_has_a_number_that_sparks_ids_have_no_room_for(attempt: int, enabled: bool, restarts: int) -> None:
    on = plan("recovery.enabled=true")
    recovery = settings_of(on, Earlier(), epoch_of(on, attempt)).recovery
    assert (recovery.enabled, recovery.driver_restarts) == (enabled, restarts)
    assert bool(recovery.off) is not enabled


def test_without_recovery_no_driver_is_started_again() -> None:
    recovery = settings_of(plan("recovery.enabled=false"), Earlier(), 1).recovery
    assert Restarts(recovery).next() is None


PREEMPTED = "AM Container exited with  exitCode: -102\nDiagnostics: Container preempted"


def ended_attempt(number: int) -> AttemptReport:
    return AttemptReport(
        id=f"a{number}",
        number=number,
        am_container_id="",
        am_host=None,
        started_ms=0,
        finished_ms=1,
    )


def test_lives_that_yarn_took_away_are_not_held_against_the_program() -> None:
    on = plan("recovery.enabled=true")
    texts = {1: PREEMPTED, 2: "exitCode: 143", 3: ""}
    attempts = [ended_attempt(number) for number in texts]

    def diagnostics(attempt_id: str) -> str:
        return texts[int(attempt_id.removeprefix("a"))]

    assert taken_away(earlier_attempts(4, lambda: attempts, diagnostics)) == (1,)
    assert earlier_attempts(1, lambda: attempts, diagnostics) == ()
    spared = epochs_of(on, (1,))
    assert spared == (1, 2, 3, 4, 5)
    assert settings_of(on, Earlier(), epoch_of(on, 4), spared=spared).recovery.taken_away == spared


def test_an_attempt_that_somebody_outside_ended_says_nothing_about_the_program() -> None:
    texts = (
        PREEMPTED,
        "AM Container exited with  exitCode: 137",
        "exitCode: 143\nDiagnostics: Container killed on request",
        "exitCode: -104\nDiagnostics: running beyond the 'PHYSICAL' memory limit. Exit code is 143",
        "exitCode: 70",
        "ApplicationMaster for attempt appattempt_1_0001_000006 timed out",
        "",
    )
    attempts = [
        msgspec.structs.replace(ended_attempt(number), diagnostics=text) for number, text in enumerate(texts, start=1)
    ]
    assert killed(attempts) == (1, 2, 3, 6)


def test_the_wait_for_an_attempt_counts_from_the_end_of_the_one_before() -> None:
    attempts = [msgspec.structs.replace(ended_attempt(number), finished_ms=number * 1_000) for number in (1, 2)]
    assert ended_before(attempts, 3) == 2_000
    assert ended_before(attempts, 4) == 0  # the ResourceManager does not tell of the third
    assert ended_before((), 2) == 0
    on = plan("recovery.keep_for=7 min")
    assert settings_of(on, Earlier(), 1).recovery.keep_for_ms == 420_000


def test_of_earlier_attempts_the_newest_are_asked_for_first_and_what_was_heard_counts() -> None:
    attempts = [ended_attempt(1), ended_attempt(2)]

    def diagnostics(attempt_id: str) -> str:
        if attempt_id == "a1":
            raise OSError("no answer")
        return PREEMPTED

    assert [one.diagnostics for one in earlier_attempts(3, lambda: attempts, diagnostics)] == ["", PREEMPTED]


def test_without_the_resource_manager_every_life_counts() -> None:
    def nobody() -> list[AttemptReport]:
        raise OSError("no answer")

    assert earlier_attempts(2, nobody, str) == ()
