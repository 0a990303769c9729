"""The shuffles that earlier epochs left in the journal, as a file for the next driver."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

from yarnspec.core.journal.journalstate import Recorded
from yarnspec.journal.frames import encode_frame


def write_saved(path: Path, recorded: Recorded, shuffles: Collection[int]) -> int:
    """Write the file from which the next driver takes these shuffles' map outputs; returns how many it holds.

    Only its owner can read it. Each shuffle is described first; its map outputs follow (``Frames``).
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
            for index, output in known.outputs.items():
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
