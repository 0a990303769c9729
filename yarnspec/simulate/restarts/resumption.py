"""Epochs of a driver that dies again and again: the real core decides what each takes over from the last.

A program is a list of shuffles, each computed from earlier ones. A map's output is a number that follows from its
inputs. Unless the shuffle is determinate, the number also depends on the run of the map. At the end every output must
fit those that it was computed from: a mixture of two runs of something that varies is a wrong result.

A crash comes after any command that was obeyed, and before or after anything that the driver does. It cuts the journal
somewhere behind the last record that was told to be durable. Hosts come and go between epochs. A driver that dies
alone has the next driver under the same negotiator, to which it still speaks. A driver that is only taken for dead goes
on with its negotiator, step by step between those of later epochs (``beside.py``).
"""

from __future__ import annotations

import random
from collections.abc import Callable

from yarnspec.core.messages.settings import Settings
from yarnspec.core.negotiator import Negotiator
from yarnspec.simulate.restarts.beside import Beside
from yarnspec.simulate.restarts.driver import SimulatedEpoch
from yarnspec.simulate.restarts.masters import Masters
from yarnspec.simulate.restarts.resumption_plan import Crash, Disk, ResumptionPlan, ResumptionResult, Steps


def resume(
    seed: int,
    core: Callable[[Settings], Negotiator] = Negotiator,
    crash: Crash | None = None,
    disk: Disk | None = None,
) -> ResumptionResult:
    """Run the plan of a seed to the end of its program. Raises BrokenRule when its result would be wrong.

    ``crash``: the only one, in place of those of the plan. ``disk``: is given what is left at the end.
    """
    plan = ResumptionPlan.draw(seed)
    if crash is not None:
        plan = crash.of(plan)
    rng = random.Random(seed + (1 << 33))
    disk = Disk() if disk is None else disk
    masters = Masters(plan, rng, core)
    beside = Beside(plan, disk, rng)
    epochs: list[SimulatedEpoch] = []
    while True:
        epoch = SimulatedEpoch(plan, masters.now, disk, rng)
        epochs.append(epoch)
        steps = epoch.run()
        end = None if len(epochs) > plan.crashes else crash or _draw(plan, rng, alone=masters.now.dies_alone)
        dead = _dies(steps, end, beside)
        epoch.journal.seal(rng)
        if end is None or not dead:
            break
        if end.lives_on:
            beside.add(epoch, steps)
        masters.next_epoch()
        disk.suffer(plan, rng)
    beside.end()
    return ResumptionResult(
        epochs=len(epochs),
        attempts=masters.now.attempt,
        in_place=masters.in_place,
        beside=beside.steps,
        refused=sum(one.journal.refused for one in epochs),
        fenced=sum(one.fenced for one in epochs),
        refused_late=sum(one.master.late for one in epochs),
        ran=sum(one.ran for one in epochs),
        ideal=sum(one.maps for one in plan.shuffles),
        restored=sum(one.restored for one in epochs),
        late=sum(one.late for one in epochs),
        durable=[one.saved for one in epochs[1:]],
    )


def _dies(steps: Steps[None], end: Crash | None, beside: Beside) -> bool:
    """Have an epoch go on until its driver dies, or is taken for dead; False when its program has ended before."""
    for step, _ in enumerate(steps):
        if end is not None and step == end.step:
            return True
        beside.go_on()
    return False


def _draw(plan: ResumptionPlan, rng: random.Random, *, alone: bool) -> Crash:
    """A crash anywhere in an epoch, also before it has done anything."""
    of_driver = 2 * (len(plan.shuffles) + sum(one.maps for one in plan.shuffles))
    if alone:
        return Crash(rng.randint(0, of_driver), "driver")
    return Crash(rng.randint(0, of_driver * 3 // 2 + 8), "master", lives_on=rng.choice((False, False, True)))
