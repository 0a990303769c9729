"""Lets one writer at a time write to a path, by a small file beside the output that says who and since when.

The file appears by one rename that fails where it is there already. A claim is taken over if its owner is gone for
certain: an earlier epoch of the same application, or a ``save`` of this very process that ended by an error. Everybody
else's is respected, unless the user says that it is dead (``take_over``).
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import uuid
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime

from yarnspec.errors import NotAllowed, YarnspecError
from yarnspec.sink.files import SinkFiles

_TRIES = 20


class PathClaimed(NotAllowed):
    """Somebody else writes to the path; the message says who and since when."""


class Superseded(YarnspecError):  # noqa: N818 - named for what happened
    """Another driver has taken over while this one was at work."""


@dataclass(frozen=True)
class Owner:
    """The writer. ``run`` is this one ``save``; ``epoch`` 0 where nobody counts the drivers of an application."""

    run: str
    application: str
    epoch: int
    process: str
    user: str
    host: str
    pid: int
    since_ms: int
    schema: int = 1

    def encode(self) -> bytes:
        """The claim's content."""
        return json.dumps(dataclasses.asdict(self)).encode()

    @staticmethod
    def decode(data: bytes) -> Owner | None:
        """Read a claim; None if these bytes are no claim, or one of a newer yarnspec."""
        with contextlib.suppress(ValueError, TypeError):
            owner = Owner(**json.loads(data))
            return owner if owner.schema == 1 else None
        return None

    def succeeds(self, other: Owner, active: Collection[str]) -> bool:
        """Whether the other is certainly gone; ``active``: the runs of this process that go on."""
        if other.process == self.process:
            return other.run not in active
        return other.application == self.application and 0 < other.epoch < self.epoch


class Claim:
    """The claim of one owner on a path.

    Args:
        files: where the output goes.
        path: of the claim.
        room: a directory for names on the way; made and removed here.
        owner: who claims.
    """

    def __init__(self, files: SinkFiles, path: str, room: str, owner: Owner) -> None:
        self._files = files
        self._path = path
        self._room = room
        self._owner = owner

    def take(self, active: Collection[str] = (), *, take_over: bool = False) -> None:
        """Become the owner.

        Raises:
            PathClaimed: somebody else is, and may be alive.
        """
        prepared = f"{self._room}/claim-{self._owner.run}"
        for _ in range(_TRIES):
            self._files.make_directories(self._room)
            try:
                self._files.write(prepared, self._owner.encode())
                if self._files.rename(prepared, self._path):
                    return
            except FileNotFoundError:
                continue  # the owner before has just removed the empty room
            except Exception:
                self._give_up(prepared)
                raise
            content = self._files.read(self._path)
            if content is None or self._end(content, active, take_over=take_over):
                continue
            self._give_up(prepared)
            raise PathClaimed(self._refusal(content))
        raise PathClaimed(f"{self._path}: others claim it and give it up again and again")

    def is_ours(self) -> bool:
        """Whether nobody has taken it over."""
        content = self._files.read(self._path)
        owner = Owner.decode(content) if content is not None else None
        return owner is not None and owner.run == self._owner.run

    def release(self) -> None:
        """Let others write; what has been taken over meanwhile is left alone."""
        if self.is_ours():
            self._files.delete(self._path)

    def _give_up(self, prepared: str) -> None:
        with contextlib.suppress(OSError):
            self._files.delete(prepared)
            self._files.remove_empty(self._room)

    def _end(self, content: bytes, active: Collection[str], *, take_over: bool) -> bool:
        """Take away the claim that was read, if that may be; then there is none."""
        before = Owner.decode(content)
        if not take_over and (before is None or not self._owner.succeeds(before, active)):
            return False
        aside = f"{self._room}/ended-{uuid.uuid4().hex}"
        try:
            self._files.rename(self._path, aside)
        except FileNotFoundError:
            return True
        if self._files.read(aside) != content:
            # Somebody was quicker, and this is his.
            with contextlib.suppress(FileNotFoundError):
                self._files.rename(aside, self._path)
            return True
        self._files.delete(aside)
        return True

    def _refusal(self, content: bytes) -> str:
        other = Owner.decode(content)
        if other is None:
            who = "somebody (the claim cannot be read)"
        else:
            since = datetime.fromtimestamp(other.since_ms / 1000, UTC).isoformat(timespec="seconds")
            who = f"{other.application} (user {other.user}, driver {other.pid} on {other.host}) since {since}"
        return (
            f"{who} writes to this output: its claim is {self._path}. If that has ended for certain, take the claim "
            "over with take_over=True: what it has decided to publish is then published first, the rest of it deleted"
        )
