"""The options ``detector.…`` that all detectors share; those of one detector are in its file (``core/detectors``)."""

from __future__ import annotations

from typing import Annotated

import msgspec

from yarnspec.core.options.types import Count, Factor, MsOrZero, Probability


class CommonDetectorSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How slow tasks and slow hosts are found."""

    kind: str = "progress"
    """Which detector finds slow tasks."""

    check_interval_ms: int = 500
    """Time between two looks at the running tasks. If more than 50,000 run, each look takes two steps, half of this
    apart."""

    baseline_lower_bound_ms: MsOrZero = 60_000
    """For execution-time and input-weighted: no task is slow before it has run this long. For progress: nor is one that
    is late for no reason that can be seen (stuck_multiplier)."""

    baseline_multiplier: Factor = 1.5
    """For execution-time and input-weighted: how many times the median of those finished first a task may take before
    it is slow. For progress: how many times what was expected of it before it is late; more in a stage whose tasks
    differ much."""

    heartbeat_interval_ms: int = 1_000
    """How often executors tell the driver how far their tasks are. Sets spark.executor.heartbeatInterval unless that is
    set; with thousands of executors a longer one spares the driver."""

    min_finished: Count = 3
    """So many ended tasks on other hosts are enough to compare a task with, for progress and for the speed of hosts."""

    cold_start_ms: int = 3_000
    """So much of a task's time is not held against it on an executor that has not ended one yet: it loads classes and
    starts Python. For progress and for the speed of hosts."""

    noise_ms: int = 100
    """A task that takes longer than expected by less than this is not late, and twice this is added to all times before
    they are compared, so that a hiccup of so long says little. For progress and for the speed of hosts."""

    host_proof: Probability = 0.85
    """A host counts as slow only if it is slow with at least this probability, and by host_slow_factor."""

    host_slow_factor: Factor = 1.5
    """A host counts as slow only if its tasks take at least this many times as long as on other hosts."""

    host_memory_ms: Annotated[int, msgspec.Meta(ge=1)] = 300_000
    """Time after which what was seen of a host has half its weight."""
