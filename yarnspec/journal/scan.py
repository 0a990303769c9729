"""The records of one epoch, read with every check: an exact prefix of what was written, or an error that says where.

A record cut off at the end of the file is *torn*. Only a killed writer leaves one. A record that is whole and does not
fit its checksum, its epoch or its place in the sequence is *damage*.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import google_crc32c

from yarnspec.journal.errors import JournalDamaged
from yarnspec.journal.records import CHECKED_BYTES, HEAD, MAGIC, MAX_PAYLOAD_BYTES, JournalEntry
from yarnspec.journal.stores import LOG_FILE, JournalFiles, log_files

_PIECE_BYTES = 256 * 1024
_PIECE_BYTES_MAX = 1024 * 1024
"""Each reading on HDFS opens the file anew: what turns out to be long is read in larger pieces."""


class LogBytes:
    """The bytes of an epoch's files, one after the other."""

    def __init__(self, files: JournalFiles, directory: str, names: Sequence[str]) -> None:
        self._files = files
        self._directory = directory
        self._names = log_files(names)
        self._starts: list[tuple[int, str]] = []

    def pieces(self) -> Iterator[bytes]:
        """All of them, from the first."""
        self._starts.clear()
        total = 0
        for name in self._names:
            path = f"{self._directory}/{name}"
            self._starts.append((total, path))
            offset, wanted = 0, _PIECE_BYTES
            while piece := self._files.read(path, offset=offset, size_bytes=wanted):
                offset += len(piece)
                wanted = min(2 * wanted, _PIECE_BYTES_MAX)
                total += len(piece)
                yield piece

    def place(self, offset: int) -> tuple[str, int]:
        """The file, and the place in it, of a byte that was read."""
        found = (0, f"{self._directory}/{LOG_FILE}")
        for start, path in self._starts:
            if start <= offset:
                found = (start, path)
        return found[1], offset - found[0]


class Scan:
    """Goes once through the records of an epoch; iterate over it, then look at what it found.

    Args:
        log: the bytes.
        epoch: whose they must be.
        limit_bytes: how many of the bytes count, when the epoch is sealed; None: as far as whole records reach.

    Attributes:
        size_bytes: the length of what was read and counts.
        records: how many those are.
        cut_bytes: what is left of a torn record at the end.
    """

    def __init__(self, log: LogBytes, epoch: int, limit_bytes: int | None = None) -> None:
        self._log = log
        self._epoch = epoch
        self._limit_bytes = limit_bytes
        self._pieces = self._counted()
        self.size_bytes = 0
        self.records = 0
        self.cut_bytes = 0

    def __iter__(self) -> Iterator[JournalEntry]:
        """The records; JournalDamaged where they are not what was written."""
        data = self._grown(b"", len(MAGIC))
        if not data and not self._limit_bytes:
            return
        if data[: len(MAGIC)] != MAGIC[: len(data)]:
            raise self._damaged("this is not the beginning of a journal of version 1")
        if len(data) < len(MAGIC):
            self._tear(data)
            return
        self.size_bytes = at = len(MAGIC)
        unpack, checksum_of, epoch, head_size = HEAD.unpack_from, google_crc32c.value, self._epoch, HEAD.size
        while True:
            if len(data) - at < head_size:
                data, at = self._grown(data[at:], head_size), 0
                if len(data) < head_size:
                    break
            size, its_epoch, seq, kind, checksum, head_checksum = unpack(data, at)
            if checksum_of(data[at : at + CHECKED_BYTES]) != head_checksum:
                raise self._damaged("the head of a record does not fit its checksum")
            if size > MAX_PAYLOAD_BYTES or its_epoch != epoch or seq != self.records + 1:
                raise self._wrong_head(size, its_epoch, seq)
            end = at + head_size + size
            if len(data) < end:
                data, at = self._grown(data[at:], head_size + size), 0
                end = head_size + size
                if len(data) < end:
                    break
            payload = data[at + head_size : end]
            if checksum_of(payload) != checksum:
                raise self._damaged("the payload of a record does not fit its checksum")
            offset = self.size_bytes
            at = end
            self.size_bytes += head_size + size
            self.records += 1
            yield JournalEntry(epoch, seq, kind, payload, offset)
        self._tear(data)

    def _wrong_head(self, size: int, epoch: int, seq: int) -> JournalDamaged:
        if size > MAX_PAYLOAD_BYTES:
            return self._damaged(f"a record of {size} bytes is longer than any")
        if epoch != self._epoch:
            return self._damaged(f"a record of epoch {epoch} in the file of epoch {self._epoch}")
        return self._damaged(f"record {seq} where record {self.records + 1} should be")

    def _tear(self, rest: bytes) -> None:
        if self._limit_bytes is not None and self.size_bytes != self._limit_bytes:
            path, offset = self._log.place(self.size_bytes + len(rest))
            raise JournalDamaged(
                path, offset, f"the bytes end here, and the epoch was sealed with {self._limit_bytes} of them"
            )
        self.cut_bytes = len(rest)

    def _damaged(self, what: str) -> JournalDamaged:
        return JournalDamaged(*self._log.place(self.size_bytes), what)

    def _counted(self) -> Iterator[bytes]:
        left = self._limit_bytes
        for piece in self._log.pieces():
            if left is None:
                yield piece
                continue
            if left <= 0:
                return
            yield piece[:left]
            left -= len(piece)

    def _grown(self, data: bytes, size: int) -> bytes:
        """The bytes with more behind them, at least ``size`` if there are as many."""
        pieces, have = [data], len(data)
        while have < size and (piece := next(self._pieces, None)) is not None:
            pieces.append(piece)
            have += len(piece)
        return b"".join(pieces)
