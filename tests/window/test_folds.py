from __future__ import annotations

from typing import Any

import pytest

from yarnspec.window import AggregateFunction
from yarnspec.window.folds import aggregated, reduced


class Story(AggregateFunction[int, list[Any], str]):
    """Accumulator and result of other types than the records."""

    def create_accumulator(self) -> list[Any]:
        return ["created"]

    def add(self, value: int, accumulator: list[Any]) -> list[Any]:
        return [*accumulator, value]

    def get_result(self, accumulator: list[Any]) -> str:
        return " ".join(map(str, accumulator))

    def merge(self, _one: list[Any], _other: list[Any]) -> list[Any]:
        raise AssertionError("a partition is one window: there is nothing to merge")


@pytest.mark.parametrize(("records", "result"), [([], "created"), ([7], "created 7"), ([3, 1, 2], "created 3 1 2")])
def test_one_result_however_many_records(records: list[int], result: str) -> None:
    assert list(aggregated(Story(), records)) == [result]


def test_an_object_with_the_three_methods_will_do() -> None:
    class Count:
        def create_accumulator(self) -> int:
            return 0

        def add(self, _value: object, accumulator: int) -> int:
            return accumulator + 1

        def get_result(self, accumulator: int) -> int:
            return accumulator

    assert list(aggregated(Count(), "abc")) == [3]  # type: ignore[arg-type] # it is no AggregateFunction by name


def test_an_abstract_function_cannot_be_made() -> None:
    class Half(AggregateFunction[int, int, int]):
        def create_accumulator(self) -> int:
            return 0

    with pytest.raises(TypeError, match="abstract"):
        Half()  # type: ignore[abstract]


def test_reduce_goes_from_the_first_to_the_last() -> None:
    assert list(reduced(lambda one, other: f"({one}{other})", iter("abc"))) == ["((ab)c)"]


def test_reduce_leaves_one_record_as_it_is_and_of_none_nothing() -> None:
    def never(_one: Any, _other: Any) -> Any:
        raise AssertionError

    record = object()
    assert list(reduced(never, [record])) == [record]
    assert list(reduced(never, [])) == []
