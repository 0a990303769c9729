"""Folding a partition into one record: ``aggregate`` and ``reduce``."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")
Accumulator = TypeVar("Accumulator")
Result = TypeVar("Result")


class AggregateFunction(ABC, Generic[T, Accumulator, Result]):
    """How ``aggregate`` makes one result of all records of a partition.

    Record, accumulator and result may be of any types. There is no ``merge``: a partition is one window, so there are
    never two accumulators of it (a ``merge`` that a function brings along is not called). Any object with these three
    methods will do.

    >>> class Mean(AggregateFunction):
    ...     def create_accumulator(self):
    ...         return (0, 0)
    ...
    ...     def add(self, value, accumulator):
    ...         return (accumulator[0] + value, accumulator[1] + 1)
    ...
    ...     def get_result(self, accumulator):
    ...         return accumulator[0] / accumulator[1] if accumulator[1] else None
    >>> list(aggregated(Mean(), [1, 2, 6]))
    [3.0]
    """

    @abstractmethod
    def create_accumulator(self) -> Accumulator:
        """Begin a partition."""

    @abstractmethod
    def add(self, value: T, accumulator: Accumulator) -> Accumulator:
        """Take in one record; what this returns is the accumulator from now on."""

    @abstractmethod
    def get_result(self, accumulator: Accumulator) -> Result:
        """Make the result, after the last record."""


def aggregated(function: AggregateFunction[T, Accumulator, Result], records: Iterable[T]) -> Iterator[Result]:
    """The one result of all records; there is one also when there are none."""
    accumulator = function.create_accumulator()
    add = function.add
    for record in records:
        accumulator = add(record, accumulator)
    yield function.get_result(accumulator)


def reduced(fn: Callable[[T, T], T], records: Iterable[T]) -> Iterator[T]:
    """All records reduced to one; nothing when there are none.

    >>> list(reduced(max, [3, 5, 4])), list(reduced(max, []))
    ([5], [])
    """
    rest = iter(records)
    # At most once: the first round uses up the rest.
    for first in rest:
        yield functools.reduce(fn, rest, first)
