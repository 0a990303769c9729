"""What one attempt hands to the next: negotiator A records, negotiator B goes on with it."""

from __future__ import annotations

import msgspec
import pytest

from tests.core.carrying import (
    H2,
    H3,
    H4,
    H5,
    KILLED,
    NEXT_EPOCH,
    SETTINGS,
    SETTLED_MS,
    Life,
    factor,
    handed_over,
    next_attempt,
    slow_host,
    wide,
)
from tests.core.recovery.test_epoch_recovery import replayed
from tests.core.stragglers import Stragglers, fails_on_h3, others_end_well
from tests.core.world import World, hosts, names, of, only
from yarnspec.core.messages import commands as cm
from yarnspec.core.messages import events as ev
from yarnspec.core.messages import recoverycommands as rc
from yarnspec.core.messages.carried import CarriedBlocks, CarriedHosts
from yarnspec.core.messages.observations import Failure

# blocks


def test_the_next_attempt_blocks_the_same_hosts_until_the_same_time_and_says_since_when_and_by_whom() -> None:
    first = Life()
    first.block(H3, duration_ms=600_000, reason="its fan is loud", by="ann")
    first.now_ms += 5_000
    first.block(H4, automatic=True, cause="faulty", by="young-death detector", reason="two died")
    parts = handed_over(first)
    second = next_attempt(*parts, at_ms=first.now_ms + 20_000)
    assert second.view().blocks == first.view().blocks
    told = of(cm.BlockHost, second.commands)
    assert [(one.host, one.by, one.cause) for one in told] == [
        (H3, "ann", "asked"),
        (H4, "young-death detector", "faulty"),
    ]
    assert told[0].reason.startswith("carried over from epoch 1: its fan is loud (blocked for 575 s more by ann)")


def test_they_are_in_force_before_the_driver_starts_and_a_container_is_asked_for_and_end_in_time() -> None:
    first = Life()
    first.block(H3, duration_ms=600_000)
    second = next_attempt(*handed_over(first), at_ms=first.now_ms + 20_000)
    said = names(second.commands)
    assert said.index("BlockHost") < said.index("StartDriver")
    assert said.index("UpdatePlacement") < said.index("RequestContainers")
    assert of(cm.UpdatePlacement, second.commands)[-1].blocked_hosts == (H3,)
    assert of(cm.UpdateTaskBlocks, second.commands)[-1].hosts == (H3,)
    ends = next(one for one in of(cm.SetTimer, second.commands) if one.name == f"block:{H3}")
    assert ends.at_ms == first.now_ms + 600_000
    assert only(cm.UnblockHost, second.fire(ends.name, ends.at_ms)).host == H3


def test_what_is_over_by_then_is_not_blocked_again() -> None:
    first = Life()
    first.block(H3, duration_ms=10_000)
    first.now_ms += 2_000
    first.block(H4)
    second = next_attempt(*handed_over(first), at_ms=first.now_ms + 9_000)
    assert list(wide(second)) == [H4]
    assert "1 blocks (1 more were over)" in only(rc.CarryOver, second.commands).reason


def test_a_block_that_was_lifted_is_not_handed_over() -> None:
    first = Life()
    first.block(H3)
    first.now_ms += 2_000
    first.tell(ev.UnblockRequested(host=H3, by="ann"))
    assert wide(next_attempt(*handed_over(first), at_ms=first.now_ms)) == {}


def test_blocks_of_stages_tasks_executors_and_the_cluster_and_those_made_at_submit_are_not_handed_over() -> None:
    first = Life(excluded_hosts=(H5,))
    first.stage(0, 8)
    first.block(H3, level="stage", stage=0)
    first.block(H3, level="task", stage=0, index=1)
    first.block("", executor_id="1")
    entry = ev.ClusterBlock(host=H4, reason="bad disk", by="root", since_ms=1, until_ms=None, admin=True)
    first.tell(ev.ClusterBlocksRead(blocks=(entry,)))
    first.pass_ms(SETTLED_MS)
    assert [part for part in handed_over(first) if isinstance(part, CarriedBlocks) and part.blocks] == []


