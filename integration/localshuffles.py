"""What a negotiator knows of shuffles, and the core's answers about them, without its process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from yarnspec.am.sources.shuffleevents import shuffle_event
from yarnspec.core.messages.recoveryevents import SavedShuffle, ShuffleDeclared, ShuffleRestored
from yarnspec.core.recovery.shuffles import Shuffles
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
    parents: tuple[int, ...] = ()


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


class Decisions:
    """What the core says of the shuffles of one driver, given what earlier ones left."""

    def __init__(self, shuffles: dict[int, Shuffle], epoch: int) -> None:
        self._all = shuffles
        self._epoch = epoch
        self._core = Shuffles()
        self._core.offer(tuple(_saved(number, one) for number, one in shuffles.items()))

    def declare(self, told: dict[str, Any], bridge: DriverBridge) -> None:
        """Answer the driver, which makes a shuffle."""
        declared = shuffle_event(told)
        assert isinstance(declared, ShuffleDeclared)
        saved, why, _ = self._core.declare(declared)
        if saved is None:
            self._all[declared.shuffle] = Shuffle(declared=told, epoch=self._epoch)
        else:
            # What is not restored runs again under the same number; the newer output of an index holds.
            self._all[saved.shuffle].parents = declared.parents
        bridge.answer_shuffle(
            declared.question,
            shuffle=None if saved is None else saved.shuffle,
            restore=saved is not None,
            record=declared.reusable,
            whole=saved is not None and self._core.uncertain(declared),
            reason=why,
        )

    def restored(self, told: dict[str, Any]) -> None:
        """So much of a saved shuffle is back."""
        restored = shuffle_event(told)
        assert isinstance(restored, ShuffleRestored)
        for useless in self._core.restored(restored):
            self._all.pop(useless, None)

    def stopped(self, shuffle: int, why: str) -> None:
        """The driver tells no more of a shuffle."""
        self._core.refuse(shuffle)
        if shuffle in self._all:
            self._all[shuffle].stopped = why

    def dropped(self, shuffle: int) -> None:
        """Spark has forgotten a shuffle."""
        self._core.forget(shuffle)
        self._all.pop(shuffle, None)


def _saved(number: int, one: Shuffle) -> SavedShuffle:
    declared = one.declared
    tasks = [header["map_id"] for header, _ in one.maps.values()]
    return SavedShuffle(
        shuffle=number,
        **{key: declared[key] for key in ("signature", "maps", "reduces", "determinism")},
        parents=one.parents or tuple(declared["parents"]),
        by_host=dict(Counter(header["host"] for header, _ in one.maps.values())),
        bounded=bool(one.facts),
        oldest=min(tasks, default=0),
        newest=max(tasks, default=0),
        epoch=one.epoch,
        not_reusable=one.stopped or declared["why_not"],
    )
