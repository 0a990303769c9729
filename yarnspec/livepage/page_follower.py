"""Reads an application's records as they come, and draws the page of what they add up to: once for all who look."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple, Protocol

from yarnspec.errors import ClusterUnreachable, YarnspecError
from yarnspec.observe.forms.document import StatusDocument
from yarnspec.observe.forms.moments import at_time
from yarnspec.observe.forms.records import Record, UnreadableRecordError, decode
from yarnspec.observe.http.page_order import PageOrder, copied_events, is_stopped
from yarnspec.observe.page.page import Live, Source, body, page, page_around
from yarnspec.observe.page.page_fold import PageFold
from yarnspec.observe.status.status_fold import StatusFold

_LEAST_PAUSE_S = 2.0
_SHARE = 10
"""A drawing that takes long is made less often: at most this part of a processor goes into them."""
_MISSING_FILES = 16


class NegotiatorRest(Protocol):
    """The negotiator's answers over REST."""

    def status(self) -> StatusDocument:
        """The status now. Raises YarnspecError if the negotiator does not answer."""


class Drawn(NamedTuple):
    """A drawing. ``tag`` is another one whenever it is another one, also after a new start of this process."""

    tag: str
    body: str
    whole: str


class Follower:
    """The page of one application, as of now or a moment ago; for several threads."""

    def __init__(
        self,
        order: PageOrder,
        negotiator: NegotiatorRest,
        earlier: Callable[[], Iterator[Record | ClusterUnreachable]],
        *,
        clock_ms: Callable[[], int] = lambda: int(time.time() * 1000),
        least_pause_s: float = _LEAST_PAUSE_S,
    ) -> None:
        self._order = order
        self._negotiator = negotiator
        self._earlier: Callable[[], Iterator[Record | ClusterUnreachable]] | None = earlier
        self._clock_ms = clock_ms
        self._least_pause_s = least_pause_s
        self._fold = PageFold()
        self._status = StatusFold(order.application_id)
        self._document: StatusDocument | None = None
        self._notes: list[str] = []
        self._epoch = order.first_epoch
        self._offset = self._seq = 0
        self._lock = threading.Lock()
        self._drawn: Drawn | None = None
        self._begun = time.time_ns()
        self._drawings = 0
        self._said: object = None
        self._next_s = 0.0

    def now(self) -> Drawn:
        """The newest drawing; a new one when there is news, and not too soon after the last."""
        with self._lock:
            if self._drawn is None or time.monotonic() >= self._next_s:
                begun_s = time.monotonic()
                self._draw()
                took_s = time.monotonic() - begun_s
                self._next_s = time.monotonic() + (
                    max(self._least_pause_s - took_s, took_s * _SHARE) if self._least_pause_s else 0
                )
            assert self._drawn is not None  # noqa: S101 - it was drawn just now
            return self._drawn

    def page(self) -> str:
        """The whole page as a file, of what has happened so far."""
        with self._lock:
            self._read()
            document, problem = self._ask()
            return page(self._fold, document, self._clock_ms(), source=self._source(problem))

    def _source(self, problem: str) -> Source:
        notes = (*self._notes, *filter(None, (self._stopped(), problem)))
        return Source(version=version("yarnspec"), notes=notes, options=self._order.options)

    def _stopped(self) -> str:
        if not is_stopped(self._file(self._epoch)):
            return ""
        since = f"since {at_time(self._fold.last_ms)}" if self._fold.last_ms else "in this driver epoch"
        return (
            "The application master no longer copies its records to its local disk: the copy was full, or the disk. "
            f"The page lacks all that happened {since}. After the end, `yarnspec report` has it."
        )

    def _draw(self) -> None:
        self._read()
        document, problem = self._ask()
        source = self._source(problem)
        said = (self._fold.position, document, source.notes)
        # The rectangles of what runs grow.
        if self._drawn is not None and said == self._said and not self._fold.running:
            return
        self._said = said
        self._drawings += 1
        tag = f"{self._fold.position}-{self._begun}-{self._drawings}"
        live = Live(body_path="yarnspec/body", spark_path="spark/jobs/" if document.links.spark_ui else "", tag=tag)
        part = body(self._fold, document, self._clock_ms(), source=source, live=live)
        self._drawn = Drawn(tag, part, page_around(part, document, live))

    def _ask(self) -> tuple[StatusDocument, str]:
        try:
            self._document = self._negotiator.status()
        except YarnspecError as error:
            # The records still tell how things stand.
            problem = f"The negotiator does not answer just now; the numbers are from the records: {error.message}"
            return self._document or self._status.document(), problem
        return self._document, ""

    def _read(self) -> None:
        """Take in all records that have come."""
        earlier, self._earlier = self._earlier, None
        if earlier is not None:
            try:
                for record in earlier():
                    if isinstance(record, ClusterUnreachable):
                        self._notes.append(f"Not all records of earlier attempts can be read: {record.message}")
                    else:
                        self._take(record)
            except (YarnspecError, OSError, UnreadableRecordError) as error:
                self._notes.append(f"Not all records of earlier attempts can be read: {error}")
        while True:
            self._read_file()
            following = self._next_epoch()
            if following is None:
                return
            self._epoch, self._offset, self._seq = following, 0, 0

    def _read_file(self) -> None:
        try:
            with self._file(self._epoch).open("rb") as file:
                file.seek(self._offset)
                for line in file:
                    if not line.endswith(b"\n"):
                        return  # the next time it is whole
                    self._offset += len(line)
                    self._read_line(line)
        except FileNotFoundError:
            return

    def _read_line(self, line: bytes) -> None:
        try:
            record = decode(line)
        except UnreadableRecordError:
            self._fold.missing.damaged += 1
            return
        # Records that could not be written to the history at once stand in the copy twice.
        if record.seq > self._seq:
            self._seq = record.seq
            self._take(record)

    def _next_epoch(self) -> int | None:
        """The epoch after this one, once its file is there."""
        later = range(self._epoch + 1, self._epoch + 1 + _MISSING_FILES)
        return next((epoch for epoch in later if self._file(epoch).exists()), None)

    def _file(self, epoch: int) -> Path:
        return Path(self._order.directory) / copied_events(epoch)

    def _take(self, record: Record) -> None:
        self._fold.apply(record)
        self._status.apply(record)
