"""What a negotiator knows of shuffles, and answers about them, without its process."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from yarnspec.journal.frames import encode_frame
from yarnspec.spark.bridge import DriverBridge


@dataclass
class Shuffle:
    """What is known of one shuffle of the application."""

    declared: dict[str, Any]
    epoch: int
    facts: bytes = b""
    maps: dict[int, tuple[dict[str, Any], bytes]] = field(default_factory=dict)
    stopped: str = ""
    used: int = 0


def save(shuffles: Mapping[int, Shuffle], path: Path, epoch: int) -> Path | None:
    """Write what earlier drivers left for the driver of this epoch."""
    chosen = {
        number: one
        for number, one in shuffles.items()
        if one.epoch < epoch and not one.stopped and one.declared["reusable"] and one.maps
    }
    if not chosen:
        return None
    with path.open("wb") as stream:
        for number, one in sorted(chosen.items()):
            keys = ("signature", "maps", "reduces", "determinism")
            header = {"kind": "shuffle", "shuffle": number} | {key: one.declared[key] for key in keys}
            stream.write(encode_frame(header, one.facts))
            for told, blob in one.maps.values():
                stream.write(encode_frame(told | {"kind": "map"}, blob))
    return path


def declare(shuffles: dict[int, Shuffle], declared: dict[str, Any], epoch: int, saved: Container[int]) -> int | None:
    """The saved shuffle whose place one of this epoch takes; None when it is new, and known from now on."""
    for number, one in sorted(shuffles.items(), reverse=True):
        usable = number in saved and one.used < epoch and one.maps and not one.stopped
        if usable and declared["reusable"] and one.declared["signature"] == declared["signature"]:
            one.used = epoch
            # What is not restored runs again under the same number; the newer output of an index holds.
            return number
    shuffles[declared["shuffle"]] = Shuffle(declared=declared, epoch=epoch)
    return None


def answer(bridge: DriverBridge, declared: dict[str, Any], found: int | None) -> None:
    """Tell the driver which one that is."""
    bridge.answer_shuffle(
        declared["question"],
        shuffle=found,
        restore=found is not None,
        record=declared["reusable"],
        whole=declared["determinism"] == "indeterminate",
    )
