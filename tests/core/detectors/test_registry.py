"""The detectors that a user can choose from."""

from __future__ import annotations

from yarnspec.core.detectors.registry import KINDS, DetectorSettings
from yarnspec.core.options.detection import CommonDetectorSettings


def test_the_first_kind_is_the_default_everywhere() -> None:
    assert CommonDetectorSettings().kind == DetectorSettings().kind == next(iter(KINDS))
