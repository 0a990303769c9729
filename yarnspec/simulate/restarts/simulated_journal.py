"""The journal of one simulated epoch: what is on disk of what it records, until a later epoch seals it.

It holds what is recorded of shuffles, of epochs and of how far the program has got: none of the records of writes
(``tests/core/writelives`` has those), and none of blocks, hosts, copies.
"""

from __future__ import annotations

import random

from yarnspec.core.journal.journalrecords import JournalRecord
from yarnspec.simulate.restarts.resumption_plan import Disk


class SimulatedJournal:
    """Takes records; ``refused``: how many of them came after the seal, and do not count."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._written: list[JournalRecord] = []
        self._durable = 0
        self._to_be_durable = 0
        self.sealed = False
        self.refused = 0

    def write(self, record: JournalRecord, *, durable: bool) -> None:
        """Record something, which is on disk some time or after the next ``flush``. Never says what came of it."""
        self._written.append(record)
        if durable:
            self._to_be_durable = len(self._written)
        if self.sealed:
            self.refused += 1

    def flush(self) -> bool:
        """Have on disk what was to be durable; False when a later epoch has sealed the journal before it was."""
        if self.sealed and self._to_be_durable > self._durable:
            return False
        self._durable = self._to_be_durable
        return True

    def seal(self, rng: random.Random) -> None:
        """A later epoch begins, or none does: keep what was durable, and as much of the rest as chance will have."""
        if not self.sealed:
            self.sealed = True
            kept = rng.randint(self._durable, len(self._written))
            self._disk.records += self._written[:kept]
