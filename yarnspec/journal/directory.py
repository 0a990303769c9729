"""An application's journal, for the one who writes the next epoch and for those who read."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import TypeVar

import tenacity

from yarnspec.core.journal.carriedtexts import lost_record
from yarnspec.core.journal.journalrecords import EpochBegan, EpochSealed, JournalRecord, SnapshotBegan, SnapshotEnded
from yarnspec.errors import ClusterUnreachable
from yarnspec.journal.errors import EpochTaken, Fenced, JournalDamaged
from yarnspec.journal.layout import Layout
from yarnspec.journal.records import MAGIC, JournalEntry, encode, payload_of
from yarnspec.journal.replay import Past, replay
from yarnspec.journal.stores import AppendStore, JournalFiles, LogWriter, PartsLog, Store
from yarnspec.journal.verify import EpochReport, verify_epoch
from yarnspec.journal.writer import Journal, JournalOptions, Stopped, Written

JOURNAL_DIRECTORY = "journal"
"""The name of this directory in that of the application's history."""
_PIECE_BYTES = 1024 * 1024
_AGAIN_S = 2.0

Result = TypeVar("Result")


class JournalDirectory:
    """The journal of one application: a directory of epochs. See ``docs/journal-format.md``.

    ``scratch`` is a local directory with room for what is read (None: that for temporary files).
    """

    def __init__(
        self, files: JournalFiles, path: str, store: Store | None = None, *, scratch: Path | None = None
    ) -> None:
        self._layout = Layout(files, path)
        self._store = store or AppendStore()
        self._scratch = scratch

    @property
    def path(self) -> str:
        """Where it is."""
        return self._layout.path

    def epochs(self) -> list[int]:
        """The epochs that have begun, first to last."""
        return self._layout.epochs()

    def begin(
        self,
        began: EpochBegan,
        *,
        options: JournalOptions | None = None,
        on_stopped: Callable[[Stopped], None] = lambda _: None,
        on_written: Callable[[int], None] = lambda _: None,
    ) -> tuple[Journal, Past]:
        """Begin an epoch: shut out the writers of the earlier ones, and take over what they left.

        Takes as long as the file system needs for it, on HDFS some seconds when an earlier writer did not close its
        file. Steps that may be done twice are tried again for ``patience_s``. Raises EpochTaken, Fenced, and errors
        of the file system. Nothing is recorded in this epoch then.
        """
        options = options or JournalOptions()
        epoch = began.epoch
        log = _again(_Claim(self._layout, self._store, epoch), options.patience_s)
        try:
            seals: list[EpochSealed] = []
            earlier, past = _again(lambda: self._take_over(epoch, seals), options.patience_s)
            written = _write(log, epoch, chain([began], seals, _snapshot(past, earlier)))
            # Of two epochs that begin at the same time one sees the other here: each first made its directory.
            self._layout.check(epoch, begun=True)
        except BaseException:
            with contextlib.suppress(Exception):
                log.close()
            # A lease that was lost shows as any error: was it a later epoch that took it?
            self._raise_fenced(epoch)
            raise
        hold = _Hold(self._layout, epoch)
        journal = Journal(log, epoch, written, hold=hold, options=options, on_stopped=on_stopped, on_written=on_written)
        return journal, past

    def check(self, epoch: int) -> None:
        """Fenced when a later one has begun; JournalGone where this one has no directory."""
        self._layout.check(epoch, begun=True)

    def say_stopped(self, epoch: int, why: str) -> None:
        """Leave word that the records of an epoch are not all, be there any or not."""
        self._layout.say_stopped(epoch, why)

    def say_refused(self, epoch: int, refused: dict[str, int]) -> None:
        """Leave word of how often the writer of an epoch that is over was refused something, by kind."""
        self._layout.say_refused(epoch, refused)

    def refused(self, before: int) -> dict[int, dict[str, int]]:
        """The counts of each epoch before this one that has left them."""
        return {epoch: word for epoch, word in self._layout.refused().items() if epoch < before}

    def _take_over(self, epoch: int, seals: list[EpochSealed]) -> tuple[list[int], Past]:
        """Shut out the writers of the earlier epochs, which are returned, and read them; adds each new seal."""
        self._layout.check(epoch)
        earlier = [each for each in self.epochs() if each < epoch]
        for each in earlier:
            seal = self._seal_former(each, epoch)
            if seal is not None:
                seals.append(seal)
        return earlier, replay(self._layout, earlier, self._scratch)

    def _raise_fenced(self, epoch: int) -> None:
        """Fenced when it can be told that a later epoch has begun."""
        try:
            self.check(epoch)
        except Fenced:
            raise
        except Exception:  # noqa: S110 - what happened first is what to tell
            pass

    def replay(self) -> Past:
        """The sum of all epochs. Nothing is changed."""
        return replay(self._layout, self.epochs(), self._scratch)

    def entries(self, epoch: int) -> Iterator[JournalEntry]:
        """The records of one epoch that count; JournalDamaged where they are not what was written."""
        return iter(self._layout.scan(epoch, self._layout.seal_of(epoch)))

    def verify(self) -> list[EpochReport]:
        """Check every byte of every epoch."""
        return [verify_epoch(self._layout, epoch) for epoch in self.epochs()]

    def close_for_dead_writers(self) -> None:
        """Make all of an application's journal readable after its end, when its last writer died.

        Never to be called while it may still write: that shuts it out.
        """
        for epoch in self.epochs():
            with contextlib.suppress(JournalDamaged):  # who reads this epoch will say so
                if self._layout.seal_of(epoch) is None:
                    self._layout.recover(epoch)

    def _seal_former(self, epoch: int, by: int) -> EpochSealed | None:
        """From now on its writer cannot write, or nothing that it writes counts; None when that was so already."""
        layout = self._layout
        try:
            if layout.seal_of(epoch) is not None:
                return None
        except JournalDamaged:
            return None  # who reads this epoch will say so
        layout.recover(epoch)
        scan = layout.scan(epoch, None)
        try:
            for _ in scan:
                pass
            size_bytes = scan.size_bytes
        except JournalDamaged:
            size_bytes = layout.log_bytes(layout.sizes(epoch))  # all of it, so that every reader meets the damage
        seal = layout.seal(epoch, by, Written(scan.records, size_bytes))
        return EpochSealed(sealed=epoch, by=by, size_bytes=size_bytes) if seal.by == by else None


