"""What a function's annotation says that it takes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from yarnspec.window.dataframe import takes_batches

if TYPE_CHECKING:
    from nowhere import Unresolved  # type: ignore[import-not-found]

Batches = Iterator[pa.RecordBatch]


def by_name(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    return batches


def by_alias(batches: Batches) -> Batches:
    return batches


def beside_what_cannot_be_resolved(batches: Iterator[pa.RecordBatch], _more: Unresolved = None) -> Batches:
    return batches


def rows(given: Iterable[Any]) -> Iterator[Any]:
    return iter(given)


def nothing(given, batches: Batches):  # type: ignore[no-untyped-def]
    return given, batches


class Method:
    def of(self, batches: Batches) -> Batches:
        return batches


@pytest.mark.parametrize(
    ("fn", "batches"),
    [
        (by_name, True),
        (by_alias, True),
        (beside_what_cannot_be_resolved, True),
        (Method().of, True),
        (partial(by_name), True),
        (rows, False),
        (nothing, False),
        (lambda given: given, False),
        (dict, False),
    ],
)
def test_batches_are_given_to_whoever_says_so(fn: Callable[..., Any], batches: bool) -> None:
    assert takes_batches(fn) is batches
