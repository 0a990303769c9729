"""Deaths everywhere: a first driver, or its application master, that dies at each step, and a journal cut anywhere.

Only the first epoch dies at each of its steps, and then a next one goes on to the end. Where later epochs die as well
they do at steps that are drawn; the journal that they all leave is cut at each record.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from itertools import count

from yarnspec.core.messages.settings import Settings
from yarnspec.core.negotiator import Negotiator
from yarnspec.simulate.restarts.driver import SimulatedEpoch
from yarnspec.simulate.restarts.masters import Masters
from yarnspec.simulate.restarts.resumption import resume
from yarnspec.simulate.restarts.resumption_plan import Crash, Disk, ResumptionPlan
from yarnspec.simulate.world.rules import BrokenRule

WAYS = {
    "driver": Crash(0, "driver"),
    "master": Crash(0, "master"),
    "taken for dead": Crash(0, "master", lives_on=True),
}
"""Which process dies. In the last case it goes on between the next driver's steps, to its end or until a refusal."""


def crash_everywhere(seed: int, core: Callable[[Settings], Negotiator] = Negotiator) -> Counter[str]:
    """Let the first epoch of a seed's plan die at each step in each way, and the next one go on to the end.

    Returns how many died in each way, and what came of them as in ``Result``. Raises BrokenRule.
    """
    seen: Counter[str] = Counter()
    for way, kind in WAYS.items():
        for step in count():
            crash = Crash(step, kind.who, kind.lives_on)
            try:
                result = resume(seed, core, crash)
            except BrokenRule as rule:
                raise BrokenRule(f"{rule}, after {crash}") from None
            if result.epochs == 1:
                break
            seen[way] += 1
            for name in ("restored", "beside", "refused", "fenced", "refused_late"):
                seen[name] += getattr(result, name)
    return seen


def cut_everywhere(seed: int, core: Callable[[Settings], Negotiator] = Negotiator) -> Counter[str]:
    """Let an epoch begin with the first so many records of what all epochs of a seed's plan wrote, for each number.

    Returns how many ``cuts`` there were, and how many outputs were ``restored``. Raises BrokenRule.
    """
    plan, left = ResumptionPlan.draw(seed), Disk()
    attempts = resume(seed, core, disk=left).attempts
    seen: Counter[str] = Counter()
    for records in range(len(left.records) + 1):
        rng = random.Random((seed << 32) + records)
        disk = Disk(left.records[:records], left.outputs)
        disk.suffer(plan, rng)
        epoch = SimulatedEpoch(plan, Masters(plan, rng, core, earlier=attempts).now, disk, rng)
        try:
            for _ in epoch.run():
                pass
        except BrokenRule as rule:
            raise BrokenRule(f"{rule}, with {records} of {len(left.records)} records") from None
        seen["cuts"] += 1
        seen["restored"] += epoch.restored
    return seen
