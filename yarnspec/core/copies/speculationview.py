"""Frozen copies of the state of speculation, for ``status``, metrics and ``explain``."""

from __future__ import annotations

import msgspec

from yarnspec.core.blocking.blocks import Block
from yarnspec.core.messages.figures import LedgerFigures, StageSpeculation


class SpeculationView(msgspec.Struct, frozen=True, kw_only=True):
    """Speculation now; ``stages`` has the running ones first, then those that ended, the newest first.

    ``stopped``: the fault in it that made it stop for the rest of the attempt, if there was one.
    """

    enabled: bool
    stopped: str
    detector: str
    slow_tasks: int
    effective_copies: int
    waiting_copies: int
    extra_containers: int
    stages: tuple[StageSpeculation, ...]
    blocks: tuple[Block, ...]
    ledger: LedgerFigures


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """Why a task or a host was acted on or not: one sentence, its numbers, and the story in lines.

    ``ended``: the task's stage has ended; the core has forgotten its numbers then, and the records have not.
    """

    subject: str
    verdict: str
    numbers: dict[str, float | str]
    lines: tuple[str, ...]
    ended: bool = False
