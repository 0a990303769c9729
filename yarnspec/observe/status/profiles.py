"""The resource profiles of an application: their sizes, how many executors of each Spark wants, and who has which."""

from __future__ import annotations

from collections.abc import Collection

from yarnspec.core.messages import commands, events
from yarnspec.core.messages.commands import Command
from yarnspec.core.messages.events import Event, ExecutorProfile
from yarnspec.observe.forms.document import ProfileStatus


class ProfilesFold:
    """The usual size and the profiles beside it after each record."""

    def __init__(self) -> None:
        self._usual: ExecutorProfile | None = None
        self._sizes: dict[int, ExecutorProfile] = {}
        self._wanted: dict[int, int] = {}
        self._profile_of: dict[str, int] = {}

    def apply(self, message: Event | Command) -> None:
        """Take in the next event or command; those that are about other things change nothing."""
        match message:
            case events.TargetExecutorsChanged(profiles=profiles):
                self._sizes |= {one.id: one for one in profiles}
                self._wanted = {one.id: one.count for one in profiles}
            case events.DriverReady(executor=told):
                self._usual = told
            case commands.RequestContainers(profile=profile) if profile is not None:
                self._profile_of.update(dict.fromkeys(message.executor_ids, profile.id))
            case events.AttemptStarted():
                self.__init__()  # type: ignore[misc]

    @property
    def wanted(self) -> int:
        """How many executors Spark wants of all these profiles."""
        return sum(self._wanted.values())

    def of(self, executor_id: str) -> int:
        """The profile of an executor; 0 is the usual one."""
        return self._profile_of.get(executor_id, 0)

    def usual(self, wanted: int) -> ProfileStatus | None:
        """The usual size, of which so many are wanted; None before the program has told it."""
        return None if self._usual is None else _status(self._usual, wanted)

    def status(self, used: Collection[int]) -> tuple[ProfileStatus, ...]:
        """The profiles of which executors are wanted, and those that are ``used``."""
        return tuple(
            _status(one, self._wanted.get(one.id, 0))
            for one in self._sizes.values()
            if self._wanted.get(one.id) or one.id in used
        )


def _status(profile: ExecutorProfile, wanted: int) -> ProfileStatus:
    return ProfileStatus(
        id=profile.id,
        wanted=wanted,
        memory_mb=profile.memory_mb,
        cores=profile.cores,
        slots=profile.slots,
        resources=profile.resources,
    )
