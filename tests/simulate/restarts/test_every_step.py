"""Deaths everywhere in a few scenarios; `python -m integration.soak.everystep` tries a thousand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import count, pairwise

import msgspec
import pytest

from tests.simulate.restarts.test_resumption import Careless
from yarnspec.core.journal.journalrecords import EpochBegan, JournalRecord
from yarnspec.core.messages import commands as cm
from yarnspec.core.messages import events as ev
from yarnspec.core.messages import recoveryevents as rec
from yarnspec.core.messages.settings import Settings
from yarnspec.core.negotiator import Negotiator
from yarnspec.core.recovery.shuffles import Shuffles
from yarnspec.simulate.restarts.everystep import WAYS, crash_everywhere, cut_everywhere
from yarnspec.simulate.restarts.resumption import resume
from yarnspec.simulate.restarts.resumption_plan import Crash, Disk
from yarnspec.simulate.restarts.simulated_journal import SimulatedJournal
from yarnspec.simulate.world.rules import BrokenRule

SCENARIOS = 8
WRITE = SimulatedJournal.write


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
    assert seen["fenced"] > seen["taken for dead"] / 3
    assert seen["refused"] > seen["taken for dead"]
    assert seen["beside"] > 3 * seen["taken for dead"]
    assert seen["refused_late"] > seen["driver"]


def test_the_next_life_ends_right_with_any_prefix_of_the_journal() -> None:
    seen: Counter[str] = Counter()
    for seed in range(3 * SCENARIOS):
        seen += cut_everywhere(seed)
    assert seen["cuts"] > 20 * SCENARIOS
    assert seen["restored"] > 10 * SCENARIOS


def test_a_cut_between_shuffles_that_are_forgotten_together_leaves_none_of_them_to_mix_with_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seed = 525
    cut_everywhere(seed)
    restored = Shuffles.restored

    def lowest_first(self: Shuffles, event: rec.ShuffleRestored) -> tuple[int, ...]:
        return tuple(reversed(restored(self, event)))

    # Else the seed would have become one that shows nothing.
    monkeypatch.setattr(Shuffles, "restored", lowest_first)
    with pytest.raises(BrokenRule, match="is of something else"):
        cut_everywhere(seed)


def of_first_life(disk: Disk) -> list[JournalRecord]:
    """What the journal holds up to the second life's beginning."""
    began = (index for index, one in enumerate(disk.records) if isinstance(one, EpochBegan) and one.epoch > 1)
    return disk.records[: next(began, len(disk.records))]


@pytest.mark.parametrize("seed", range(SCENARIOS))
def test_what_one_that_is_taken_for_dead_records_beside_the_next_life_is_refused(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    after_seal: list[JournalRecord] = []
    write = SimulatedJournal.write

    def overhear(self: SimulatedJournal, record: JournalRecord, *, durable: bool) -> None:
        if self.sealed:
            after_seal.append(record)
        write(self, record, durable=durable)

    monkeypatch.setattr(SimulatedJournal, "write", overhear)
    seen: Counter[str] = Counter()
    for step in count():
        after_seal.clear()
        dead, beside = Disk(), Disk()
        resume(seed, crash=Crash(step, "master"), disk=dead)
        assert not after_seal
        result = resume(seed, crash=Crash(step, "master", lives_on=True), disk=beside)
        if result.epochs == 1:
            break
        assert result.refused == len(after_seal)
        assert not {id(one) for one in after_seal} & {id(one) for one in beside.records}
        assert of_first_life(beside) == of_first_life(dead)
        seen["beside"] += result.beside
        seen["refused"] += result.refused
        seen["fenced"] += result.fenced
    assert seen["beside"] > 0
    assert seen["refused"] > 0
    assert seen["fenced"] > 0


def test_two_lives_take_turns() -> None:
    turns: list[int] = []

    class Overheard(Negotiator):
        def handle(self, event: ev.Event, now_ms: int) -> list[cm.Command]:
            if isinstance(event, ev.AttemptStarted):
                self.attempt = event.attempt
            turns.append(self.attempt)
            return super().handle(event, now_ms)

    longest = 0
    for step in range(10, 20):
        turns.clear()
        resume(0, Overheard, Crash(step, "master", lives_on=True))
        assert set(turns) == {1, 2}
        longest = max(longest, sum(before != after for before, after in pairwise(turns)))
    assert longest > 4


def takes_more(self: SimulatedJournal, record: JournalRecord, *, durable: bool) -> None:
    """Write to a journal that does not know that it is sealed."""
    if self.sealed:
        self._disk.records.append(record)
    else:
        WRITE(self, record, durable=durable)


@pytest.mark.parametrize(
    ("name", "fault", "said"),
    [
        pytest.param("write", takes_more, "has recorded something after its end", id="takes more records"),
        pytest.param("flush", lambda _: True, "was answered after its end", id="says that it is all durable"),
    ],
)
def test_a_journal_that_does_not_shut_out_who_is_taken_for_dead_is_found(
    name: str, fault: Callable[..., object], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SimulatedJournal, name, fault)
    with pytest.raises(BrokenRule, match=said):
        crash_all()


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
        pytest.param(Careless, "is of something else|had waited too long", id="mixes runs"),
        pytest.param(Wasteful, "are there and run again", id="leaves out what is saved"),
        pytest.param(Stubborn, "goes on beside the next one", id="is not fenced"),
        pytest.param(AllEars, "is heard after its end", id="hears a dead driver"),
    ],
)
def test_a_fault_of_the_core_is_found(core: Callable[[Settings], Negotiator], said: str) -> None:
    with pytest.raises(BrokenRule, match=said):
        crash_all(core)
