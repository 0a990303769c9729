"""No mini cluster: what the other tests do with theirs before and after is left out."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="module", autouse=True)
def _hosts_back() -> None:
    """No cluster here."""


@pytest.fixture(autouse=True)
def _nothing_left() -> None:
    """No cluster here."""


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[Path]:
    """A directory for the applications of one test."""
    yield tmp_path
    shutil.rmtree(tmp_path, ignore_errors=True)
