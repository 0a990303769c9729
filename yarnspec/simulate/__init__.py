"""A cluster and a Spark made of plain values, which drive the real core in virtual time.

    scenario ──▶ cluster (hosts, containers) ──events──▶ Negotiator ──commands──┐
       │     └─▶ spark (jobs, stages, tasks) ──▶                               │
       │              ▲        └──────────────── obeyed after a moment ◀───────┘
       └── seed       └── rules: what must hold, looked at from outside

The same seed gives the same run to the last byte of its trace, in any process: ``run(seed)``.

This room decides how a cluster and a Spark behave. It must not know a clock, a file or a thread, nor any other package
of yarnspec but the core.
"""

from yarnspec.simulate.world.rules import BrokenRule
from yarnspec.simulate.world.run import RunResult, run
from yarnspec.simulate.world.scenario import Scenario

__all__ = ["BrokenRule", "RunResult", "Scenario", "run"]
