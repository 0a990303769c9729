"""The gain and the cost of copies, in milliseconds of tasks.

Gained, for each copy that won: how much earlier its task ended than without the copy. When the original would have
ended is an estimate. If the detector makes one from the original's progress, that one is used, and renewed while the
task stays slow. Else the estimate is the copy's run time times the slowdown learnt for the original's host, counted
from the original's launch. Without either no gain is claimed. Wasted: the run time of copies that did not win. Spent:
the run time of all copies.
"""

from __future__ import annotations

import msgspec

from yarnspec.core.messages.figures import LedgerFigures
from yarnspec.core.tasks.stagetasks import TaskAttempt


class Ledger(msgspec.Struct, kw_only=True):
    """Copies by what became of them, and their times. ``copies_launched`` are those that started."""

    copies_asked: int = 0
    copies_launched: int = 0
    copies_running: int = 0
    copies_won: int = 0
    copies_failed: int = 0
    copies_cancelled: int = 0
    copies_refused: int = 0
    copies_withdrawn: int = 0
    gained_ms: int = 0
    wasted_ms: int = 0
    spent_ms: int = 0

    @classmethod
    def of(cls, figures: LedgerFigures) -> Ledger:
        """The ledger that has these figures."""
        return cls(**msgspec.structs.asdict(figures))

    def add(self, other: Ledger) -> None:
        """Add what another ledger has."""
        for name in self.__struct_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def copy_ended(self, copy: TaskAttempt, *, won: bool, failed: bool) -> None:
        """A copy that ran has ended."""
        spent_ms = _run_ms(copy)
        self.copies_running -= 1
        self.spent_ms += spent_ms
        if won:
            self.copies_won += 1
            return
        self.wasted_ms += spent_ms
        if failed:
            self.copies_failed += 1
        else:
            self.copies_cancelled += 1

    def settle(self) -> None:
        """The copies that run have ended with their SparkContext."""
        self.copies_cancelled += self.copies_running
        self.copies_running = 0

    def figures(self) -> LedgerFigures:
        """A frozen copy."""
        return LedgerFigures(**{name: getattr(self, name) for name in self.__struct_fields__})

    @property
    def summary(self) -> str:
        """The ledger in a sentence."""
        ended = f"{self.copies_won} won, {self.copies_cancelled} lost to the original, {self.copies_failed} failed"
        never = self.copies_withdrawn + self.copies_refused
        return (
            f"{self.copies_launched} copies started ({ended}, {self.copies_running} run), {never} never started; "
            f"about {self.gained_ms / 1000:.1f} task seconds gained, {self.wasted_ms / 1000:.1f} of "
            f"{self.spent_ms / 1000:.1f} spent on copies wasted"
        )


def gained_ms(original: TaskAttempt | None, copy: TaskAttempt, estimate_ms: int | None, factor: float) -> int:
    """How much earlier the task ended because of its copy."""
    end_ms = estimate_ms
    if end_ms is None and original is not None and factor > 1:
        end_ms = original.launch_ms + int(factor * _run_ms(copy))
    if end_ms is None or copy.finish_ms is None:
        return 0
    return max(0, end_ms - copy.finish_ms)


def _run_ms(attempt: TaskAttempt) -> int:
    return max(0, (attempt.finish_ms or attempt.launch_ms) - attempt.launch_ms)
