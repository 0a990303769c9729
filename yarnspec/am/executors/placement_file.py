"""The desired placement as a file that the provider in Skein's JVM reads before each allocate call."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import msgspec

from yarnspec.core.messages.commands import UpdatePlacement, WantedContainer
from yarnspec.core.messages.events import HostReport
from yarnspec.plan import PLACEMENT_FILE
from yarnspec.yarn.rm.constraint import Constraint


class Finish(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How the application ends for good; the provider unregisters it with this."""

    status: Literal["SUCCEEDED", "FAILED", "KILLED"]
    diagnostics: str
    tracking_url: str | None = None
    """Where YARN's link leads afterwards; None: to YARN's own page."""


class HostAndRack(msgspec.Struct, frozen=True):
    """A host that the provider may have to name, for locality or to take it off an old blacklist."""

    host: str
    rack: str


class PlacementDocument(msgspec.Struct, frozen=True, kw_only=True):
    """The whole desired state, version by version. Nothing but ``wanted`` is asked for."""

    version: int = 0
    mode: Literal["blacklist", "constraints"]
    host_attribute: str
    constraint: str = ""
    tags: tuple[str, ...] = ()
    blocked_hosts: tuple[str, ...] = ()
    wanted: tuple[WantedContainer, ...] = ()
    all_hosts: tuple[HostAndRack, ...] = ()
    tracking_url: str | None = None
    finish: Finish | None = None


class PlacementFile:
    """Keeps ``placement.json`` equal to what was commanded last. For one thread."""

    def __init__(
        self,
        directory: Path,
        mode: Literal["blacklist", "constraints"],
        host_attribute: str,
        *,
        constraint: Constraint | None = None,
        tags: tuple[str, ...] = (),
    ) -> None:
        self._path = directory / PLACEMENT_FILE
        text = "" if constraint is None else str(constraint)
        self._state = PlacementDocument(mode=mode, host_attribute=host_attribute, constraint=text, tags=tags)
        self.problem = ""
        """Why the file is older than what was commanded last; empty while all is well."""
        self.link_afterwards: str | None = None
        """Where YARN's link leads when the application has ended; None: to YARN's own page."""
        self._write_whole()

    def update(self, command: UpdatePlacement) -> None:
        """Replace blocked hosts and wanted containers."""
        self._state = msgspec.structs.replace(
            self._state, version=command.version, blocked_hosts=command.blocked_hosts, wanted=command.wanted
        )
        self._write()

    def know_hosts(self, hosts: Iterable[HostReport]) -> None:
        """The cluster's hosts, whatever their state."""
        known = tuple(HostAndRack(one.host, one.rack) for one in hosts)
        if known != self._state.all_hosts:
            self._state = msgspec.structs.replace(self._state, all_hosts=known)
            self._write()

    def track(self, url: str | None) -> None:
        """Where YARN's link to the application leads."""
        self._state = msgspec.structs.replace(self._state, tracking_url=url)
        self._write()

    def finish(self, finish: Finish) -> None:
        """End the application for good; OSError when that cannot be written."""
        finish = msgspec.structs.replace(finish, tracking_url=self.link_afterwards)
        self._state = msgspec.structs.replace(self._state, finish=finish, wanted=())
        self._write_whole()

    def write_again(self) -> None:
        """Write what could not be written before."""
        if self.problem:
            self._write()

    def _write(self) -> None:
        try:
            self._write_whole()
        except OSError as error:
            # The provider goes on with the last good version; the next write brings everything.
            self.problem = f"{self._path.name} cannot be written: {error}"
        else:
            self.problem = ""

    def _write_whole(self) -> None:
        temporary = self._path.with_suffix(".new")
        temporary.write_bytes(msgspec.json.encode(self._state))
        temporary.replace(self._path)
