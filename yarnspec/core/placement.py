"""The desired placement's versions: each is the whole state and replaces the one before it."""

from __future__ import annotations

from yarnspec.core.commands import UpdatePlacement, WantedContainer


class Placement:
    """Numbers the versions and remembers which one is known to have reached the ResourceManager."""

    def __init__(self) -> None:
        self.version = 0
        self.acknowledged = 0
        self.blocked: tuple[str, ...] = ()

    def next(self, blocked: tuple[str, ...], wanted: tuple[WantedContainer, ...], reason: str) -> UpdatePlacement:
        """The next version."""
        self.version += 1
        self.blocked = blocked
        said = f"{reason}; {len(blocked)} hosts blocked, {len(wanted)} containers to come"
        return UpdatePlacement(version=self.version, blocked_hosts=blocked, wanted=wanted, reason=said)

    def acknowledge(self, version: int) -> bool:
        """Take an acknowledgement; False for a version that is old or was never given."""
        if not self.acknowledged < version <= self.version:
            return False
        self.acknowledged = version
        return True

    @property
    def lag(self) -> int:
        """How many versions the ResourceManager is behind."""
        return self.version - self.acknowledged
