"""The desired placement's versions: each is the whole state and replaces the one before it."""

from __future__ import annotations

from yarnspec.core.blocking.blocks import WIDE, Block
from yarnspec.core.messages.commands import UpdatePlacement, WantedContainer


class PlacementVersions:
    """Numbers the versions and remembers which one is known to have reached the ResourceManager.

    Listens to the blocklist for the hosts that no container is to be placed on.
    """

    def __init__(self) -> None:
        self.version = 0
        self.acknowledged = 0
        self._levels: dict[str, set[str]] = {}
        self._sent: tuple[str, ...] = ()

    def blocks_changed(self, added: tuple[Block, ...], lifted: tuple[Block, ...]) -> None:
        """Take a change of the blocklist."""
        for block in lifted:
            if _keeps_containers_off(block):
                self._levels[block.host].discard(block.level)
        for block in added:
            if _keeps_containers_off(block):
                self._levels.setdefault(block.host, set()).add(block.level)

    @property
    def blocked(self) -> tuple[str, ...]:
        """The hosts that containers are kept off, sorted."""
        return tuple(sorted(host for host, levels in self._levels.items() if levels))

    @property
    def changed(self) -> bool:
        """Whether other hosts are blocked than the newest version says."""
        return self._sent != self.blocked

    def next(self, wanted: tuple[WantedContainer, ...], reason: str) -> UpdatePlacement:
        """The next version."""
        self.version += 1
        self._sent = blocked = self.blocked
        said = f"{reason}; {len(blocked)} hosts blocked, {len(wanted)} containers to come"
        return UpdatePlacement(version=self.version, blocked_hosts=blocked, wanted=wanted, reason=said)

    def acknowledge(self, version: int) -> bool:
        """Take an acknowledgement; False for a version that is old or was never given."""
        if not self.acknowledged < version <= self.version:
            return False
        self.acknowledged = version
        return True


def _keeps_containers_off(block: Block) -> bool:
    return block.level in WIDE and not block.executor_id
