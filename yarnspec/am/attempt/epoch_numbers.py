"""The numbers of the driver's epochs: which ones an attempt has, and how often a driver may be started again in it."""

from __future__ import annotations

from collections.abc import Iterable

from yarnspec.core.lifecycle.restarts import attempt_of_epoch, first_epoch
from yarnspec.core.options.recovery import EPOCH_MAX, restarts_in_each
from yarnspec.plan import Plan


def epoch_of(plan: Plan, attempt: int) -> int:
    """The number of the driver's first epoch in an attempt: the same whoever asks, in every attempt."""
    return first_epoch(attempt, restarts_of(plan) if plan.options.recovery.enabled else 0)


def attempt_of(plan: Plan, epoch: int) -> int:
    """The attempt that this epoch was in."""
    return attempt_of_epoch(epoch, epochs_per_attempt=epoch_of(plan, 2) - epoch_of(plan, 1))


def restarts_of(plan: Plan) -> int:
    """How often the driver is started again in one attempt, so that the epochs of all attempts have numbers."""
    return restarts_in_each(plan.max_attempts, plan.options.recovery.driver_restarts)


def epochs_of(plan: Plan, attempts: Iterable[int]) -> tuple[int, ...]:
    """The numbers of all epochs that a driver may have had in these attempts."""
    return tuple(epoch for each in attempts for epoch in range(epoch_of(plan, each), epoch_of(plan, each + 1)))


def restarts_left(plan: Plan, epoch: int) -> int:
    """How often the driver is started again in the attempt whose first epoch this is."""
    return max(0, min(restarts_of(plan), EPOCH_MAX - epoch))


def why_off(epoch: int) -> str:
    """Why an epoch can keep nothing, however much that is wanted; empty when it can."""
    if epoch <= EPOCH_MAX:
        return ""
    return f"this is driver epoch {epoch} of the application, which has numbers for {EPOCH_MAX} only"
