"""Map outputs of executors that died, as long as Spark's scheduler waits for another executor on their host."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from functools import partial

from yarnspec.core.messages import recoveryevents as rec
from yarnspec.core.messages.events import Event
from yarnspec.simulate.world.clock import Clock
from yarnspec.simulate.world.scenario import Scenario

_LOOKS_MS = (50, 1_500)
_DAMAGED_SHARE = 0.1


class Waits:
    """The outputs that wait now; none ever does where live adoption is off.

    Args:
        done: by stage and partition, the executor that has its output.
        lose: called with an executor whose outputs are lost.
        alive: whether an executor is there.
        over: called when something waits no more.
    """

    def __init__(
        self,
        scenario: Scenario,
        *,
        clock: Clock,
        rng: random.Random,
        tell: Callable[[Event], None],
        done: Mapping[int, dict[int, str]],
        lose: Callable[[str], None],
        alive: Callable[[str], bool],
        over: Callable[[], None],
    ) -> None:
        self._on = scenario.settings.recovery.live_adoption_ms > 0
        self._maps = [stage.stage for job in scenario.jobs for stage in job.stages if stage.maps]
        self._clock = clock
        self._rng = rng
        self._tell = tell
        self._done = done
        self._lose = lose
        self._alive = alive
        self._over = over
        self._waiting: dict[str, str] = {}
        self.adopted = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def died(self, executor_id: str, host: str) -> bool:
        """An executor is gone; False when what it had is lost with it."""
        outputs = len(self._outputs(executor_id))
        if not self._on or not outputs:
            return False
        self._waiting[executor_id] = host
        self._tell(rec.LiveAdoptionBegan(executor_id=executor_id, host=host, outputs=outputs))
        return True

    def _outputs(self, executor_id: str) -> list[tuple[int, int]]:
        return [(one, n) for one in self._maps for n, holder in self._done[one].items() if holder == executor_id]

    def hold_back(self, stages: tuple[int, ...]) -> bool:
        """Whether somebody who reads these stages has to wait."""
        return any(holder in self._waiting for stage in stages for holder in self._done[stage].values())

    def comes(self, executor_id: str, host: str) -> None:
        """An executor registers: it looks for what lies on its host."""
        for gone in [one for one, where in self._waiting.items() if where == host]:
            self._clock.after(self._rng.randint(*_LOOKS_MS), partial(self._looks, executor_id, gone))

    def _looks(self, executor_id: str, gone: str) -> None:
        if gone not in self._waiting or not self._alive(executor_id):
            return
        adopted = 0
        for stage, partition in self._outputs(gone):
            if self._rng.random() >= _DAMAGED_SHARE:
                self._done[stage][partition] = executor_id
                adopted += 1
        self.adopted += adopted
        self._end(gone, adopted, f"executor {executor_id} has looked for them")

    def give_up(self, host: str) -> None:
        """Nobody will come to a host."""
        for gone in [one for one, where in self._waiting.items() if where == host]:
            self._end(gone, 0, "the negotiator has given them up")

    def _end(self, gone: str, adopted: int, why: str) -> None:
        host = self._waiting.pop(gone)
        lost = len(self._outputs(gone))
        self._lose(gone)
        self._tell(
            rec.LiveAdoptionEnded(
                executor_id=gone, host=host, outputs=adopted + lost, adopted=adopted, lost=lost, why=why
            )
        )
        self._over()
