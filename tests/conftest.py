"""What holds for all unit tests."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# No test depends on how fast the machine is.
settings.register_profile("yarnspec")
settings.load_profile("yarnspec")
