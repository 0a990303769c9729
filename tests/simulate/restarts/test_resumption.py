"""A driver that dies at any step: its program ends, and right, and what was saved is not computed again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import msgspec
import pytest

from yarnspec.core.messages import commands as cm
from yarnspec.core.messages import events as ev
from yarnspec.core.messages import recoveryevents as rec
from yarnspec.core.messages.settings import Settings
from yarnspec.core.negotiator import Negotiator
from yarnspec.simulate.restarts.resumption import resume
from yarnspec.simulate.restarts.resumption_plan import ResumptionPlan
from yarnspec.simulate.world.rules import BrokenRule

SEEDS = 1000


def test_a_thousand_programs_end_right_however_often_their_drivers_die() -> None:
    seen: Counter[str] = Counter()
    for seed in range(SEEDS):
        result = resume(seed)
        seen["epochs"] += result.epochs
        seen["in place"] += result.in_place
        seen["restored"] += result.restored
        seen["late"] += result.late
        seen["beside"] += result.beside
        seen["fenced"] += result.fenced
        seen["ran"] += result.ran
        seen["whole again"] += sum(plan.determinism == "indeterminate" for plan in ResumptionPlan.draw(seed).shuffles)
    assert seen["epochs"] > 2 * SEEDS
    assert seen["in place"] > SEEDS / 2
    assert seen["restored"] > SEEDS
    assert seen["late"] > 100
    assert seen["beside"] > SEEDS
    assert seen["fenced"] > 100


def test_where_nothing_is_lost_and_nothing_indeterminate_exactly_what_is_not_saved_runs() -> None:
    checked = 0
    for seed in range(SEEDS):
        plan = ResumptionPlan.draw(seed)
        if plan.host_loss or plan.file_loss or plan.output_loss or plan.recording_stops or plan.crashes != 1:
            continue
        if {one.determinism for one in plan.shuffles} & {"indeterminate"}:
            continue
        result = resume(seed)
        if result.epochs == 2 and not result.late:
            checked += 1
            assert result.restored == result.durable[0]
    assert checked > 10


class Careless(Negotiator):
    """A core that takes over whatever has the same signature, without a look at what it was computed from."""

    def handle(self, event: ev.Event, now_ms: int) -> list[cm.Command]:
        if isinstance(event, rec.ShuffleDeclared):
            event = rec.ShuffleDeclared(
                question=event.question,
                shuffle=event.shuffle,
                signature=event.signature,
                maps=event.maps,
                reduces=event.reduces,
                determinism="determinate",
            )
        elif isinstance(event, rec.JournalReplayed):
            shuffles = tuple(
                rec.SavedShuffle(
                    shuffle=one.shuffle,
                    signature=one.signature,
                    maps=one.maps,
                    reduces=one.reduces,
                    determinism="determinate",
                    by_host=one.by_host,
                )
                for one in event.shuffles
            )
            event = rec.JournalReplayed(shuffles=shuffles, epochs=event.epochs, progress=event.progress)
        return super().handle(event, now_ms)


class Forgiving(Negotiator):
    """A core that knows only for how long what is kept has waited for its own epoch, or not even that."""

    knows: Callable[[int, int], bool]

    def handle(self, event: ev.Event, now_ms: int) -> list[cm.Command]:
        if isinstance(event, rec.JournalReplayed):
            now = max((one.epoch for one in event.waits), default=0)
            waits = tuple(one for one in event.waits if self.knows(one.epoch, now))
            event = msgspec.structs.replace(event, waits=waits)
        return super().handle(event, now_ms)


class ForgivingAll(Forgiving):
    knows = staticmethod(lambda _epoch, _now: False)


class ForgivingOthers(Forgiving):
    knows = staticmethod(lambda epoch, now: epoch == now)


def all_seeds(core: Callable[[Settings], Negotiator]) -> None:
    for seed in range(SEEDS):
        resume(seed, core)


def test_the_simulation_finds_a_core_that_mixes_runs() -> None:
    with pytest.raises(BrokenRule):
        all_seeds(Careless)


@pytest.mark.parametrize("core", [ForgivingAll, ForgivingOthers])
def test_the_simulation_finds_a_core_that_uses_what_has_waited_too_long(core: type[Negotiator]) -> None:
    with pytest.raises(BrokenRule, match="had waited too long"):
        all_seeds(core)


def test_a_journal_that_has_room_for_little_costs_work_and_no_result() -> None:
    def narrow(settings: Settings) -> Negotiator:
        recovery = msgspec.structs.replace(settings.recovery, recorded_maps=4)
        return Negotiator(msgspec.structs.replace(settings, recovery=recovery))

    assert sum(resume(seed, narrow).ran for seed in range(300)) > sum(resume(seed).ran for seed in range(300))
