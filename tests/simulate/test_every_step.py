"""Deaths everywhere in a few scenarios; `python -m integration.soak.everystep` tries a thousand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import msgspec
import pytest

from tests.simulate.test_resumption import Careless
from yarnspec.core import commands as cm
from yarnspec.core import events as ev
from yarnspec.core import recoveryevents as rec
from yarnspec.core.negotiator import Negotiator
from yarnspec.core.settings import Settings
from yarnspec.simulate.everystep import WAYS, crash_everywhere, cut_everywhere
from yarnspec.simulate.rules import BrokenRule

SCENARIOS = 8


def crash_all(core: Callable[[Settings], Negotiator] = Negotiator) -> Counter[str]:
    seen: Counter[str] = Counter()
    for seed in range(SCENARIOS):
        seen += crash_everywhere(seed, core)
    return seen


def test_whoever_dies_at_whatever_step_the_next_life_ends_right() -> None:
    seen = crash_all()
    for way in WAYS:
        assert seen[way] > 10 * SCENARIOS
    assert seen["restored"] > 10 * SCENARIOS
    assert seen["refused"] > seen["taken for dead"] / 3
    assert seen["refused_late"] > seen["driver"]


def test_the_next_life_ends_right_with_any_prefix_of_the_journal() -> None:
    seen: Counter[str] = Counter()
    for seed in range(3 * SCENARIOS):
        seen += cut_everywhere(seed)
    assert seen["cuts"] > 20 * SCENARIOS
    assert seen["restored"] > 10 * SCENARIOS


def test_a_cut_between_shuffles_that_are_forgotten_together_leaves_none_of_them_to_mix_with_others() -> None:
    cut_everywhere(190)


class Wasteful(Negotiator):
    """One that knows of one saved shuffle only."""

    def handle(self, event: ev.Event, now_ms: int) -> list[cm.Command]:
        if isinstance(event, rec.JournalReplayed):
            event = msgspec.structs.replace(event, shuffles=event.shuffles[:1])
        return super().handle(event, now_ms)


class Stubborn(Negotiator):
    """One that goes on when its epoch is over."""

    def handle(self, event: ev.Event, now_ms: int) -> list[cm.Command]:
        return [] if isinstance(event, rec.RecordingEnded) else super().handle(event, now_ms)


class AllEars(Negotiator):
    """One that takes in what a driver says after its end."""

    def hears(self, epoch: int) -> bool:
        return super().hears(epoch) or True


@pytest.mark.parametrize(
    ("core", "said"),
    [
        pytest.param(Careless, "is of something else", id="mixes runs"),
        pytest.param(Wasteful, "are there and run again", id="leaves out what is saved"),
        pytest.param(Stubborn, "goes on beside the next one", id="is not fenced"),
        pytest.param(AllEars, "is heard after its end", id="hears a dead driver"),
    ],
)
def test_a_fault_of_the_core_is_found(core: Callable[[Settings], Negotiator], said: str) -> None:
    with pytest.raises(BrokenRule, match=said):
        crash_all(core)
