"""One scenario under other rules: Spark's own, those of the proposal that yarnspec began with, and none."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import msgspec

from yarnspec.core.messages.events import ScaleRequested
from yarnspec.core.messages.settings import Settings
from yarnspec.gateway.simulation.scenario_file import WhatIfScenario
from yarnspec.options import load
from yarnspec.simulate.whatif.plan import SimulationPlan

_NO_CAPS = ("speculation.max_share_of_stage=1", "speculation.max_share_of_application=1")
"""Neither Spark nor the proposal limits how many tasks are copied."""
_SPARKS = (
    *_NO_CAPS,
    "detector.kind=execution-time",
    "detector.check_interval=100 ms",
    "detector.baseline_ratio=0.9",
    "detector.baseline_multiplier=3",
    "detector.baseline_lower_bound=100 ms",
    "blocklist.enabled=false",
)
"""Spark 4's defaults of spark.speculation: a task is slow at 3 times the median when 9 of 10 tasks have ended."""
_PROPOSED = (
    *_NO_CAPS,
    "detector.kind=execution-time",
    "detector.check_interval=1 s",
    "detector.baseline_ratio=0.75",
    "detector.baseline_multiplier=1.5",
    "detector.baseline_lower_bound=1 min",
)
"""The defaults of the proposal "speculative execution for batch jobs" (FLINK-10644), with its blocks."""


class Variant(NamedTuple):
    """A scenario under some rules."""

    name: str
    plan: SimulationPlan


def variants(scenario: WhatIfScenario) -> list[Variant]:
    """The scenario as its file has it, and under the other rules."""
    plan = scenario.plan
    core = plan.settings
    own_start = msgspec.structs.replace(core.resources, min_executors=0, max_executors=0, move_executors=False)
    spark = msgspec.structs.replace(_by(_SPARKS, core), resources=own_start)
    nothing = msgspec.structs.replace(
        core,
        speculation=msgspec.structs.replace(core.speculation, enabled=False),
        blocks=msgspec.structs.replace(core.blocks, enabled=False),
    )
    # Spark has nothing like `yarnspec scale`.
    wishes = tuple(one for one in plan.wishes if not isinstance(one[1], ScaleRequested))
    without_scale = replace(plan, settings=spark, wishes=wishes)
    return [
        Variant("as written", plan),
        Variant("Spark's rules", without_scale),
        Variant("Flink's rules", replace(plan, settings=_by(_PROPOSED, core))),
        Variant("no speculation", replace(plan, settings=nothing)),
    ]


def _by(rules: tuple[str, ...], core: Settings) -> Settings:
    """The scenario's settings with other rules for slow tasks and slow hosts."""
    options = load(None, rules, {}).options
    return msgspec.structs.replace(
        core, detector=options.detector, blocks=options.blocklist, speculation=options.speculation
    )
