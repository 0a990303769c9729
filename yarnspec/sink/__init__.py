"""Output files that user code writes itself, safe for copies and restarts: with YARN and in plain local Spark.

``PartitionFileSink(path, writer).save(data)`` writes one file for each partition (``docs/sink.md``).

This room decides which attempt's files count, and what is left after a crash. It must not know the negotiator: it also
runs in plain local Spark, and imports only errors, ``yarnspec.window`` and the jar's path.
"""

from __future__ import annotations

from yarnspec.sink.attempts import AttemptSets
from yarnspec.sink.claim import PathClaimed, Superseded
from yarnspec.sink.decision import Mode
from yarnspec.sink.publication import OutputExists, Unfinished
from yarnspec.sink.sink import PartitionFileSink, Published, published_files

__all__ = [
    "AttemptSets",
    "Mode",
    "OutputExists",
    "PartitionFileSink",
    "PathClaimed",
    "Published",
    "Superseded",
    "Unfinished",
    "published_files",
]
