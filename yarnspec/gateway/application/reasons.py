"""Why a task or a host of an application was, or was not, acted on: from its negotiator, else from its records."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import msgspec

from yarnspec.core.copies.speculationview import Explanation
from yarnspec.core.detectors.registry import DetectorSettings
from yarnspec.errors import ClusterUnreachable, NotFound, UsageError
from yarnspec.gateway.application.client import NegotiatorClient, NegotiatorUnreachable
from yarnspec.observe.forms.records import Record
from yarnspec.observe.hindsight import afterwards
from yarnspec.observe.log.history import ApplicationRecord

_TASK = re.compile(r"(\d{1,9})\.(\d{1,9})", re.ASCII)


class Explaining:
    """Explanations of one application.

    Args:
        client: its negotiator; None when it has ended.
        records: its events and decisions so far.
        entry: what the history knows of it.
    """

    def __init__(
        self,
        client: NegotiatorClient | None,
        records: Callable[[], Iterator[Record]],
        entry: Callable[[], ApplicationRecord | None],
    ) -> None:
        self._client = client
        self._records = records
        self._entry = entry

    def task(self, text: str) -> Explanation:
        """Why the task ``STAGE.INDEX`` was, or was not, acted on.

        Raises:
            UsageError: that is not how a task is written, or its application had a detector that is not known here.
            NotFound: there was no such task.
        """
        stage, index = parse_task(text)
        client = self._client
        found = None if client is None else self._live(lambda: client.explain_task(stage, index))
        if found is None or found.ended:
            # The core forgets a stage that has ended; the records do not.
            settings = self._settings()
            found = self._told(lambda records: afterwards.explain_task(records, stage, index, settings), found)
        if found is None:
            message = f"there is no task {text}: no attempt of stage {stage} had a task {index} (yet)"
            raise NotFound(message)
        return found

    def host(self, host: str) -> Explanation:
        """Why a host was, or was not, acted on.

        Raises:
            NotFound: the application never heard of it.
        """
        client = self._client
        found = None if client is None else self._live(lambda: client.explain_host(host))
        if found is None:
            settings = self._settings()
            found = self._told(lambda records: afterwards.explain_host(records, host, settings), None)
        if found is None:
            message = f"the application never heard of a host {host!r}; hosts are named as in YARN's node reports"
            raise NotFound(message)
        return found

    def _told(
        self, explain: Callable[[Iterator[Record]], Explanation | None], otherwise: Explanation | None
    ) -> Explanation | None:
        """The records' explanation, else the other one, with a line if some records could not be read.

        ClusterUnreachable: nothing is known, and some records could not be read.
        """
        unread: list[ClusterUnreachable] = []

        def readable() -> Iterator[Record]:
            try:
                yield from self._records()
            except ClusterUnreachable as error:
                unread.append(error)

        found = explain(readable()) or otherwise
        if not unread:
            return found
        if found is None:
            raise unread[0]
        return msgspec.structs.replace(found, lines=(*found.lines, f"Not all records can be read: {unread[0].message}"))

    def _live(self, ask: Callable[[], Explanation | None]) -> Explanation | None:
        try:
            return ask()
        except NegotiatorUnreachable:
            return None  # it has just ended, or is another user's: the records are what there is

    def _settings(self) -> DetectorSettings:
        """The settings of the application's detector; the defaults if it left none.

        Raises:
            UsageError: this version does not know its detector, or has other options for it.
        """
        entry = self._entry()
        told = {} if entry is None else entry.options.get("detector", {})
        try:
            return msgspec.convert(told, DetectorSettings)
        except msgspec.ValidationError as error:
            message = (
                f"the application's detector had options that this yarnspec does not know ({error}): "
                "explain it with the version that submitted it"
            )
            raise UsageError(message) from error


def parse_task(text: str) -> tuple[int, int]:
    """Stage and index of a task that is written ``STAGE.INDEX``; raises UsageError."""
    found = _TASK.fullmatch(text.strip())
    if found is None:
        message = (
            f"{text!r} is no task: write STAGE.INDEX, like 3.17, as `yarnspec events` and Spark's pages number them"
        )
        raise UsageError(message)
    return int(found[1]), int(found[2])
