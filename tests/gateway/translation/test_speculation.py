"""Spark's settings for yarnspec's speculation, and what is said about Spark's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.gateway.lines import translated
from yarnspec.errors import UsageError
from yarnspec.gateway.translation import speculation
from yarnspec.gateway.translation.sparkconf import Translation
from yarnspec.reference.options import yaml_text

OFF = ("--set", "speculation.enabled=false")


@pytest.fixture(autouse=True)
def _program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "app.py").write_text("")
    monkeypatch.chdir(tmp_path)


def with_conf(*pairs: str, options: tuple[str, ...] = ()) -> Translation:
    return translated(*options, *[word for pair in pairs for word in ("--conf", pair)], "app.py")


def test_a_plain_line() -> None:
    result = with_conf(options=("--set", "recovery.enabled=false"))
    assert result.warnings == ()
    assert result.properties == {
        "spark.app.name": "app.py",
        "spark.yarnspec.speculation": "true",
        "spark.yarnspec.speculationAsked": "false",
        "spark.yarnspec.copyWriters": "false",
        "spark.yarnspec.copyReaders": "false",
        "spark.yarnspec.copyCached": "false",
        "spark.speculation": "false",
        "spark.scheduler.listenerbus.eventqueue.yarnspec.capacity": "1000000",
        "spark.executor.heartbeatInterval": "1000ms",
        "spark.executor.heartbeat.maxFailures": "600",
        "spark.python.task.killTimeout": "200ms",
        "spark.yarnspec.spreadTasks": "true",
        "spark.yarnspec.taskSeed": "0",
        "spark.yarnspec.deployMode": "client",
    }
    assert result.origins["spark.executor.heartbeatInterval"] == "yarnspec"


@pytest.mark.parametrize(
    ("line", "asked"),
    [
        (("--set", "speculation.enabled=true"), "true"),
        (("--set", "flink.batch.speculative.enabled=true"), "true"),
        (("--conf", "spark.speculation=true"), "true"),
        (("--conf", "spark.speculation=false"), "false"),
        (OFF, "false"),
        (("--set", "speculation.min_copies=3"), "false"),
    ],
)
def test_the_driver_learns_whether_speculation_was_asked_for(line: tuple[str, ...], asked: str) -> None:
    assert with_conf(options=line).properties["spark.yarnspec.speculationAsked"] == asked


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("speculation.enabled: true\n", "true"),
        ("jobmanager.adaptive-batch-scheduler.speculative.enabled: true\n", "true"),
        (yaml_text(), "false"),
        ("", "false"),
    ],
)
def test_a_file_asks_for_speculation_unless_it_is_a_copy_of_the_defaults(text: str, asked: str) -> None:
    Path("o.yaml").write_text(text)
    assert with_conf(options=("--config", "o.yaml")).properties["spark.yarnspec.speculationAsked"] == asked
    again = with_conf(options=("--config", "o.yaml", "--set", "speculation.enabled=true"))
    assert again.properties["spark.yarnspec.speculationAsked"] == "true"


def test_what_the_user_sets_stays() -> None:
    queue = "spark.scheduler.listenerbus.eventqueue.yarnspec.capacity"
    kill = "spark.python.task.killTimeout"
    properties = with_conf("spark.executor.heartbeatInterval=5s", f"{queue}=7", f"{kill}=9s").properties
    assert properties[kill] == "9s"
    assert properties["spark.executor.heartbeatInterval"] == "5s"
    assert "spark.executor.heartbeat.maxFailures" not in properties
    assert properties[queue] == "7"
    assert with_conf("spark.executor.heartbeat.maxFailures=3").properties["spark.executor.heartbeat.maxFailures"] == "3"


def test_a_rare_heartbeat_keeps_sparks_patience() -> None:
    rare = with_conf(options=("--set", "detector.heartbeat_interval=30s")).properties
    assert rare["spark.executor.heartbeatInterval"] == "30000ms"
    assert rare["spark.executor.heartbeat.maxFailures"] == "60"


@pytest.mark.parametrize("timeout", ["20", "20s", "20000ms"])
def test_a_heartbeat_stays_below_the_network_timeout(timeout: str) -> None:
    just = with_conf(f"spark.network.timeout={timeout}", options=("--set", "detector.heartbeat_interval=19999ms"))
    assert just.properties["spark.executor.heartbeatInterval"] == "19999ms"
    with pytest.raises(UsageError, match=r"detector.heartbeat_interval: 20 s must be less than spark.network.timeout"):
        with_conf(f"spark.network.timeout={timeout}", options=("--set", "detector.heartbeat_interval=20s"))


def test_sparks_own_speculation_is_replaced_by_name() -> None:
    result = with_conf(
        "spark.speculation=true", "spark.speculation.quantile=0.5", "spark.speculation.efficiency.enabled=true"
    )
    assert result.properties["spark.speculation"] == "false"
    assert result.origins["spark.speculation"] == "yarnspec"
    assert result.warnings == (
        "spark.speculation (--conf) is ignored: yarnspec's own speculation replaces Spark's; with "
        "speculation.enabled=false Spark's is used",
        "spark.speculation.efficiency.enabled (--conf) has no effect: yarnspec's own speculation replaces Spark's",
        "spark.speculation.quantile (--conf) has no effect: yarnspec's detector progress waits for no share of a "
        "stage; detector.baseline_ratio is what execution-time and input-weighted wait for (detector.kind)",
    )
    by_time = with_conf("spark.speculation.quantile=0.5", options=("--set", "detector.kind=execution-time"))
    assert by_time.warnings == (
        "spark.speculation.quantile (--conf) has no effect: yarnspec's own speculation has detector.baseline_ratio",
    )
    assert speculation.owned_keys(result.options) == ("spark.speculation",)


def test_turning_sparks_off_does_not_turn_yarnspecs_off() -> None:
    result = with_conf("spark.speculation=false")
    assert result.properties["spark.yarnspec.speculation"] == "true"
    assert "turns off Spark's own speculation only" in result.warnings[0]


def test_sparks_own_speculation_is_the_users_where_yarnspecs_is_off() -> None:
    result = with_conf("spark.speculation=true", "spark.speculation.quantile=0.5", options=OFF)
    assert result.warnings == ()
    assert result.properties["spark.speculation"] == "true"
    assert result.properties["spark.speculation.quantile"] == "0.5"
    assert result.properties["spark.yarnspec.speculation"] == "false"
    assert "spark.executor.heartbeatInterval" not in result.properties
    assert speculation.owned_keys(result.options) == ()
    assert "spark.speculation" not in with_conf(options=OFF).properties


@pytest.mark.parametrize(
    ("option", "key"),
    [
        ("copy_writers", "spark.yarnspec.copyWriters"),
        ("copy_readers", "spark.yarnspec.copyReaders"),
        ("copy_cached", "spark.yarnspec.copyCached"),
    ],
)
def test_copies_of_tasks_that_write_or_read_their_own_way(option: str, key: str) -> None:
    assert with_conf(options=("--set", f"speculation.{option}=true")).properties[key] == "true"
