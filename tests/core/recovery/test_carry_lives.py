"""What is handed over when the driver dies alone, and through any history of attempts."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.core.carrying import H2, H3, H4, H5, KILLED, SETTINGS, SETTLED_MS, Life, handed_over, next_attempt, wide
from tests.core.recovery.test_epoch_recovery import replayed
from tests.core.stragglers import fails_on_h3, others_end_well
from tests.core.world import HOSTS, World, names, of
from yarnspec.core.messages import commands as cm
from yarnspec.core.messages import events as ev
from yarnspec.core.messages import recoverycommands as rc
from yarnspec.core.messages.carried import CarriedPart
from yarnspec.core.messages.commands import Command
from yarnspec.core.messages.observations import Failure, State

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
            many.commands += of(rc.RecordState, old.commands)
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
