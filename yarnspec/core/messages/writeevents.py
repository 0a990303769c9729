"""What happened that concerns the files that a program writes, and reads after it wrote them.

The driver asks before each step that others can see, and goes on when it is answered. ``write`` is the number of a
write in this driver; its *ordinal* is the one that the journal has, over all epochs.
"""

from __future__ import annotations

import msgspec

from yarnspec.core.journal.journalrecords import WriteMode, WriteState
from yarnspec.core.messages.events import Event


class SavedWrite(msgspec.Struct, frozen=True, kw_only=True):
    """A write of an earlier epoch, as the journal has it.

    Args:
        signature: what was written, by all that it was computed from; empty when that is not known.
        job: what the names of its files hold.
        existed: whether there was anything at its path when it began.
        instead: whether it took the place of others there, of which the journal has nothing since.
        defers: whether what was there stays until its commit.
        files: how many files it wrote; known once it was about to commit, as is their ``digest``.
        made: the shuffles that were made for it alone, by what they are, how many of each.
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

        One that was about to be committed may have been, and the journal does not have that.
        """
        return self.state != "begun" and bool(self.job)


class WritesAsked(Event, frozen=True):
    """A later epoch's driver asks, before its program does anything, what earlier ones left half done."""

    question: int


class WriteResolved(Event, frozen=True):
    """What the driver found of a write that was not known to be committed, and what it did.

    ``outcome``: all its files were there ("committed"), they were removed ("undone"), and what it had overwritten is
    there again ("restored"), or nothing of that could be done. It is asked, as what the driver finds of it next time
    may be less.
    """

    ordinal: int
    outcome: str
    why: str = ""
    question: int = 0


class WriteDeclared(Event, frozen=True):
    """The program is about to write files; nothing was computed for it yet.

    ``existed``: there is something at the path. ``why_not``: why nobody can tell what it writes.
    """

    question: int
    write: int
    path: str
    mode: WriteMode
    existed: bool = True
    signature: str = ""
    description: str = ""
    why_not: str = ""


class WriteMissing(Event, frozen=True):
    """The output that was to be there already is not as it was committed."""

    question: int
    write: int


class WriteBeginning(Event, frozen=True):
    """The write is about to change something; its files will have ``job`` in their names.

    ``defers``: what it overwrites stays until its commit.
    """

    question: int
    write: int
    job: str
    existed: bool
    defers: bool = False


class WriteClearing(Event, frozen=True):
    """What the write overwrites is about to be removed, long before its commit."""

    question: int
    write: int


class WriteCommitBeginning(Event, frozen=True, tag="WriteCommitting"):
    """Its files are written, and are about to be moved to where everybody sees them.

    ``read``: the places that the program has read since the last one, or since its beginning. ``made`` and
    ``done_before``: as of a ``SavedWrite``.
    """

    question: int
    write: int
    files: int
    digest: str
    made: dict[str, int]
    done_before: int = 0
    read: tuple[str, ...] = ()


class WriteDeleting(Event, frozen=True):
    """Something at its path is about to be removed that may be a newer driver's."""

    question: int
    write: int


class WriteAborting(Event, frozen=True):
    """It has failed, and what it has left at its path is about to be removed."""

    question: int
    write: int


class WriteFinished(Event, frozen=True):
    """Its files are where they belong."""

    question: int
    write: int


class WriteRefused(Event, frozen=True):
    """The driver was kept from the next step of a write: a later epoch has begun."""

    question: int
    why: str


class Held(msgspec.Struct, frozen=True):
    """A place, and the jobs whose files are there: a directory with all below it, or as ``…/*`` the files in it."""

    place: str
    jobs: tuple[str, ...] = ()


class InputRead(Event, frozen=True):
    """The program reads these paths; asked only where an earlier epoch wrote something.

    ``held``: the places in which these are, with the jobs whose numbers are in names of files there.
    """

    question: int
    paths: tuple[str, ...]
    held: tuple[Held, ...] = ()
