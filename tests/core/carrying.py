"""An attempt that records what it knows, and the one after it."""

from __future__ import annotations

from typing import Any

from tests.core.recovery.test_epoch_recovery import replayed
from tests.core.stragglers import Stragglers
from tests.core.world import HOSTS, World, of
from yarnspec.core.blocking.blocks import Block
from yarnspec.core.journal.journalstate import Recorded
from yarnspec.core.messages import events as ev
from yarnspec.core.messages import recoverycommands as rc
from yarnspec.core.messages.carried import CarriedPart, parts_of, record_of_part
from yarnspec.core.messages.settings import RecoverySettings

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
    for command in of(rc.RecordState, world.commands):
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
