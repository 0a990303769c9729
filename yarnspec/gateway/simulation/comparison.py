"""One scenario under other rules: Spark's own, those of the proposal that yarnspec began with, and none."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import msgspec

from yarnspec.core.messages.events import ScaleRequested
from yarnspec.core.messages.settings import Settings
from yarnspec.core.options.placement import ResourcesSettings
from yarnspec.gateway.simulation.scenario_file import WhatIfScenario, core_settings
from yarnspec.options import load
from yarnspec.simulate.whatif.plan import SimulationPlan

_SPARKS = (
    "detector.kind=execution-time",
    "detector.check_interval=100 ms",
    "detector.baseline_ratio=0.9",
    "detector.baseline_multiplier=3",
    "detector.baseline_lower_bound=100 ms",
    "blocklist.enabled=false",
)
"""Spark 4's defaults of spark.speculation: a task is slow at 3 times the median when 9 of 10 tasks have ended."""
_PROPOSED = (
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
    about: str
    plan: SimulationPlan


def variants(scenario: WhatIfScenario) -> list[Variant]:
    """The scenario as its file has it, and under the other rules."""
    plan = scenario.plan
    core = plan.settings
    spark = _without_bounds(core_settings(load(None, _SPARKS, {}).options, core))
    proposed = msgspec.structs.replace(core_settings(load(None, _PROPOSED, {}).options, core), resources=core.resources)
    nothing = msgspec.structs.replace(
        core,
        speculation=msgspec.structs.replace(core.speculation, enabled=False),
        blocks=msgspec.structs.replace(core.blocks, enabled=False),
    )
    # Spark has nothing like `yarnspec scale`.
    wishes = tuple(one for one in plan.wishes if not isinstance(one[1], ScaleRequested))
    without_scale = replace(plan, settings=spark, wishes=wishes)
    return [
        Variant("as written", "the scenario with its own options", plan),
        Variant("Spark's rules", "spark.speculation, and its rule for the start", without_scale),
        Variant("Flink's rules", "the execution-time detector with its defaults", replace(plan, settings=proposed)),
        Variant("no speculation", "neither copies nor blocks by itself", replace(plan, settings=nothing)),
    ]


def _without_bounds(settings: Settings) -> Settings:
    return msgspec.structs.replace(settings, resources=ResourcesSettings())
