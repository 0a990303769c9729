"""How the options of placing tasks become properties of Spark's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from yarnspec.gateway.translation.sizes import duration_ms

if TYPE_CHECKING:
    from collections.abc import Mapping

    from yarnspec.options import Options

_WAIT = "spark.locality.wait"
_WAITS = (_WAIT, f"{_WAIT}.process", f"{_WAIT}.node", f"{_WAIT}.rack")
_SPARKS_WAIT = "3s"


def properties(given: Mapping[str, str], options: Options) -> dict[str, str]:
    """The properties that the driver's scheduler reads."""
    placement = options.placement
    wanted = {
        "spark.yarnspec.spreadTasks": str(placement.spread_tasks).lower(),
        "spark.yarnspec.taskSeed": str(placement.task_seed),
    }
    if placement.locality_weight != 1:
        waits = {_WAIT: _SPARKS_WAIT} | {key: given[key] for key in _WAITS if key in given}
        wanted |= {key: f"{round(duration_ms(text, key) * placement.locality_weight)}ms" for key, text in waits.items()}
    return wanted
