"""A reader of journals that was written from docs/journal-format.md, and knows nothing of yarnspec."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any


class NotAJournalError(Exception):
    pass


def _table() -> list[int]:
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = (byte >> 1) ^ (0x82F63B78 if byte & 1 else 0)  # noqa: PLW2901 - 0x1EDC6F41 reflected
        table.append(byte)
    return table


TABLE = _table()


def crc32c(data: bytes) -> int:
    value = 0xFFFFFFFF
    for byte in data:
        value = TABLE[(value ^ byte) & 0xFF] ^ (value >> 8)
    return value ^ 0xFFFFFFFF


class MessagePack:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def take(self, size: int) -> bytes:
        piece = self.data[self.at : self.at + size]
        if len(piece) < size:
            raise NotAJournalError("MessagePack ends too early")
        self.at += size
        return piece

    def number(self, size: int, *, signed: bool = False) -> int:
        return int.from_bytes(self.take(size), "big", signed=signed)

    def value(self) -> Any:
        first = self.number(1)
        if first < 0x80:
            return first
        if first < 0x90:
            return self.pairs(first & 0x0F)
        if first < 0xA0:
            return [self.value() for _ in range(first & 0x0F)]
        if first < 0xC0:
            return self.take(first & 0x1F).decode()
        if first >= 0xE0:
            return first - 256
        return self.sized(first)

    def sized(self, first: int) -> Any:
        if first in {0xC0, 0xC2, 0xC3}:
            return {0xC0: None, 0xC2: False, 0xC3: True}[first]
        if 0xC4 <= first <= 0xC6:
            return self.take(self.number(1 << (first - 0xC4)))
        if 0xCC <= first <= 0xCF:
            return self.number(1 << (first - 0xCC))
        if 0xD0 <= first <= 0xD3:
            return self.number(1 << (first - 0xD0), signed=True)
        if 0xD9 <= first <= 0xDB:
            return self.take(self.number(1 << (first - 0xD9))).decode()
        if first not in {0xDC, 0xDD, 0xDE, 0xDF}:
            raise NotAJournalError(f"MessagePack {first:#x}")
        count = self.number(4 if first & 1 else 2)
        return [self.value() for _ in range(count)] if first <= 0xDD else self.pairs(count)

    def pairs(self, count: int) -> dict[str, Any]:
        return {self.value(): self.value() for _ in range(count)}


def log(directory: Path) -> bytes:
    """The bytes of an epoch that count, and whether it is sealed."""
    parts = sorted(
        (int(path.name[4:]), path) for path in directory.glob("log.*") if re.fullmatch(r"\d+", path.name[4:])
    )
    return b"".join(path.read_bytes() for path in [directory / "log", *(path for _, path in parts)])


def seal(directory: Path) -> dict[str, Any] | None:
    if not (directory / "sealed").exists():
        return None
    data = (directory / "sealed").read_bytes()
    length, checksum, header_size = struct.unpack_from(">III", data)
    if length != len(data) - 4 or crc32c(data[8:]) != checksum:
        raise NotAJournalError("seal")
    return dict(json.loads(data[12 : 12 + header_size]))


def records(directory: Path) -> list[tuple[int, dict[str, Any]]]:
    """Type and fields of every record of an epoch."""
    data, sealed, epoch = log(directory), seal(directory), int(directory.name.removeprefix("epoch-"))
    if sealed is not None:
        if len(data) < sealed["size_bytes"]:
            raise NotAJournalError("shorter than its seal says")
        data = data[: sealed["size_bytes"]]
    if data[:8] != b"YSJRNL\x00\x01"[: len(data)]:
        raise NotAJournalError("first bytes")
    at = 8
    found: list[tuple[int, dict[str, Any]]] = []
    while len(data) - at >= 28:
        size, its_epoch, seq, kind, checksum, head_checksum = struct.unpack_from(">IIQIII", data, at)
        if crc32c(data[at : at + 24]) != head_checksum:
            raise NotAJournalError("head")
        if size > 67_108_864 or its_epoch != epoch or seq != len(found) + 1:
            raise NotAJournalError("fields of the head")
        payload = data[at + 28 : at + 28 + size]
        if len(payload) < size:
            break
        if crc32c(payload) != checksum:
            raise NotAJournalError("payload")
        found.append((kind, MessagePack(payload).value()))
        at += 28 + size
    if sealed is not None and len(data) > 0 and at != len(data):
        raise NotAJournalError("the seal is not at the end of a record")
    return found


def adds_up(journal: Path) -> list[tuple[int, dict[str, Any]]]:
    """The records of all epochs that still hold, in no order ("What they add up to"); not those of unknown types."""
    state = _State()
    for directory in sorted(journal.glob("epoch-*"), key=lambda path: int(path.name.removeprefix("epoch-"))):
        entries = records(directory)
        at = 0
        while at < len(entries):
            kind, fields = entries[at]
            at += 1
            if kind != 4:
                state.take(kind, fields)
                continue
            ends = [place for place in range(at, len(entries)) if entries[place][0] == 5]
            if not ends:
                break  # nothing of it counts, and nothing but it is left of the epoch
            if entries[ends[0]][1]["records"] == ends[0] - at:
                state = _State(state.epochs)
                for one in entries[at : ends[0]]:
                    state.take(*one)
            at = ends[0] + 1
    return list(state.records())


class _State:
    def __init__(self, epochs: dict[int, dict[str, Any]] | None = None) -> None:
        self.epochs = epochs or {}
        self.only: dict[int, dict[str, Any]] = {}  # of a type of which the last one counts
        self.shuffles: dict[int, dict[Any, tuple[int, dict[str, Any]]]] = {}
        self.writes: dict[int, dict[int, dict[str, Any]]] = {}
        self.moved: dict[int, dict[int, dict[str, Any]]] = {}
        self.reads: list[dict[str, Any]] = []
        self.carried: dict[str, dict[str, Any]] = {}

    def take(self, kind: int, fields: dict[str, Any]) -> None:
        if kind == 1:
            self.epochs[fields["epoch"]] = fields
        elif kind == 2:
            self.only[kind] = fields
        elif kind in {6, 7, 32, 34, 35}:
            self._shuffle(kind, fields)
        elif kind in {8, 9, 10, 11}:
            self._write(kind, fields)
        elif kind == 12:
            self.reads.append(fields)
        elif kind == 36:
            self.carried[fields["kind"]] = fields

    def _shuffle(self, kind: int, fields: dict[str, Any]) -> None:
        number = fields["shuffle"]
        known = self.shuffles.get(number)
        if kind == 6:
            same = ("signature", "maps", "reduces", "determinism")
            if known is None or any(known["is"][1][name] != fields[name] for name in same):
                known = self.shuffles[number] = {}
            known["is"] = (kind, fields)
        elif known is None:
            return
        elif kind == 35:
            del self.shuffles[number]
        elif kind == 7:
            self.shuffles[number] = {"is": known["is"], "why": (kind, fields)}
        elif "why" not in known and (kind == 34 or 0 <= fields["index"] < known["is"][1]["maps"]):
            known["facts" if kind == 34 else fields["index"]] = (kind, fields)

    def _write(self, kind: int, fields: dict[str, Any]) -> None:
        number = fields["ordinal"]
        if kind == 8:
            self.moved.pop(number, None)
            self.writes[number] = {}
        if kind != 11:
            self.writes.setdefault(number, {})[kind] = fields
            return
        known = self.writes.pop(number, {})
        self.moved.pop(number, None)
        if fields.get("moved") and {8, 10} <= known.keys():
            self.moved[number] = {8: known[8], 10: known[10], 11: fields}

    def records(self) -> Iterator[tuple[int, dict[str, Any]]]:
        yield from ((1, each) for each in self.epochs.values())
        yield from self.only.items()
        for shuffle in self.shuffles.values():
            yield from shuffle.values()
        for write in (*self.writes.values(), *self.moved.values()):
            yield from write.items()
        yield from ((12, each) for each in self.reads)
        yield from ((36, each) for each in self.carried.values())
