"""What can be seen of the core from outside: a frozen copy, for tests and for a debugger."""

from __future__ import annotations

import msgspec

from yarnspec.core.blocklist import Block, Blocklist
from yarnspec.core.containers import Containers
from yarnspec.core.events import AttemptStarted
from yarnspec.core.lifecycle import Lifecycle
from yarnspec.core.placement import Placement


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


def view_of(
    *,
    attempt: AttemptStarted | None,
    lifecycle: Lifecycle,
    containers: Containers,
    blocklist: Blocklist,
    placement: Placement,
    warnings: tuple[str, ...],
    counters: dict[str, int],
) -> View:
    """A copy of what the parts of the core hold now."""
    return View(
        application_id=attempt.application_id if attempt else "",
        attempt=attempt.attempt if attempt else 0,
        epoch=lifecycle.epoch,
        container_id=attempt.container_id if attempt else "",
        host=attempt.host if attempt else "",
        placement_mode=attempt.placement_mode if attempt else "",
        am_on_blocked_host=attempt is not None and attempt.host in blocklist,
        phase=lifecycle.phase(containers),
        target=containers.target,
        wanted=containers.count("wanted"),
        allocated=containers.count("allocated"),
        running=containers.count("running"),
        held_back=containers.held,
        containers=tuple(
            ContainerView(
                executor_id=row.executor_id,
                container_id=row.container_id,
                host=row.host,
                state=row.state,
                cores=row.cores,
                on_blocked_host=row.host in blocklist,
            )
            for row in containers.rows
        ),
        blocked_hosts=blocklist.blocks,
        pending_reason=lifecycle.pending_reason,
        placement_version=placement.version,
        acknowledged_version=placement.acknowledged,
        placement_lag=placement.lag,
        warnings=warnings,
        counters=counters,
    )
