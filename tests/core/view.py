"""What tests see of the core besides its commands: a frozen copy of what its parts hold."""

from __future__ import annotations

from dataclasses import dataclass

from yarnspec.core.blocking.blocks import Block
from yarnspec.core.negotiator import Negotiator


@dataclass(frozen=True)
class ContainerView:
    executor_id: str
    container_id: str
    host: str
    state: str
    cores: int
    extra: bool


@dataclass(frozen=True)
class View:
    phase: str
    target: int
    wanted: int
    allocated: int
    running: int
    extra: int
    held_back: int
    containers: tuple[ContainerView, ...]
    blocks: tuple[Block, ...]
    placement_lag: int
    pending_reason: str
    stopped: str
    counters: dict[str, int]

    @property
    def blocked_hosts(self) -> tuple[Block, ...]:
        return tuple(
            block for block in self.blocks if block.level in ("application", "cluster") and not block.executor_id
        )


def view_of(negotiator: Negotiator) -> View:
    containers = negotiator._containers
    return View(
        phase=_phase(negotiator),
        target=containers.target,
        wanted=containers.count("wanted"),
        allocated=containers.count("allocated"),
        running=containers.count("running"),
        extra=len(containers.extra_executors),
        held_back=containers.held,
        containers=tuple(
            ContainerView(row.executor_id, row.container_id, row.host, row.state, row.cores, row.extra)
            for row in containers.rows
        ),
        blocks=negotiator._blocklist.blocks,
        placement_lag=negotiator._placement.version - negotiator._placement.acknowledged,
        pending_reason=negotiator._lifecycle.pending_reason,
        stopped=negotiator._speculation.stopped,
        counters={
            "out_of_order": negotiator._out_of_order + negotiator._driver.out_of_order,
            "stale_timers": negotiator._timers.stale,
            "unknown_executors": containers.unknown,
            "young_deaths": len(negotiator._executors._deaths._deaths),
            "refused_blocks": negotiator._blocklist.refused,
        },
    )


def _phase(negotiator: Negotiator) -> str:
    lifecycle = negotiator._lifecycle
    if lifecycle.over:
        return lifecycle.over
    if not lifecycle.lives:
        return "new"
    if lifecycle.stopping:
        return "finishing"
    return "executing" if lifecycle.sufficient(negotiator._containers) else "waiting"
