"""How often a driver that died is started again within an attempt, and how its epochs are numbered.

An epoch is one run of the driver. Each attempt has a range of numbers of its own, large enough for all epochs that the
driver may have in it. So nobody has to ask anybody which number is the next. Most numbers are never used.
"""

from __future__ import annotations

from yarnspec.core.messages.settings import RecoverySettings

RESTART_TIMER = "driver-restart"


def first_epoch(attempt: int, driver_restarts: int) -> int:
    """The number of the driver's first epoch in an attempt. Later ones in the same attempt count on from it."""
    return (attempt - 1) * (driver_restarts + 1) + 1


def attempt_of_epoch(epoch: int, epochs_per_attempt: int) -> int:
    """The number of the attempt that the epoch is in."""
    return (epoch - 1) // epochs_per_attempt + 1


class Restarts:
    """The budget of restarts of one attempt."""

    def __init__(self, settings: RecoverySettings) -> None:
        self._settings = settings
        self.limit = settings.driver_restarts if settings.enabled else 0
        self.count = 0

    def next(self) -> int | None:
        """Take one restart: how many milliseconds it waits; None when there is none left."""
        if self.count >= self.limit:
            return None
        self.count += 1
        if self.count == 1:
            return 0
        return min(self._settings.restart_first_ms << min(self.count - 2, 20), self._settings.restart_max_ms)
