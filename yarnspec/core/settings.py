"""What the core is told once, before the first event: sizes, limits and periods."""

from __future__ import annotations

import msgspec


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The options that the core's decisions depend on; the shell fills it from the plan and the options file.

    ``excluded_hosts`` are blocked before the first container is asked for, so no container can slip onto one while
    the negotiator starts. ``max_executor_failures`` of None means max(3, 2 x target), Spark's own rule.
    """

    initial_executors: int
    executor_memory_mb: int
    executor_vcores: int = 1
    executor_label: str = ""

    excluded_hosts: tuple[str, ...] = ()
    force_excluded: bool = False
    hosts_wait_ms: int = 15_000
    blocked_share: float = 0.33
    automatic_block_ms: int = 600_000

    resource_wait_ms: int = 300_000

    removed_wait_ms: int = 10_000

    young_ms: int = 30_000
    max_executor_failures: int | None = None
    failure_window_ms: int = 600_000
    backoff_first_ms: int = 1_000
    backoff_max_ms: int = 30_000
