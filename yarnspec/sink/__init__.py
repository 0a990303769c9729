"""Output files that user code writes itself, safe for copies and restarts: with YARN and in plain local Spark.

``PartitionFileSink(path, writer).save(data)`` writes one file for each partition (``docs/sink.md``).
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
