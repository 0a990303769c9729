"""What one attempt hands to the next: negotiator A records, negotiator B goes on with it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.stragglers import Stragglers
from tests.core.test_faults import fails_on_h3, others_end_well
from tests.core.test_recovery import ON, replayed
from tests.core.world import HOSTS, START_MS, World, hosts, names, of, only
from yarnspec.core import commands as cm
from yarnspec.core import events as ev
from yarnspec.core.blocks import Block
from yarnspec.core.carried import KINDS, CarriedBlocks, CarriedHosts, CarriedPart, parts_of, record_of_part
from yarnspec.core.carry import CARRY_TIMER
from yarnspec.core.commands import Command
from yarnspec.core.journalrecords import Carried
from yarnspec.core.journalstate import Recorded
from yarnspec.core.observations import Failure, State
from yarnspec.core.settings import RecoverySettings

H2, H3, H4, H5 = HOSTS
AGAIN = RecoverySettings(enabled=True, driver_restarts=4)
SETTINGS: dict[str, Any] = {"recovery": AGAIN, "blocked_share": 1.0}
KILLED = ev.DriverLost(exit_code=-9, reason="its process was ended by signal 9")
NEXT_EPOCH = 6
SETTLED_MS = 60_000


class Life(Stragglers):
    """An attempt with an executor on each host, which records from its start on."""

    def __init__(self, **changes: Any) -> None:
        super().__init__(**{**SETTINGS, **changes})
        self.tell(replayed(epochs=(), progress=0))


def handed_over(world: World) -> tuple[CarriedPart, ...]:
    """What the journal holds of it: through bytes, and the newest of each kind."""
    recorded = Recorded()
    for command in of(cm.RecordState, world.commands):
        for part in command.parts:
            recorded.apply(record_of_part(part))
    parts, problem = parts_of(recorded)
    assert not problem
    return parts


def next_attempt(
    *parts: CarriedPart, at_ms: int, wishes: tuple[ev.BlockRequested, ...] = (), report: bool = True, **changes: Any
) -> World:
    """The attempt after the one that left this, when the journal was read."""
    world = World(**{**SETTINGS, **changes})
    world.now_ms = at_ms
    for wish in wishes:
        world.tell(wish)
    world.start(NEXT_EPOCH, report=report)
    world.tell(replayed(carried=parts, epochs=(1,), progress=1))
    return world


def wide(world: World) -> dict[str, Block]:
    return {block.host: block for block in world.view().blocks if block.level == "application"}


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
    assert "1 blocks (1 more were over)" in only(cm.CarryOver, second.commands).reason


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


def slow_host() -> Life:
    """An attempt that has found H5 slow: a third of its stage is over, and what ran there took four times as long."""
    first = Life(detector={"kind": "progress", "cold_start_ms": 0}, blocks={"slow_duration_ms": 60_000})
    for stage in range(2):
        tasks = first.fill(stage, 8)
        first.pass_ms(2_000)
        for task in tasks:
            if first.where[first.running[task].executor_id] != H5:
                first.end(task)
        first.pass_ms(6_000)
        for task in tasks:
            if task in first.running:
                first.end(task)
        first.stage_ends(stage)
    first.pass_ms(6_000)
    return first


def factor(world: World, host: str) -> float:
    found = world.negotiator.explain_host(host, world.now_ms)
    assert found is not None
    value = found.numbers["factor"]
    assert isinstance(value, float)
    return value


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
    assert only(cm.CarryOver, second.commands).ledger == again
    third = next_attempt(*handed_over(second), at_ms=second.now_ms)
    assert third.negotiator.speculation_view(third.now_ms).ledger == again


# when it is recorded


def test_a_block_is_recorded_at_once_and_many_of_them_a_second_later() -> None:
    first = Life()
    first.commands.clear()
    assert len(of(cm.RecordState, first.block(H3))) == 1
    answer = first.block(H4) + first.block(H5, force=True)
    assert of(cm.RecordState, answer) == []
    due = [one for one in of(cm.SetTimer, answer) if one.name == CARRY_TIMER]
    assert [one.at_ms - first.now_ms for one in due] == [1_000]
    (part,) = only(cm.RecordState, first.fire(CARRY_TIMER, due[0].at_ms)).parts
    assert isinstance(part, CarriedBlocks)
    assert [one.host for one in part.blocks] == [H3, H4, H5]


def test_nothing_is_recorded_while_nothing_changes_and_stages_run() -> None:
    first = Life()
    first.fill(0, 8)
    first.pass_ms(600_000)
    assert of(cm.RecordState, first.commands) == []
    assert CARRY_TIMER not in {one.name for one in of(cm.SetTimer, first.commands)}


def test_what_is_known_of_a_slow_host_is_not_recorded_again_for_its_fading_alone() -> None:
    first = slow_host()
    first.pass_ms(SETTLED_MS)
    first.commands.clear()
    first.fill(7, 8)
    first.pass_ms(20_000)
    parts = [part for command in of(cm.RecordState, first.commands) for part in command.parts]
    assert sum(isinstance(part, CarriedHosts) for part in parts) <= 3


def test_without_recovery_nothing_is_recorded() -> None:
    world = Stragglers()
    world.block(H3)
    world.fill(0, 8)
    world.pass_ms(SETTLED_MS)
    assert of(cm.RecordState, world.commands) == []


def test_nothing_is_recorded_before_the_journal_is_open_and_then_what_has_happened_until_then() -> None:
    world = World(recovery=ON)
    world.start()
    assert of(cm.RecordState, world.block(H3)) == []
    (part,) = only(cm.RecordState, world.tell(replayed(epochs=(), progress=0))).parts
    assert isinstance(part, CarriedBlocks)


def test_of_thousands_of_hosts_the_worst_are_handed_over() -> None:
    many = tuple(f"h{number}" for number in range(3_000))
    first = World(**SETTINGS)
    first.start(report=False)
    first.tell(hosts(*many))
    first.tell(replayed(epochs=(), progress=0))
    for host in many[:1_500]:
        first.block(host, automatic=True, cause="faulty", force=True, duration_ms=1)
        first.tell(ev.UnblockRequested(host="h2999", by="ann"))
        first.negotiator._blocklist.lift(first.negotiator._blocklist.blocks[0].key, "over")
    first.now_ms += SETTLED_MS
    first.block(H3)
    first.block(many[7])
    (known,) = [part for part in handed_over(first) if isinstance(part, CarriedHosts)]
    assert len(known.hosts) == 500


# what cannot be read


@pytest.mark.parametrize("payload", [b"", b"\xc1", b"\x80", msgspec.msgpack.encode({"epoch": "one"})])
@pytest.mark.parametrize("kind", KINDS)
def test_a_record_that_cannot_be_read_costs_only_itself(kind: str, payload: bytes) -> None:
    first = slow_host()
    first.block(H3)
    recorded = Recorded()
    for part in handed_over(first):
        recorded.apply(record_of_part(part))
    recorded.apply(Carried(kind=kind, payload=payload))
    parts, problem = parts_of(recorded)
    assert problem.startswith(f"{kind}: ")
    second = World(**SETTINGS)
    second.now_ms = first.now_ms
    second.start(NEXT_EPOCH)
    answer = second.tell(replayed(carried=parts, carried_problem=problem, epochs=(1,), progress=1))
    assert problem in next(one for one in of(cm.CarryOver, answer) if one.failed).reason
    assert of(cm.StartDriver, answer)
    assert bool(wide(second)) == (kind != "blocks")
    assert (factor(second, H5) > 2) == (kind != "hosts")


@pytest.mark.parametrize("why", [{"problem": "the log of epoch 1 is damaged"}, {"off": "no such directory"}])
def test_a_journal_that_cannot_be_read_or_opened_is_a_clean_start(why: dict[str, str]) -> None:
    second = World(**SETTINGS)
    second.start(NEXT_EPOCH)
    answer = second.tell(replayed(epochs=(1,), progress=1, **why))
    told = only(cm.CarryOver, answer)
    assert told.failed
    assert next(iter(why.values())) in told.reason
    assert of(cm.StartDriver, answer)
    assert wide(second) == {}


def test_a_fault_of_ours_in_taking_it_over_costs_only_that() -> None:
    parts = (msgspec.structs.replace(handed_over(slow_host())[0], blocks=None),)
    second = next_attempt(*parts, at_ms=START_MS)
    assert only(cm.CarryOver, second.commands).failed
    assert of(cm.StartDriver, second.commands)


# the driver alone dies


def again(world: World, epoch: int, *parts: CarriedPart) -> list[Command]:
    done = tuple(range(1, epoch))
    return world.tell(replayed(carried=parts, epochs=done, progress=epoch - 1))


def test_of_a_dead_driver_s_blocks_those_of_stages_and_tasks_end_and_wider_ones_stay_until_their_time() -> None:
    world = Life()
    world.fill(0, 8)
    world.block(H3, level="stage", stage=0)
    world.block(H4, level="task", stage=0, index=1)
    world.block(H5, duration_ms=600_000)
    entry = ev.ClusterBlock(host=H2, reason="bad disk", by="root", since_ms=1, until_ms=None, admin=True)
    world.tell(ev.ClusterBlocksRead(blocks=(entry,)))
    until_ms = wide(world)[H5].until_ms
    answer = world.tell(KILLED)
    ended = [(one.host, one.level) for one in of(cm.UnblockHost, answer)]
    assert sorted(ended) == [(H3, "stage"), (H4, "task")]
    assert [(one.level, one.host, one.until_ms) for one in world.view().blocks] == [
        ("cluster", H2, None),
        ("application", H5, until_ms),
    ]
    again(world, 2)
    assert [one.host for one in world.view().blocks] == [H2, H5]
    last = of(cm.UpdateTaskBlocks, world.commands)[-1]
    assert (last.hosts, last.stages) == ((H2, H5), ())


def test_what_the_journal_says_does_not_take_the_place_of_what_a_living_negotiator_knows() -> None:
    world = Life()
    world.block(H3)
    parts = handed_over(world)
    world.now_ms += 2_000
    world.tell(ev.UnblockRequested(host=H3, by="ann"))
    world.tell(KILLED)
    answer = again(world, 2, *parts)
    assert not {"BlockHost", "CarryOver"} & set(names(answer))
    # But the new journal is told how things are now.
    world.now_ms += 2_000
    world.block(H4)
    assert list(wide(next_attempt(*handed_over(world), at_ms=world.now_ms))) == [H4]


def test_a_new_life_s_journal_gets_the_state_even_when_nothing_changes_any_more() -> None:
    world = Life()
    world.block(H3)
    world.tell(KILLED)
    world.commands.clear()
    world.now_ms += SETTLED_MS
    again(world, 2)
    assert list(wide(next_attempt(*handed_over(world), at_ms=world.now_ms))) == [H3]


def test_the_next_life_knows_nothing_of_the_last_one_s_stages_and_tasks() -> None:
    world = Life()
    tasks = world.fill(0, 8)
    world.pass_ms(500)
    for task in tasks[:6]:
        world.end(task)
    world.pass_ms(2_000)
    world.launch(0, 6, "1", copy=True)
    explained = world.negotiator.explain_task(0, 6, world.now_ms)
    assert explained is not None
    assert explained.lines
    ledger = world.negotiator.speculation_view(world.now_ms).ledger
    world.tell(KILLED)
    again(world, 2)
    world.driver_ready()
    view = world.negotiator.speculation_view(world.now_ms)
    assert (view.stages, view.slow_tasks, view.waiting_copies) == ((), 0, 0)
    assert view.ledger.copies_launched == ledger.copies_launched == 1
    assert (view.ledger.copies_running, view.ledger.copies_cancelled) == (0, 1)
    assert world.negotiator.explain_task(0, 6, world.now_ms) is None
    # The same numbers again, in another driver.
    world.running.clear()
    world._attempts.clear()
    world._next_task_id = 0
    for number, host in enumerate(HOSTS, start=10_001):
        world.executor(str(number), host)
    world.where = {one: host for one, host in world.where.items() if int(one) > 10_000}
    new = world.fill(0, 8)
    explained = world.negotiator.explain_task(0, 6, world.now_ms)
    assert explained is not None
    assert not [line for line in explained.lines if "copy" in line]
    (stage,) = world.negotiator.speculation_view(world.now_ms).stages
    assert (stage.finished_executions, stage.speculative_executions, stage.slow_tasks) == (0, 0, 0)
    for task in new:
        world.end(task)
    assert world.negotiator.speculation_view(world.now_ms).ledger.copies_launched == 1


def test_failures_of_tasks_of_the_same_number_in_two_lives_are_two() -> None:
    world = Life()
    world.stage(0, 1_000)
    others_end_well(world, 900)
    for index in (0, 1):
        fails_on_h3(world, index, Failure.EXCEPTION)
    world.end(world.launch(0, 2, "2"), State.FAILED, Failure.EXCEPTION)  # it will not succeed elsewhere any more
    world.tell(KILLED)
    again(world, 2)
    world.driver_ready()
    for number, host in enumerate(HOSTS, start=10_001):
        world.executor(str(number), host)
    world.stage(0, 1_000)
    world.end(world.launch(0, 2, "10001"))
    assert wide(world) == {}
    fails_on_h3(world, 0, Failure.EXCEPTION, elsewhere="10001", at="10002")
    assert list(wide(world)) == [H3]


# any history

MOVES = st.one_of(
    st.tuples(st.just("block"), st.sampled_from(HOSTS), st.sampled_from([None, 900, 20_000, 90_000]), st.booleans()),
    st.tuples(st.just("fault"), st.sampled_from(HOSTS), st.just(None), st.just(False)),
    st.tuples(st.just("unblock"), st.sampled_from(HOSTS), st.just(None), st.just(False)),
    st.tuples(st.just("pass"), st.just(""), st.integers(1, 60_000), st.just(False)),
    st.tuples(st.just("driver"), st.just(""), st.just(None), st.just(False)),
    st.tuples(st.just("master"), st.just(""), st.integers(1_000, 30_000), st.just(False)),
)


@given(st.lists(MOVES, max_size=25))
def test_attempts_that_follow_each_other_block_as_one_that_lived_all_the_time_would(
    moves: list[tuple[str, str, int | None, bool]],
) -> None:
    """A second after the last change, whatever happened; each restored block is as it was."""
    one, many = World(**SETTINGS), World(**SETTINGS)
    due: dict[int, dict[str, int]] = {id(one): {}, id(many): {}}
    epoch = 1

    def tell(world: World, event: ev.Event) -> None:
        for command in of(cm.SetTimer, world.tell(event)):
            due[id(world)][command.name] = command.at_ms

    def let_pass(world: World, ms: int) -> None:
        until_ms = world.now_ms + ms
        waiting = due[id(world)]
        while [name for name, at_ms in waiting.items() if at_ms <= until_ms]:
            name = min(waiting, key=lambda each: (waiting[each], each))
            at_ms = waiting.pop(name)
            world.now_ms = max(world.now_ms, at_ms)
            tell(world, ev.TimerFired(name=name, at_ms=at_ms))
        world.now_ms = until_ms

    for world in (one, many):
        world.start()
        world.tell(replayed(epochs=(), progress=0))
    for move, host, number, flag in moves:
        if move == "driver":
            tell(many, KILLED)
            if many.negotiator._lifecycle.over:
                return
            let_pass(many, 60_000)
            let_pass(one, 60_000)
            epoch += 1
            tell(many, replayed(epochs=tuple(range(1, epoch)), progress=epoch - 1))
            continue
        if move == "master":
            assert number is not None
            let_pass(many, 1_000)
            let_pass(one, 1_000 + number)
            old, many = many, World(**SETTINGS)
            epoch = 5 * (epoch // 5 + 1) + 1
            due[id(many)] = {}
            many.now_ms = old.now_ms + number
            many.start(epoch)
            many.commands += of(cm.RecordState, old.commands)
            tell(many, replayed(carried=handed_over(old), epochs=(1,), progress=1))
        for world in (one, many):
            match move:
                case "block":
                    wish = ev.BlockRequested(host=host, reason="r", by="ann", duration_ms=number, force=flag)
                    tell(world, wish)
                case "fault":
                    tell(world, ev.BlockRequested(host=host, reason="r", by="d", automatic=True, cause="faulty"))
                case "unblock":
                    tell(world, ev.UnblockRequested(host=host, by="ann"))
                case "pass":
                    let_pass(world, number or 0)
        assert one.now_ms == many.now_ms
        assert many.view().blocks == one.view().blocks
