"""What holds for all unit tests."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

from integration import turns

# No test depends on how fast the machine is.
settings.register_profile("yarnspec", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("yarnspec")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Choose one test of each group of alike ones, before pytest leaves out what is marked `soak`."""
    turns.mark(items)
