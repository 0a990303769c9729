"""Expected failures: words for the user, and the exit code of the kind."""

from __future__ import annotations


class YarnspecError(Exception):
    """An expected failure: its message says what is wrong and what to do about it."""

    exit_code = 1

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class UsageError(YarnspecError):
    """The request itself is wrong: a missing local file, a malformed size, more than any host has."""

    exit_code = 2


class ClusterUnreachable(YarnspecError):  # noqa: N818 - named for what happened, as the user reads it
    """The ResourceManager or HDFS does not answer."""

    exit_code = 4


class HistoryDamaged(ClusterUnreachable):
    """Some records in the history cannot be read; the others can."""

    exit_code = 8


class NotAllowed(YarnspecError):  # noqa: N818
    """The cluster answers, and refuses."""

    exit_code = 4


class NotFound(YarnspecError):  # noqa: N818
    """The cluster has no such queue, host or application."""

    exit_code = 5


class ResourcesTimedOut(YarnspecError):  # noqa: N818
    """The cluster did not give the containers in time."""

    exit_code = 6
