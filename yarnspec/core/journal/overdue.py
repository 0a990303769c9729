"""How long the outputs that an epoch left on the hosts wait for the next epoch.

The same is ``taskmanager.registration.timeout`` in the batch job recovery proposal (FLIP-383). Each epoch's first
record says when it began and when the one before had ended. So every later epoch comes to the same result about which
outputs an earlier epoch was too late for.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from yarnspec.core.journal.journalrecords import EpochBegan


class Wait(msgspec.Struct, frozen=True, kw_only=True):
    """How long after the end of the epoch before it an epoch began."""

    epoch: int
    waited_ms: int

    def told(self, epoch: int, keep_for_ms: int) -> str:
        """The sentence for people, in that epoch, that this was too long."""
        whom = "this driver" if epoch == self.epoch else f"the driver of epoch {self.epoch}"
        longer = f"longer than recovery.keep_for ({keep_for_ms / 1000:g} s)"
        return f"saved outputs waited {self.waited_ms / 1000:.1f} s for {whom}, {longer}: not used"


def waits_of(epochs: Iterable[EpochBegan]) -> tuple[Wait, ...]:
    """How long each epoch was waited for, if the end of the epoch before is known."""
    return tuple(
        Wait(epoch=one.epoch, waited_ms=one.time_ms - one.previous_ended_ms)
        for one in epochs
        if one.previous_ended_ms > 0
    )


def overdue_of(waits: Iterable[Wait], keep_for_ms: int) -> Wait | None:
    """The newest wait that was too long, or None. Nothing from before its epoch is of use.

    ``keep_for_ms`` of 0: no wait is too long.
    """
    late = [one for one in waits if 0 < keep_for_ms < one.waited_ms]
    return max(late, key=lambda one: one.epoch, default=None)
