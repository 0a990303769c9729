"""No mini cluster: what the other tests do with theirs before and after is left out."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="module", autouse=True)
def _hosts_back() -> None:
    """No cluster here."""


@pytest.fixture(autouse=True)
def _nothing_left() -> None:
    """No cluster here."""
