"""Which running tasks are slow: one small protocol, and the detectors that a user can choose from."""

from __future__ import annotations

from yarnspec.core.detectors.execution_time import ExecutionTime
from yarnspec.core.detectors.input_weighted import InputWeighted
from yarnspec.core.detectors.progress import Progress
from yarnspec.core.detectors.protocol import MAX_VERDICTS, Detector, Explanation, Judged, PutOff, SlowAttempt
from yarnspec.core.host_speed import HostSpeeds
from yarnspec.core.settings import DetectorSettings

__all__ = ["MAX_VERDICTS", "Detector", "Explanation", "Judged", "PutOff", "SlowAttempt", "detector_of"]


def detector_of(settings: DetectorSettings, speeds: HostSpeeds) -> Detector:
    """The detector that the settings name."""
    if settings.kind == "execution-time":
        return ExecutionTime(settings)
    if settings.kind == "input-weighted":
        return InputWeighted(settings)
    return Progress(settings, speeds)
