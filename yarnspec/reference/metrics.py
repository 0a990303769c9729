"""The tables of metrics in docs/internals/speculation.md, from the declarations in ``observe/status/metrics.py``."""

from __future__ import annotations

from typing import Any

from yarnspec.observe.status.metrics import APPLICATION, RECOVERY, SPECULATION, STAGES, DeclaredMetric
from yarnspec.reference.tables import filled, table

_OF_STAGES = "yarnspec_stage_"


def page_text() -> str:
    """The page with its tables as the code has them."""
    declared: tuple[DeclaredMetric[Any], ...] = (*APPLICATION, *SPECULATION, *RECOVERY)
    whole = [(f"`{one.name}`", ", ".join(f"`{label}`" for label in one.labels), one.about) for one in declared]
    stages = [(f"`{one.name.removeprefix(_OF_STAGES)}`", one.about) for one in STAGES]
    tables = {
        "metrics": table(("metric", "labels", "what it says"), whole),
        "metrics of stages": table(("name", "of a stage attempt"), stages),
    }
    return filled("docs/internals/speculation.md", tables)
