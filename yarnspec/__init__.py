"""Spark on YARN that survives slow hosts and dead drivers.

``yarnspec.submit(...)`` and ``yarnspec.Application.from_id(...)`` do what the command line does. A program marks jobs
whose tasks must not be copied: ``with yarnspec.no_copies():``.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from yarnspec.gateway.application.handle import Application as Application
    from yarnspec.gateway.submit.submission import submit as submit
    from yarnspec.spark.no_copies import no_copies as no_copies

# Imported when first used: executors and the AM import this package too, and need neither.
_WHERE = {
    "Application": "yarnspec.gateway.application.handle",
    "no_copies": "yarnspec.spark.no_copies",
    "submit": "yarnspec.gateway.submit.submission",
}

__all__ = ["Application", "no_copies", "submit"]


def __getattr__(name: str) -> Any:
    """The public names, from their modules."""
    if name not in _WHERE:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(importlib.import_module(_WHERE[name]), name)
