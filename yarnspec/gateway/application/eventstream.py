"""The records of an application in one order, whether they come from its history or from its live negotiator."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from yarnspec.errors import ClusterUnreachable
from yarnspec.gateway.application.client import NegotiatorAbsent, NegotiatorClient, NegotiatorUnreachable
from yarnspec.observe.forms.records import Record
from yarnspec.observe.log.history import History

_WAIT_S = 10.0
_PAUSE_S = 1.0


class EventStream:
    """Reads each record once, by its epoch and number.

    Files of earlier epochs are read as they are. For an epoch that a negotiator still writes, the negotiator is asked
    instead. Records that it has neither in memory nor on its disk show as a gap in the numbers, and can be read after
    the end.
    """

    def __init__(
        self,
        application_id: str,
        history: History,
        client: NegotiatorClient,
        has_ended: Callable[[], bool],
        pause: Callable[[float], None],
    ) -> None:
        self._application_id = application_id
        self._history = history
        self._client = client
        self._has_ended = has_ended
        self._pause = pause
        self._epoch = 0
        self._seq = 0
        self._unread: ClusterUnreachable | None = None

    def read(self, follow: bool) -> Iterator[Record]:
        """All records so far; with ``follow`` also those to come.

        Raises:
            ClusterUnreachable: at the end, after all others, when some could not be read.
        """
        yield from self._read(follow)
        if self._unread is not None:
            raise self._unread

    def _read(self, follow: bool) -> Iterator[Record]:
        while not self._has_ended():
            try:
                yield from self._live(_WAIT_S if follow else 0.0)
                if not follow:
                    return
            except NegotiatorAbsent:
                if not follow:
                    return
                self._pause(_PAUSE_S)
            except NegotiatorUnreachable:
                if not follow and not self._has_ended():
                    raise
                self._pause(_PAUSE_S)
        yield from self._from_history(None)

    def _live(self, wait_s: float) -> Iterator[Record]:
        while True:
            found = self._client.events(self._epoch, self._seq, wait_s)
            if found.epoch != self._epoch:
                yield from self._from_history(found.epoch)
                self._epoch, self._seq = found.epoch, 0
            if not found.records:
                return
            for record in found.records:
                if record.seq > self._seq:
                    self._seq = record.seq
                    yield record

    def _from_history(self, before_epoch: int | None) -> Iterator[Record]:
        """The records of the files that were not read yet, of the epochs before one that runs (None: of all)."""
        for record in self._history.all_events(self._application_id, first=self._epoch, before=before_epoch):
            if isinstance(record, ClusterUnreachable):
                self._unread = record
            elif record.epoch > self._epoch or record.seq > self._seq:
                self._epoch, self._seq = record.epoch, record.seq
                yield record
