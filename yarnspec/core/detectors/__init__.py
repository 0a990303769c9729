"""Which running tasks are slow: one small protocol, and the detectors that a user can choose from."""

from __future__ import annotations

from yarnspec.core.detectors.execution_time import ExecutionTime
from yarnspec.core.detectors.input_weighted import InputWeighted
from yarnspec.core.detectors.progress import MANY, ProgressDetector
from yarnspec.core.detectors.protocol import MAX_VERDICTS, Detector, Judged, PutOff, SlowAttempt, SlownessExplanation
from yarnspec.core.messages.settings import DetectorSettings
from yarnspec.core.slowness.host_speed import HostSpeeds

__all__ = ["MAX_VERDICTS", "Detector", "Judged", "PutOff", "SlowAttempt", "SlownessExplanation", "detector_of"]


def detector_of(settings: DetectorSettings, speeds: HostSpeeds, many: int = MANY) -> Detector:
    """The detector that the settings name; ``many``: see ``ProgressDetector``, the others look at everything."""
    if settings.kind == "execution-time":
        return ExecutionTime(settings)
    if settings.kind == "input-weighted":
        return InputWeighted(settings)
    return ProgressDetector(settings, speeds, many)