def test_guesses_give_way_where_hosts_are_fewer_now() -> None:
    first = Life()
    first.block(H3, automatic=True, cause="faulty")
    second = next_attempt(*handed_over(first), at_ms=first.now_ms, report=False)
    assert list(wide(second)) == [H3]
    assert only(cm.UnblockHost, second.tell(hosts(H3))).host == H3


# people's newer words, and what the event log says


def test_a_host_that_somebody_wants_back_before_the_journal_was_read_stays_free_and_for_the_attempt_after_too() -> None:
    first = Life()
    first.block(H3, duration_ms=600_000)
    parts = handed_over(first)
    second = World(**SETTINGS)
    second.start(NEXT_EPOCH)
    second.tell(ev.UnblockRequested(host=H3, by="ann"))
    second.tell(replayed(carried=parts, epochs=(1,), progress=1))
    assert wide(second) == {}
    assert wide(next_attempt(*handed_over(second), at_ms=second.now_ms)) == {}


def test_a_block_that_somebody_asked_for_before_the_journal_was_read_holds() -> None:
    first = Life()
    first.block(H3, duration_ms=600_000)
    second = World(**SETTINGS)
    second.start(NEXT_EPOCH)
    second.block(H3, reason="it smokes")
    second.tell(replayed(carried=handed_over(first), epochs=(1,), progress=1))
    assert (wide(second)[H3].until_ms, wide(second)[H3].reason) == (None, "it smokes")


def test_both_a_persons_block_and_the_guess_after_it_are_handed_over_though_a_block_was_refused_meanwhile() -> None:
    first = Life()
    first.block(H3, automatic=True, cause="faulty", duration_ms=600_000)
    first.now_ms += 2_000
    first.block(H3, by="ann", duration_ms=300_000)
    second = World(**SETTINGS)
    second.now_ms = first.now_ms
    second.start(NEXT_EPOCH)
    assert names(second.block(H3, duration_ms=0)) == ["RefuseBlock"]
    second.tell(replayed(carried=handed_over(first), epochs=(1,), progress=1))
    assert second.view().blocks == first.view().blocks
    third = next_attempt(*handed_over(first), at_ms=first.now_ms + 400_000)
    assert [(one.automatic, one.until_ms) for one in third.view().blocks] == [(True, first.now_ms + 598_000)]


@pytest.mark.parametrize("reported_first", [True, False])
def test_the_journal_knows_better_than_the_event_log_which_knows_the_last_second(reported_first: bool) -> None:
    first = Life()
    first.block(H3, duration_ms=600_000)
    until_ms = first.now_ms + 600_000
    wishes = tuple(
        ev.BlockRequested(host=host, reason="slow", by="user", duration_ms=595_000, force=True, earlier=True)
        for host in (H3, H4)
    )
    second = next_attempt(*handed_over(first), at_ms=first.now_ms + 9_000, wishes=wishes, report=reported_first)
    if not reported_first:
        second.tell(hosts())
    assert wide(second)[H3].until_ms == until_ms
    assert H4 in wide(second)


# what was learnt of hosts


def test_a_faulty_host_is_blocked_longer_each_time_across_attempts() -> None:
    made = {"faulty_duration_ms": 100_000, "faulty_duration_max_ms": 900_000}
    first = Life(blocks=made)
    first.stage(0, 1_000)
    others_end_well(first, 900)
    for index in range(3):
        fails_on_h3(first, index, Failure.EXCEPTION)
    first.pass_ms(100_000)  # the block is over
    first.pass_ms(SETTLED_MS)
    second = Stragglers(**SETTINGS, blocks=made)
    second.now_ms = first.now_ms
    second.tell(replayed(carried=handed_over(first), epochs=(1,), progress=1))
    second.stage(0, 1_000)
    others_end_well(second, 900)
    told = [one for index in range(3) for one in of(cm.BlockHost, fails_on_h3(second, index, Failure.EXCEPTION))]
    block = next(one for one in told if one.level == "application")
    assert block.until_ms == second.now_ms + 200_000
    assert "blocked for faults 1 times before" in block.reason


