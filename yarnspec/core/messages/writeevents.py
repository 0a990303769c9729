"""The events of a program's writes to files, and of its reads of files that it wrote.

The driver asks before each step that others can see, and goes on when it is answered. ``write`` is the number of a
write in this driver. Its *ordinal* is its number in the journal, over all epochs.
"""

from __future__ import annotations

import msgspec

from yarnspec.core.journal.journalrecords import WriteMode, WriteState
from yarnspec.core.messages.events import Event


class SavedWrite(msgspec.Struct, frozen=True, kw_only=True):
    """A write of an earlier epoch, as the journal has it.

    Args:
        signature: identifies the data written, by everything that it was computed from; empty when not known.
        job: the part that the names of its files have in common.
        existed: whether there was anything at its path when the write began.
        instead: whether the write took the place of others there, which the journal has since dropped.
        defers: whether the files that were there stay until its commit.
        files: how many files it wrote. This and ``digest`` are known once the write was about to commit.
        made: the shuffles that were made for this write alone: how many of each signature.
        done_before: how many writes to its path are known to have been done before.
    """

    ordinal: int
    signature: str
    path: str
    mode: WriteMode
    job: str = ""
    epoch: int = 0
    existed: bool = True
    instead: bool = False
    defers: bool = False
    state: WriteState = "begun"
    files: int = 0
    digest: str = ""
    made: dict[str, int] = {}
    done_before: int = 0

    @property
    def may_be_moved(self) -> bool:
        """Whether the program may have moved its files, and they can be known again there.

        A write that was about to be committed may have been committed without a record in the journal.
        """
        return self.state != "begun" and bool(self.job)


class WritesAsked(Event, frozen=True):
    """The driver of a later epoch asks which writes earlier epochs left half done, before its program does anything."""

    MESSAGE = "writes_asked"

    question: int


class WriteResolved(Event, frozen=True):
    """The driver has looked at a write that was not known to be committed, and has finished or undone it.

    ``outcome`` "committed": all its files were there. "undone": its files were removed. "restored": the files that it
    had overwritten are back as well. Any other: nothing of that could be done. The driver waits for the answer to
    ``question``, because next time it may find less.
    """

    MESSAGE = "write_resolved"

    ordinal: int
    outcome: str
    why: str = ""
    question: int = 0


class WriteDeclared(Event, frozen=True):
    """The program is about to write files. Nothing was computed for the write yet.

    ``existed``: there is something at the path. ``why_not``: why the data cannot be identified; empty: they can.
    """

    MESSAGE = "write_declared"

    question: int
    write: int
    path: str
    mode: WriteMode
    existed: bool = True
    signature: str = ""
    description: str = ""
    why_not: str = ""


class WriteMissing(Event, frozen=True):
    """The output of an earlier epoch's write is no longer as it was committed."""

    MESSAGE = "write_missing"

    question: int
    write: int


class WriteBeginning(Event, frozen=True):
    """The write is about to change something. Its files will have ``job`` in their names.

    ``defers``: the files that it overwrites stay until its commit.
    """

    MESSAGE = "write_beginning"

    question: int
    write: int
    job: str
    existed: bool
    defers: bool = False


class WriteClearing(Event, frozen=True):
    """The files that the write overwrites are about to be removed, long before its commit."""

    MESSAGE = "write_clearing"

    question: int
    write: int


class WriteCommitBeginning(Event, frozen=True):
    """The files of a write are written, and are about to be moved to where everybody sees them.

    ``read``: the places that the program has read since the last such event, or since its beginning. ``made`` and
    ``done_before``: as in ``SavedWrite``.
    """

    MESSAGE = "write_committing"

    question: int
    write: int
    files: int
    digest: str
    made: dict[str, int]
    done_before: int = 0
    read: tuple[str, ...] = ()


class WriteDeleting(Event, frozen=True):
    """The write is about to remove something at its path that may be a newer driver's."""

    MESSAGE = "write_deleting"

    question: int
    write: int


class WriteAborting(Event, frozen=True):
    """The write has failed, and the files that it has left at its path are about to be removed."""

    MESSAGE = "write_aborting"

    question: int
    write: int


class WriteFinished(Event, frozen=True):
    """The files of a write are where they belong."""

    MESSAGE = "write_finished"

    question: int
    write: int


class WriteRefused(Event, frozen=True):
    """The driver must not take the next step of a write: a later epoch has begun."""

    question: int
    why: str


class Held(msgspec.Struct, frozen=True):
    """A place and the jobs whose files are there. A place is a directory with all below it, or as ``…/*`` its files."""

    place: str
    jobs: tuple[str, ...] = ()


class InputRead(Event, frozen=True):
    """The program reads these paths. Asked only where an earlier epoch wrote something.

    ``held``: the places in which the paths are, with the jobs whose numbers are in names of files there.
    """

    MESSAGE = "input_read"

    question: int
    paths: tuple[str, ...]
    held: tuple[Held, ...] = ()
