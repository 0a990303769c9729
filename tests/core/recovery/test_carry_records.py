"""When what is handed over is recorded, and what a record that cannot be read costs."""

from __future__ import annotations

import msgspec
import pytest

from tests.core.carrying import (
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
from tests.core.recovery.test_epoch_recovery import ON, replayed
from tests.core.stragglers import Stragglers
from tests.core.world import START_MS, World, hosts, of, only
from yarnspec.core.journal.journalrecords import Carried
from yarnspec.core.journal.journalstate import Recorded
from yarnspec.core.messages import commands as cm
from yarnspec.core.messages import events as ev
from yarnspec.core.messages import recoverycommands as rc
from yarnspec.core.messages.carried import KINDS, CarriedBlocks, CarriedHosts, parts_of, record_of_part
from yarnspec.core.recovery.master_handover import CARRY_TIMER

# when it is recorded


def test_a_block_is_recorded_at_once_and_many_of_them_a_second_later() -> None:
    first = Life()
    first.commands.clear()
    assert len(of(rc.RecordState, first.block(H3))) == 1
    answer = first.block(H4) + first.block(H5, force=True)
    assert of(rc.RecordState, answer) == []
    due = [one for one in of(cm.SetTimer, answer) if one.name == CARRY_TIMER]
    assert [one.at_ms - first.now_ms for one in due] == [1_000]
    (part,) = only(rc.RecordState, first.fire(CARRY_TIMER, due[0].at_ms)).parts
    assert isinstance(part, CarriedBlocks)
    assert [one.host for one in part.blocks] == [H3, H4, H5]


def test_nothing_is_recorded_while_nothing_changes_and_stages_run() -> None:
    first = Life()
    first.fill(0, 8)
    first.pass_ms(600_000)
    assert of(rc.RecordState, first.commands) == []
    assert CARRY_TIMER not in {one.name for one in of(cm.SetTimer, first.commands)}


def test_what_is_known_of_a_slow_host_is_not_recorded_again_for_its_fading_alone() -> None:
    first = slow_host()
    first.pass_ms(SETTLED_MS)
    first.commands.clear()
    first.fill(7, 8)
    first.pass_ms(20_000)
    parts = [part for command in of(rc.RecordState, first.commands) for part in command.parts]
    assert sum(isinstance(part, CarriedHosts) for part in parts) <= 3


def test_without_recovery_nothing_is_recorded() -> None:
    world = Stragglers()
    world.block(H3)
    world.fill(0, 8)
    world.pass_ms(SETTLED_MS)
    assert of(rc.RecordState, world.commands) == []


def test_nothing_is_recorded_before_the_journal_is_open_and_then_what_has_happened_until_then() -> None:
    world = World(recovery=ON)
    world.start()
    assert of(rc.RecordState, world.block(H3)) == []
    (part,) = only(rc.RecordState, world.tell(replayed(epochs=(), progress=0))).parts
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
    assert problem in next(one for one in of(rc.CarryOver, answer) if one.failed).reason
    assert of(cm.StartDriver, answer)
    assert bool(wide(second)) == (kind != "blocks")
    assert (factor(second, H5) > 2) == (kind != "hosts")


@pytest.mark.parametrize("why", [{"problem": "the log of epoch 1 is damaged"}, {"off": "no such directory"}])
def test_a_journal_that_cannot_be_read_or_opened_is_a_clean_start(why: dict[str, str]) -> None:
    second = World(**SETTINGS)
    second.start(NEXT_EPOCH)
    answer = second.tell(replayed(epochs=(1,), progress=1, **why))
    told = only(rc.CarryOver, answer)
    assert told.failed
    assert next(iter(why.values())) in told.reason
    assert of(cm.StartDriver, answer)
    assert wide(second) == {}


def test_what_could_not_be_read_in_an_attempt_s_first_life_is_taken_over_in_a_later_one() -> None:
    first = slow_host()
    first.block(H3)
    parts = handed_over(first)
    second = World(**SETTINGS)
    second.now_ms = first.now_ms
    second.start(NEXT_EPOCH)
    second.tell(replayed(epochs=(1,), progress=1, off="the NameNode is away"))
    second.block(H4)
    second.tell(KILLED)
    second.tell(replayed(carried=parts, epochs=(1, NEXT_EPOCH), progress=1))
    assert set(wide(second)) == {H3, H4, H5}
    assert factor(second, H5) > 2
    # And none of it is taken over once more.
    second.tell(ev.UnblockRequested(host=H3, by="ann"))
    second.tell(KILLED)
    second.tell(replayed(carried=parts, epochs=(1, NEXT_EPOCH, NEXT_EPOCH + 1), progress=NEXT_EPOCH))
    assert set(wide(second)) == {H4, H5}


def test_a_fault_of_ours_in_taking_it_over_costs_only_that() -> None:
    parts = (msgspec.structs.replace(handed_over(slow_host())[0], blocks=None),)
    second = next_attempt(*parts, at_ms=START_MS)
    assert only(rc.CarryOver, second.commands).failed
    assert of(cm.StartDriver, second.commands)
