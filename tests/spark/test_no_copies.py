"""Jobs that the program marks: none of their tasks may be copied."""

from __future__ import annotations

import pytest
from pyspark import SparkContext

import yarnspec
from yarnspec.errors import UsageError

PROPERTY = "yarnspec.speculation"


class Context:
    """The local properties of a SparkContext."""

    def __init__(self) -> None:
        self.properties: dict[str, str] = {"spark.scheduler.pool": "batch"}
        self.stopped = False

    def getLocalProperty(self, key: str) -> str | None:  # noqa: N802 - Spark's name
        return self.properties.get(key)

    def setLocalProperty(self, key: str, value: str | None) -> None:  # noqa: N802 - Spark's name
        if self.stopped:
            raise AttributeError("'NoneType' object has no attribute 'setLocalProperty'")
        if value is None:
            self.properties.pop(key, None)
        else:
            self.properties[key] = value


@pytest.fixture
def context(monkeypatch: pytest.MonkeyPatch) -> Context:
    context = Context()
    monkeypatch.setattr(SparkContext, "_active_spark_context", context)
    monkeypatch.delenv("SPARK_CONNECT_MODE_ENABLED", raising=False)
    return context


def test_jobs_are_marked_in_the_block_alone(context: Context) -> None:
    with yarnspec.no_copies():
        assert context.properties == {"spark.scheduler.pool": "batch", PROPERTY: "false"}
    assert context.properties == {"spark.scheduler.pool": "batch"}


def test_a_block_in_a_block_ends_with_the_outer_one(context: Context) -> None:
    with yarnspec.no_copies():
        with yarnspec.no_copies():
            pass
        assert context.properties[PROPERTY] == "false"
    assert PROPERTY not in context.properties


def test_what_the_program_has_set_itself_comes_back(context: Context) -> None:
    context.properties[PROPERTY] = "true"

    @yarnspec.no_copies()
    def job() -> None:
        assert context.properties[PROPERTY] == "false"
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        job()
    assert context.properties[PROPERTY] == "true"


def test_a_function_can_be_marked(context: Context) -> None:
    @yarnspec.no_copies()
    def job() -> str | None:
        return context.getLocalProperty(PROPERTY)

    assert (job(), job(), context.getLocalProperty(PROPERTY)) == ("false", "false", None)


def test_a_context_that_stops_in_the_block_is_no_error(context: Context) -> None:
    with yarnspec.no_copies():
        context.stopped = True


def test_without_a_context_nothing_would_be_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SparkContext, "_active_spark_context", None)
    monkeypatch.delenv("SPARK_CONNECT_MODE_ENABLED", raising=False)
    with pytest.raises(UsageError, match="start the SparkSession"), yarnspec.no_copies():
        pass


def test_with_spark_connect_nothing_is_marked(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_CONNECT_MODE_ENABLED", "1")
    with yarnspec.no_copies():
        assert PROPERTY not in context.properties
