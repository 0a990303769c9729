"""A module of the user's own that imports yarnspec.window, for `--py-files`."""

from __future__ import annotations

from typing import Any

from yarnspec.window import AggregateFunction


class Total(AggregateFunction[Any, int, int]):
    """Counts records."""

    def create_accumulator(self) -> int:
        """Begin."""
        return 0

    def add(self, value: Any, accumulator: int) -> int:  # noqa: ARG002
        """Count one more."""
        return accumulator + 1

    def get_result(self, accumulator: int) -> int:
        """The count."""
        return accumulator
