"""What can be seen of the core from outside: a frozen copy, for tests and for a debugger."""

from __future__ import annotations

import msgspec

from yarnspec.core.blocklist import Block


class ContainerView(msgspec.Struct, frozen=True, kw_only=True):
    """One executor: ``state`` is wanted, allocated, running or releasing; no container id or host while wanted."""

    executor_id: str
    container_id: str
    host: str
    state: str
    cores: int
    on_blocked_host: bool


class View(msgspec.Struct, frozen=True, kw_only=True):
    """The core's state after the last event."""

    application_id: str
    attempt: int
    epoch: int
    container_id: str
    host: str
    placement_mode: str
    am_on_blocked_host: bool
    phase: str
    target: int
    wanted: int
    allocated: int
    running: int
    held_back: int
    containers: tuple[ContainerView, ...]
    blocked_hosts: tuple[Block, ...]
    pending_reason: str
    placement_version: int
    acknowledged_version: int
    placement_lag: int
    warnings: tuple[str, ...]
    counters: dict[str, int]