def _again(call: Callable[[], Result], patience_s: float) -> Result:
    """Repeat a call: HDFS may do in a moment what it does not do now, if the host that died was one of its own."""
    retrying = tenacity.Retrying(
        retry=tenacity.retry_if_exception_type(ClusterUnreachable),
        wait=tenacity.wait_fixed(min(_AGAIN_S, patience_s)),
        stop=tenacity.stop_after_delay(patience_s),
        reraise=True,
    )
    return retrying(call)


class _Claim:
    """Takes an epoch for this process; may be called again when HDFS did not answer."""

    def __init__(self, layout: Layout, store: Store, epoch: int) -> None:
        self._layout = layout
        self._store = store
        self._epoch = epoch
        self._tried = False

    def __call__(self) -> LogWriter:
        layout, epoch = self._layout, self._epoch
        directory = layout.directory(epoch)
        layout.check(epoch)
        layout.files.make_directories(directory)
        tried, self._tried = self._tried, True
        try:
            return self._store.create(layout.files, directory)
        except FileExistsError as error:
            # HDFS may have done what it did not answer. A file's length is known only when its lease is recovered.
            if tried:
                layout.recover(epoch)
                if not layout.log_bytes(layout.sizes(epoch)):
                    return PartsLog(layout.files, directory)
            raise EpochTaken(f"epoch {epoch} of the journal {layout.path} has begun already") from error


class _Hold:
    """A writer's access to its epoch's directory."""

    def __init__(self, layout: Layout, epoch: int) -> None:
        self._layout = layout
        self._epoch = epoch

    def check(self) -> None:
        """Fenced when a later epoch has begun, JournalGone when this one's directory is not there any more."""
        self._layout.check(self._epoch, begun=True)

    def seal(self, written: Written) -> None:
        """Seal this epoch: its writer adds nothing any more."""
        seal = self._layout.seal(self._epoch, self._epoch, written)
        if seal.by != self._epoch:
            raise Fenced(f"driver epoch {seal.by} has begun")

    def say_stopped(self, why: str) -> None:
        """Leave word that the records are not all."""
        self._layout.say_stopped(self._epoch, why)


def _snapshot(past: Past, earlier: list[int]) -> Iterator[JournalRecord]:
    if not earlier:
        return
    yield SnapshotBegan(through_epoch=earlier[-1])
    # Nobody reads behind this snapshot any more.
    lost: list[JournalRecord] = [lost_record(past.problem)] if past.problem else []
    count = 0
    for record in chain(past.recorded.live(), lost):
        count += 1
        yield record
    yield SnapshotEnded(records=count)


def _write(log: LogWriter, epoch: int, records: Iterable[JournalRecord]) -> Written:
    """Write the beginning of an epoch's log, of which no more than a piece is in memory at a time."""
    waiting, seq, total = bytearray(MAGIC), 0, len(MAGIC)
    for seq, record in enumerate(records, 1):
        data = encode(epoch, seq, *payload_of(record))
        waiting += data
        total += len(data)
        if len(waiting) >= _PIECE_BYTES:
            log.append(bytes(waiting))
            waiting.clear()
    log.append(bytes(waiting))
    log.sync()
    return Written(seq, total)
