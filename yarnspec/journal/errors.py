"""The errors of a journal."""

from __future__ import annotations

from yarnspec.errors import YarnspecError


class JournalDamaged(YarnspecError):  # noqa: N818 - named for what happened, as the user reads it
    """Bytes before the tail are not what was written. ``path`` and ``offset`` say where, ``what`` says how."""

    exit_code = 8

    def __init__(self, path: str, offset: int, what: str) -> None:
        super().__init__(f"the journal is damaged: {path}, byte {offset}: {what}")
        self.path = path
        self.offset = offset
        self.what = what


class EpochTaken(YarnspecError):  # noqa: N818
    """Another process writes, or wrote, this epoch."""


class Fenced(YarnspecError):  # noqa: N818
    """A later epoch has begun: this one is over."""


class JournalGone(YarnspecError):  # noqa: N818
    """The directory of an epoch that is written is not there any more."""


class JournalStopped(YarnspecError):  # noqa: N818
    """The journal records nothing any more; the message says why."""