def test_a_restored_block_for_faults_is_not_counted_twice() -> None:
    first = Life()
    first.block(H3, automatic=True, cause="faulty")
    first.pass_ms(SETTLED_MS)
    (known,) = [part for part in handed_over(first) if isinstance(part, CarriedHosts)]
    second = next_attempt(*handed_over(first), at_ms=first.now_ms)
    second.now_ms += SETTLED_MS
    second.block(H4)
    (again,) = [part for part in handed_over(second) if isinstance(part, CarriedHosts)]
    assert [(one.host, one.faults) for one in known.hosts] == [(H3, 1)]
    assert again.hosts == known.hosts


def test_how_slow_hosts_are_is_known_to_the_next_attempt_and_only_of_those_that_are_not_as_others() -> None:
    first = slow_host()
    assert factor(first, H5) > 2
    (known,) = [part for part in handed_over(first) if isinstance(part, CarriedHosts)]
    assert [one.host for one in known.hosts] == [H5]
    second = next_attempt(*handed_over(first), at_ms=first.now_ms)
    assert factor(second, H5) == pytest.approx(factor(first, H5), rel=0.1)
    assert factor(second, H2) == 1.0


def test_what_was_learnt_fades_between_the_attempts_as_it_would_have() -> None:
    first = slow_host()
    parts = handed_over(first)
    later_ms = first.now_ms + 3_000_000
    (known,) = [part for part in handed_over(next_attempt(*parts, at_ms=later_ms)) if isinstance(part, CarriedHosts)]
    assert known.hosts == ()


def test_evidence_of_a_running_stage_outlives_its_driver() -> None:
    first = Life(detector={"kind": "progress", "cold_start_ms": 0})
    tasks = first.fill(0, 8)
    first.pass_ms(2_000)
    for task in tasks:
        if first.where[first.running[task].executor_id] != H5:
            first.end(task)
    first.pass_ms(6_000)
    before = factor(first, H5)
    assert before > 2
    first.tell(KILLED)
    assert factor(first, H5) == pytest.approx(before, rel=0.1)


@pytest.mark.parametrize("knows", [True, False])
def test_a_block_for_slowness_that_ended_between_the_attempts_comes_back_only_for_what_is_seen_then(
    knows: bool,
) -> None:
    first = slow_host()
    blocked = first.negotiator.speculation_view(first.now_ms).blocks
    assert [(one.host, one.cause) for one in blocked] == [(H5, "slow")]
    parts = [part for part in handed_over(first) if knows or not isinstance(part, CarriedBlocks)]
    second = Stragglers(**SETTINGS, detector={"kind": "progress", "cold_start_ms": 0})
    second.now_ms = first.now_ms + 60_000
    second.tell(replayed(carried=tuple(parts), epochs=(1,), progress=1))
    assert factor(second, H5) > 1.5
    second.fill(0, 8)
    again = [one.host for one in of(cm.BlockHost, second.pass_ms(1_500)) if one.level == "application"]
    assert again == ([] if knows else [H5])


# counts


def test_the_counts_of_copies_go_on_across_attempts() -> None:
    first = Life(speculation={"max_share_of_stage": 1.0, "max_share_of_application": 1.0})
    tasks = first.fill(0, 8)
    first.pass_ms(500)
    for task in tasks[:6]:
        first.end(task)
    first.pass_ms(2_000)
    copies = [first.launch(0, index, "1", copy=True) for index in (6, 7)]
    first.pass_ms(1_000)
    first.end(copies[0])
    first.pass_ms(SETTLED_MS)
    ledger = first.negotiator.speculation_view(first.now_ms).ledger
    assert (ledger.copies_launched, ledger.copies_won, ledger.copies_running) == (2, 1, 1)
    second = next_attempt(*handed_over(first), at_ms=first.now_ms)
    again = second.negotiator.speculation_view(second.now_ms).ledger
    # The copy that ran has ended with its driver.
    assert again == msgspec.structs.replace(ledger, copies_running=0, copies_cancelled=ledger.copies_cancelled + 1)
    assert only(rc.CarryOver, second.commands).ledger == again
    third = next_attempt(*handed_over(second), at_ms=second.now_ms)
    assert third.negotiator.speculation_view(third.now_ms).ledger == again
