"""The bounds for the number of executors, however they are written."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.gateway.lines import translated
from yarnspec.errors import UsageError
from yarnspec.gateway.translation.bounds import registered_rule

DYNAMIC = ["--conf", "spark.dynamicAllocation.enabled=true"]
INSTANCES = "spark.executor.instances"


@pytest.fixture(autouse=True)
def _program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "app.py").write_text("")
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("line", "least", "most"),
    [
        (["--min-executors", "2", "--max-executors", "5"], 2, 5),
        (["--min-executors", "2", "--num-executors", "4"], 2, 4),
        (["--min-executors", "2"], 2, 2),
        (["--max-executors", "5"], 1, 5),
        (["--set", "resources.min_executors=3", "--max-executors", "5"], 3, 5),
        (["--set", "resources.min_executors=3", "--min-executors", "4", "--max-executors", "5"], 4, 5),
    ],
)
def test_both_bounds_are_known_and_the_most_are_asked_for(line: list[str], least: int, most: int) -> None:
    result = translated(*line, "app.py")
    assert (result.options.resources.min_executors, result.options.resources.max_executors) == (least, most)
    assert result.properties[INSTANCES] == str(most)
    assert result.warnings == ()


def test_a_plain_line_has_none() -> None:
    result = translated("--num-executors", "4", "app.py")
    assert (result.options.resources.min_executors, result.options.resources.max_executors) == (0, 0)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (["--min-executors", "6", "--max-executors", "5"], "at least 6 executors are more than the 5"),
        (["--min-executors", "3", "--num-executors", "2"], "at least 3 executors are more than the 2"),
        (["--min-executors", "3"], "at least 3 executors are more than the 2"),
        (["--min-executors", "0"], "--min-executors: '0' must be a whole number, 1 or more"),
        (["--max-executors", "-1"], "--max-executors: '-1' must be a whole number, 1 or more"),
        (["--max-executors", "many"], "'many' must be a whole number"),
        (["--min-executors", "1", "--max-executors", "5", "--num-executors", "3"], "leave --num-executors out"),
        (["--max-executors", "5", "--conf", f"{INSTANCES}=3"], f"leave {INSTANCES} (--conf) out"),
        (
            ["--set", "resources.max_executors=5", "--num-executors", "3"],
            "resources.max_executors and --num-executors: ",
        ),
        (
            ["--set", "resources.min_executors=5", "--num-executors", "3"],
            "resources.min_executors: at least 5 executors are more than the 3 that are asked for at most (--num-exec",
        ),
        (["--min-executors", "3"], f"for at most ({INSTANCES} (default)); --max-executors asks for more"),
    ],
)
def test_bounds_that_make_no_sense_are_refused(line: list[str], words: str) -> None:
    with pytest.raises(UsageError) as refused:
        translated(*line, "app.py")
    assert words in str(refused.value)


def test_a_number_from_a_file_gives_way_and_is_named(tmp_path: Path) -> None:
    (tmp_path / "spark.conf").write_text(f"{INSTANCES} 7\n")
    result = translated("--properties-file", "spark.conf", "--max-executors", "5", "app.py")
    assert result.properties[INSTANCES] == "5"
    (warning,) = result.warnings
    assert warning.startswith(f"{INSTANCES} (file spark.conf) has no effect")


def test_with_dynamic_allocation_they_are_its_bounds() -> None:
    result = translated(*DYNAMIC, "--min-executors", "2", "--max-executors", "5", "app.py")
    assert result.properties["spark.dynamicAllocation.minExecutors"] == "2"
    assert result.properties["spark.dynamicAllocation.maxExecutors"] == "5"
    assert INSTANCES not in result.properties
    alone = translated(*DYNAMIC, "--conf", "spark.dynamicAllocation.maxExecutors=9", "--min-executors", "2", "app.py")
    assert alone.options.resources.max_executors == 9


def test_sparks_own_rule_is_read_as_spark_reads_it() -> None:
    assert registered_rule({}) == (0.8, 30_000)
    ratio, wait = "spark.scheduler.minRegisteredResourcesRatio", "spark.scheduler.maxRegisteredResourcesWaitingTime"
    assert registered_rule({ratio: "2", wait: "5s"}) == (1.0, 5_000)
    with pytest.raises(UsageError, match=ratio):
        registered_rule({ratio: "most"})
    result = translated("--min-executors", "2", "--conf", f"{ratio}=1.0", "app.py")
    assert any(warning.startswith(f"{ratio} (--conf) has no effect") for warning in result.warnings)
