"""Blocks that an earlier attempt granted and the next one keeps."""

from __future__ import annotations

from yarnspec.am.attempt.earlier import Earlier, earlier_of
from yarnspec.core.blocking.blocklist import SPARK, SUBMIT
from yarnspec.core.messages.commands import BeginRescale, BlockHost, ChangeBounds, Command, UnblockHost
from yarnspec.core.messages.events import BlockRequested, DriverReady, Event, ExecutorProfile
from yarnspec.core.messages.recoveryevents import EpochRefused
from yarnspec.errors import ClusterUnreachable
from yarnspec.observe.forms.records import Record, record_of

NOW_MS = 1_700_000_000_000


def records(*messages: Event | Command) -> list[Record]:
    return [record_of(message, seq=number, time_ms=NOW_MS, epoch=1) for number, message in enumerate(messages, 1)]


def block(host: str, until_ms: int | None = None, by: str = "ann") -> tuple[Event, Command]:
    return (
        BlockRequested(host=host, reason="slow disk", by=by),
        BlockHost(host=host, until_ms=until_ms, by=by, reason="slow disk (blocked; 1 blocked of 4 running hosts)"),
    )


def test_a_block_is_kept_with_its_reason_and_what_is_left_of_its_time() -> None:
    found = earlier_of(records(*block("h2"), *block("h1", NOW_MS + 5000)), NOW_MS)
    assert [(one.host, one.duration_ms, one.by, one.reason) for one in found.wishes] == [
        ("h1", 5000, "ann", "slow disk"),
        ("h2", None, "ann", "slow disk"),
    ]
    assert all(one.earlier and one.force and not one.automatic for one in found.wishes)
    assert found.lifted == frozenset()


def test_what_was_lifted_or_is_over_is_not_kept() -> None:
    lifted = UnblockHost(host="h1", reason="unblocked by ann")
    found = earlier_of(records(*block("h1"), *block("h2", NOW_MS), lifted), NOW_MS)
    assert found == Earlier(lifted=frozenset({"h1", "h2"}))


def test_blocked_again_after_it_was_lifted() -> None:
    found = earlier_of(records(*block("h1"), UnblockHost(host="h1", reason=""), *block("h1")), NOW_MS)
    assert [one.host for one in found.wishes] == ["h1"]
    assert found.lifted == frozenset()


def test_exclusions_at_submit_are_known_to_every_attempt_unless_lifted() -> None:
    excluded = BlockHost(host="h1", until_ms=None, by=SUBMIT, reason="excluded at submit (blocked)")
    assert earlier_of(records(excluded), NOW_MS) == Earlier()
    lifted = UnblockHost(host="h1", reason="unblocked by ann")
    assert earlier_of(records(excluded, lifted), NOW_MS).lifted == {"h1"}


def test_what_was_about_a_stage_or_found_by_a_detector_is_not_kept() -> None:
    of_a_stage = BlockHost(host="h1", until_ms=None, by="ann", reason="slow", level="stage", stage=3)
    of_the_cluster = BlockHost(host="h2", until_ms=None, by="root", reason="bad disk", level="cluster")
    slow = BlockHost(host="h3", until_ms=NOW_MS + 9000, by="progress", reason="4x slower", cause="slow")
    faulty = BlockHost(host="h4", until_ms=NOW_MS + 9000, by="deaths", reason="3 executors died", cause="faulty")
    back_for_a_stage = UnblockHost(host="h4", reason="the stage ended", level="stage", stage=3)
    found = earlier_of(records(of_a_stage, of_the_cluster, slow, faulty, back_for_a_stage), NOW_MS)
    assert [(one.host, one.automatic, one.cause) for one in found.wishes] == [("h4", True, "faulty")]
    assert found.lifted == frozenset()


def test_the_next_context_excludes_hosts_itself() -> None:
    excluded = BlockHost(host="h1", until_ms=NOW_MS + 9000, by=SPARK, reason="2 failed", cause="faulty")
    assert earlier_of(records(excluded), NOW_MS).wishes == ()


def test_what_may_have_been_lifted_in_records_that_cannot_be_read_is_not_blocked_anew() -> None:
    known = records(*block("h1"), *block("h2"), UnblockHost(host="h3", reason="unblocked by ann"))
    found = earlier_of([*known, ClusterUnreachable("its last block"), *records(*block("h2"))], NOW_MS)
    assert [one.host for one in found.wishes] == ["h2"]
    assert found.lifted == frozenset({"h3"})
    assert found.problem == "its last block"


def test_what_came_of_epochs_that_were_over_is_as_last_told() -> None:
    told = (
        EpochRefused(epoch=1, refused={"messages": 1}),
        EpochRefused(epoch=1, refused={"messages": 4, "writes": 1}),
        EpochRefused(epoch=2, refused={"messages": 1}),
        EpochRefused(epoch=1, refused={"records": 9}),
    )
    assert earlier_of(records(*told), NOW_MS).refused == (
        EpochRefused(epoch=1, refused={"messages": 4, "writes": 1, "records": 9}),
        EpochRefused(epoch=2, refused={"messages": 1}),
    )


def test_the_bounds_that_were_asked_for_last_are_kept() -> None:
    told = [ChangeBounds(least=n, most=n + 2, by="ann", reason="it holds at once") for n in (1, 3)]
    (scale,) = earlier_of(records(*told), NOW_MS).scale
    assert (scale.least, scale.most, scale.by, scale.earlier) == (3, 5, "ann", True)


def test_bounds_whose_least_was_never_there_are_told_with_what_the_job_ran_with() -> None:
    waits = ChangeBounds(least=6, most=8, by="ann", ran_with=4, reason="it waits")
    begins = BeginRescale(number=2, cause="new requirements", wanted=8, before=4, reason="a stage ended")
    moves = BeginRescale(number=3, cause="new resources", wanted=4, before=4, reason="a host came")
    had = ChangeBounds(least=6, most=8, by="ann", reason="the job has had 6 executors")
    for told, ran_with, rescales in (
        ((waits,), 4, 0),
        ((waits, moves), 4, 3),
        ((waits, begins), 4, 2),
        ((waits, moves, had), 0, 3),
    ):
        found = earlier_of(records(*told), NOW_MS)
        assert [one.ran_with for one in found.scale] == [ran_with]
        assert found.rescales == rescales


def test_the_size_of_executors_that_the_program_told_last() -> None:
    first, last = (ExecutorProfile(id=0, count=0, memory_mb=size) for size in (1408, 2000))
    told = [DriverReady(driver_url="u", executor=size) for size in (first, last)]
    assert earlier_of(records(*told), NOW_MS) == Earlier(executor=last)
