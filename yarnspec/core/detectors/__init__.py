"""Finding slow tasks among those that run: one small protocol, and the detectors that a user can choose from.

A detector is one file: its options (a subclass of ``CommonDetectorSettings``), its rule, and the ``KIND`` by which
``registry.py`` finds it. This room decides which tasks are slow. The room must not know copies, blocks or containers.
"""

from __future__ import annotations

from yarnspec.core.detectors.protocol import MAX_VERDICTS, Detector, Judged, PutOff, SlowAttempt, SlownessExplanation
from yarnspec.core.detectors.registry import KINDS, detector_of

__all__ = ["KINDS", "MAX_VERDICTS", "Detector", "Judged", "PutOff", "SlowAttempt", "SlownessExplanation", "detector_of"]
