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
    """Time between two looks at the running tasks. Above 50,000 running tasks a look takes two steps, half of this
    apart: hosts first, then tasks."""

    baseline_lower_bound_ms: MsOrZero = 60_000
    """No task is slow before it has run this long. The detector progress asks this only of a task that hangs
    (stuck_multiplier)."""

    baseline_multiplier: Factor = 1.5
    """A task is late when it takes this many times as long as expected: the median of the tasks that finished first.
    The detector progress expects the time of tasks on other hosts, by input where that is known. In a stage whose tasks
    differ much it asks for more than that."""

    heartbeat_interval_ms: int = 1_000
    """How often executors tell the driver how far their tasks are. Sets spark.executor.heartbeatInterval unless that is
    set. With thousands of executors a longer interval spares the driver."""

    min_finished: Count = 3
    """A task is compared with others once this many tasks have ended on other hosts. Used for the speed of hosts, and
    by the detector progress."""

    cold_start_ms: int = 3_000
    """This much of a task's time is not counted on an executor that has not ended a task yet. Such an executor still
    loads classes and starts Python. Used for the speed of hosts, and by the detector progress."""

    noise_ms: int = 100
    """A task is not late if it takes longer than expected by less than this. Before two times are compared, twice
    this value is added to each, so short hiccups do not count. Used for the speed of hosts, and by the detector
    progress."""

    host_proof: Probability = 0.85
    """A host counts as slow only if its tasks prove it slow with at least this probability. Its tasks must also be
    slower by host_slow_factor."""

    host_slow_factor: Factor = 1.5
    """A host counts as slow only if its tasks take at least this many times as long as on other hosts."""

    host_memory_ms: Annotated[int, msgspec.Meta(ge=1)] = 300_000
    """Time after which an observation of a host has half its weight."""
