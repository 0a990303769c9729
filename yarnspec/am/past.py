"""What earlier epochs left in the journal: as facts for the core, and as a file for the next driver."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection
from pathlib import Path

from yarnspec.core.journalrecords import ApplicationRegistered
from yarnspec.core.journalstate import Recorded, RecordedShuffle
from yarnspec.core.recoveryevents import SavedShuffle
from yarnspec.journal.frames import encode_frame

PROGRESS = "progress"
"""The kind of the carried record that names the last epoch that finished anything new."""

_TOLD = {
    "program_digest": "its files",
    "arguments_digest": "its arguments",
    "spark_version": "Spark's version",
    "python_version": "Python's version",
    "yarnspec_version": "yarnspec's version",
}


def saved_shuffles(recorded: Recorded) -> tuple[SavedShuffle, ...]:
    """The shuffles, without the bytes."""
    return tuple(_saved(one) for _, one in sorted(recorded.shuffles.items()))


def _saved(shuffle: RecordedShuffle) -> SavedShuffle:
    registered = shuffle.registered
    return SavedShuffle(
        shuffle=registered.shuffle,
        signature=registered.signature,
        maps=registered.maps,
        reduces=registered.reduces,
        determinism=registered.determinism,
        description=registered.description,
        parents=registered.parents,
        by_host=dict(Counter(output.host for output in shuffle.outputs.values())),
        not_reusable=shuffle.not_reusable,
    )


def changed(before: ApplicationRegistered | None, now: ApplicationRegistered) -> tuple[str, ...]:
    """What of the program is not as it was, for people; nothing when no earlier epoch said what it was."""
    if before is None:
        return ()
    return tuple(told for name, told in _TOLD.items() if getattr(before, name) != getattr(now, name))


def progress_of(recorded: Recorded) -> int:
    """The last epoch that finished anything new; 0 when none did."""
    return int(recorded.carried.get(PROGRESS, b"0"))


def write_saved(path: Path, recorded: Recorded, shuffles: Collection[int]) -> int:
    """Write the file from which the next driver takes these shuffles' map outputs; returns how many it holds.

    Only its owner can read it. Of each shuffle first what it is, then its map outputs (``Frames``).
    """
    written = 0
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as stream:
        for shuffle in sorted(shuffles):
            known = recorded.shuffles[shuffle]
            registered = known.registered
            header: dict[str, object] = {
                "kind": "shuffle",
                "shuffle": shuffle,
                "signature": registered.signature,
                "maps": registered.maps,
                "reduces": registered.reduces,
                "determinism": registered.determinism,
            }
            stream.write(encode_frame(header, known.facts or b""))
            for index, output in sorted(known.outputs.items()):
                header = {
                    "kind": "map",
                    "shuffle": shuffle,
                    "index": index,
                    "map_id": output.map_id,
                    "executor_id": output.executor_id,
                    "host": output.host,
                    "epoch": output.epoch,
                    "bytes": output.size_bytes,
                }
                stream.write(encode_frame(header, output.blob))
                written += 1
    return written
