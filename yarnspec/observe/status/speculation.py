"""Joins the core's knowledge of slow tasks, copies and blocks to the status document of the same moment."""

from __future__ import annotations

import heapq

import msgspec

from yarnspec.core.blocking.blocks import Block
from yarnspec.core.copies.speculationview import SpeculationView
from yarnspec.core.messages.figures import StageMetrics, StageSpeculation
from yarnspec.observe.forms.document import (
    BlockStatus,
    CopyTotals,
    SpeculationStatus,
    StageStatus,
    StatusDocument,
)

# A status is asked for each second, and may show two hundred stages.
_SPANS_OF_RUNNING = 100
_SPANS_OF_ENDED = 20


def joined(document: StatusDocument, view: SpeculationView) -> StatusDocument:
    """The document with the core's own numbers in place of those that were counted from records."""
    known = {(one.stage, one.stage_attempt): one for one in view.stages}
    return msgspec.structs.replace(
        document,
        stages=tuple(with_speculation(one, known.get((one.stage, one.stage_attempt))) for one in document.stages),
        blocks=tuple(_block(one) for one in view.blocks),
        speculation=SpeculationStatus(
            enabled=view.enabled,
            stopped=view.stopped,
            detector=view.detector,
            slow_tasks=view.slow_tasks,
            waiting_copies=view.waiting_copies,
            extra_containers=view.extra_containers,
            ledger=msgspec.convert(view.ledger, CopyTotals, from_attributes=True),
        ),
    )


def with_speculation(stage: StageStatus, known: StageSpeculation | None) -> StageStatus:
    """The stage with the core's numbers; as it is where the core knows nothing of it (any more)."""
    if known is None:
        return stage
    state = stage.state
    if state == "RUNNING" and known.state != "RUNNING":
        # The row that says so was lost, and the core has seen to it.
        state = "SUCCEEDED" if known.state == "SUCCESS" else "FAILED"
    running = state == "RUNNING"
    return msgspec.structs.replace(
        stage,
        state=state,
        copies_running=known.running_copies,
        gained_ms=known.gained_ms,
        wasted_ms=known.wasted_ms,
        not_copied=known.not_copied,
        metrics=msgspec.structs.replace(
            msgspec.convert(known, StageMetrics, from_attributes=True),
            slow_tasks=known.slow_tasks if running else 0,
            running_ms_by_index=_longest(known.running_ms_by_index, _SPANS_OF_RUNNING if running else _SPANS_OF_ENDED),
        ),
    )


def _longest(running_ms: dict[int, int], count: int) -> dict[int, int]:
    kept = heapq.nlargest(count, running_ms.items(), key=lambda one: one[1])
    return dict(sorted(kept))


def _block(block: Block) -> BlockStatus:
    return BlockStatus(
        level=block.level,
        cause=block.cause,
        host=block.host,
        executor_id=block.executor_id or None,
        stage=block.stage,
        index=block.index,
        reason=block.reason,
        by=block.by,
        since_ms=block.since_ms,
        until_ms=block.until_ms,
    )
