"""The order from the negotiator to the process that serves the page, on its standard input."""

from __future__ import annotations

import stat
from pathlib import Path

import msgspec

from yarnspec.observe.forms.document import StatusDocument


class PageOrder(msgspec.Struct, frozen=True, kw_only=True):
    """Whose page, where its facts are, and under which path it is served.

    Args:
        application_id: whose.
        prefix: the path, which nobody can guess.
        directory: where the negotiator leaves a copy of its event logs (``copied_events``).
        first_epoch: the first epoch of this attempt; the history has those before.
        history_directory: where the history is.
        url: the negotiator's REST.
        token: what it lets in.
        options: the options that are not the defaults, for the page's foot.
        last: the last status, of an application that has ended: its page is written into the history.
    """

    application_id: str
    prefix: str
    directory: str
    first_epoch: int
    history_directory: str
    url: str
    token: str
    options: tuple[tuple[str, str], ...] = ()
    last: StatusDocument | None = None

    def __repr__(self) -> str:
        """Without the token, which has no business in a log."""
        return f"PageOrder(application_id={self.application_id!r}, url={self.url!r})"


def copied_events(epoch: int) -> str:
    """The name of the copy of an epoch's event log in the AM container's directory."""
    return f"yarnspec-events-{epoch}.jsonl"


def stop_copy(copy: Path) -> None:
    """Tell those who read a copy that nothing is added to it any more. This works on a full disk too."""
    copy.chmod(stat.S_IRUSR)


def is_stopped(copy: Path) -> bool:
    """Whether the negotiator has stopped to add to a copy, although its epoch goes on."""
    return copy.exists() and not copy.stat().st_mode & stat.S_IWUSR
