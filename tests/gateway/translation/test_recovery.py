"""Spark's settings for recovery, and what switches it off."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.gateway.lines import translated
from yarnspec.gateway.translation import recovery
from yarnspec.gateway.translation.sparkconf import Translation

ON = ("--set", "recovery.enabled=true")


@pytest.fixture(autouse=True)
def _program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "app.py").write_text("")
    monkeypatch.chdir(tmp_path)


def with_conf(*pairs: str, options: tuple[str, ...] = ON) -> Translation:
    return translated(*options, *[word for pair in pairs for word in ("--conf", pair)], "app.py")


def test_what_spark_is_told() -> None:
    result = with_conf(options=(*ON, "--set", "recovery.keep_per_host=2g", "--set", "recovery.window=20 s"))
    told = {key: value for key, value in result.properties.items() if ".recovery." in key}
    assert told == {
        "spark.yarnspec.recovery.enabled": "true",
        "spark.yarnspec.recovery.window_ms": "20000",
        "spark.yarnspec.recovery.verify_checksums": "true",
        "spark.yarnspec.recovery.keep_bytes": str(2 * 1024**3),
        "spark.yarnspec.recovery.live_adoption_ms": "15000",
        "spark.yarnspec.recovery.sweep_ms": "3000",
    }
    assert result.properties["spark.shuffle.manager"].startswith("org.yarnspec.")
    # Its containers' hosts are told of it or not: a program cannot turn it on in its code.
    assert result.properties["spark.shuffle.service.enabled"] == "false"
    assert "spark.shuffle.service.enabled" in recovery.owned_keys(result.options)
    # And what a program wants to be encrypted is.
    assert "spark.io.encryption.enabled" not in {*result.properties, *recovery.owned_keys(result.options)}
    assert (result.warnings, result.recovery_off) == ((), "")


def test_without_recovery_spark_is_told_nothing() -> None:
    result = with_conf("spark.io.encryption.enabled=true", options=("--set", "recovery.enabled=false"))
    assert not [key for key in result.properties if ".recovery." in key]
    assert result.properties["spark.io.encryption.enabled"] == "true"
    assert recovery.owned_keys(result.options) == ()
    assert (result.warnings, result.recovery_off) == ((), "")


FORGETS = "spark.yarn.am.attemptFailuresValidityInterval=1h"


def test_an_application_that_may_have_endless_lives_is_recovered_only_when_that_is_wanted() -> None:
    assert with_conf(options=()).options.recovery.enabled
    result = with_conf(FORGETS, options=())
    assert not result.options.recovery.enabled
    assert "--set recovery.enabled=true" in result.recovery_off
    assert with_conf(FORGETS).options.recovery.enabled


@pytest.mark.parametrize(
    ("line", "restarts"),
    [
        (("--conf", "spark.yarn.maxAppAttempts=1"), 0),
        (("--set", "am.max_attempts=1"), 0),
        (("--set", "am.max_attempts=1", "--conf", "spark.yarn.maxAppAttempts=2"), 4),
        (("--conf", "spark.yarn.maxAppAttempts=1", "--set", "recovery.driver_restarts=2"), 2),
    ],
)
def test_one_attempt_is_one_life(line: tuple[str, ...], restarts: int) -> None:
    assert with_conf(options=(*ON, *line)).options.recovery.driver_restarts == restarts


def test_who_asks_for_more_attempts_than_the_cluster_grants_is_told() -> None:
    asked = {"am.max_attempts"}
    assert recovery.fewer_attempts(5, asked, 2) == [
        "am.max_attempts=5: the cluster grants 2 (yarn.resourcemanager.am.max-attempts)"
    ]
    assert not recovery.fewer_attempts(5, asked, 5)
    assert not recovery.fewer_attempts(5, set(), 2)


@pytest.mark.parametrize(("attempts", "restarts"), [(2, 7), (3, 5), (4, 4), (40, 0)])
def test_who_asks_for_more_lives_than_there_are_numbers_is_told(attempts: int, restarts: int) -> None:
    options = with_conf(options=(*ON, "--set", "recovery.driver_restarts=9")).options
    asked = {"recovery.driver_restarts"}
    (warning,) = recovery.fewer_restarts(options, asked, attempts)
    assert f"recovery.driver_restarts=9: a driver is started again {restarts} times" in warning
    assert not recovery.fewer_restarts(options, asked, 1)
    assert not recovery.fewer_restarts(options, set(), attempts)
    assert not recovery.fewer_restarts(recovery.switched_off(options), asked, attempts)


@pytest.mark.parametrize(
    "pair",
    [
        "spark.io.encryption.enabled=true",
        "spark.shuffle.service.fetch.rdd.enabled=true",
        "spark.shuffle.push.enabled=true",
        "spark.shuffle.useOldFetchProtocol=true",
        "spark.shuffle.manager=org.example.Manager",
        "spark.shuffle.checksum.enabled=false",
    ],
)
def test_what_cannot_be_recovered_switches_it_off_by_name(pair: str) -> None:
    result = with_conf(pair)
    assert not result.options.recovery.enabled
    assert result.recovery_off.startswith(pair)
    assert any(pair in warning and "not kept" in warning for warning in result.warnings)
    key, _, value = pair.partition("=")
    assert result.properties[key] == value
    assert "spark.yarnspec.recovery.enabled" not in result.properties


def test_outputs_without_checksums_are_kept_only_for_who_wants_them_unseen() -> None:
    unseen = (*ON, "--set", "recovery.verify_checksums=false")
    result = with_conf("spark.shuffle.checksum.enabled=false", options=unseen)
    assert result.options.recovery.enabled
    assert result.properties["spark.shuffle.checksum.enabled"] == "false"
    # Nor can a program turn them off in its code.
    assert with_conf().properties["spark.shuffle.checksum.enabled"] == "true"
    assert "spark.shuffle.checksum.enabled" in recovery.owned_keys(result.options)


def test_sparks_own_shuffle_by_any_of_its_names_is_no_obstacle() -> None:
    for manager in ("sort", "org.apache.spark.shuffle.sort.SortShuffleManager"):
        assert with_conf(f"spark.shuffle.manager={manager}").options.recovery.enabled


def test_that_functions_give_the_same_each_time_is_said_to_the_driver_where_it_is_so() -> None:
    key = "spark.yarnspec.recovery.repeatable"
    assert key not in with_conf(options=ON).properties
    assert with_conf(options=(*ON, "--set", "recovery.repeatable=true")).properties[key] == "true"


def test_with_a_shuffle_service_it_is_kept_too() -> None:
    result = with_conf("spark.shuffle.service.enabled=true")
    assert result.options.recovery.enabled
    assert result.properties["spark.shuffle.service.enabled"] == "true"
    assert "spark.shuffle.service.enabled" in recovery.owned_keys(result.options)
    assert (result.warnings, result.recovery_off) == ((), "")


def test_the_outputs_of_an_executor_that_dies_wait_unless_that_or_recovery_is_off() -> None:
    key = "spark.yarnspec.recovery.live_adoption_ms"
    for off in ("recovery.enabled=false", "recovery.live_adoption=false"):
        assert key not in with_conf(options=(*ON, "--set", off)).properties
    assert with_conf(options=ON).properties[key] == "15000"
    sooner = (*ON, "--set", "recovery.live_adoption_deadline=4 s")
    assert with_conf(options=sooner).properties[key] == "4000"


def test_of_files_on_the_web_nobody_knows_whether_they_are_the_same_later() -> None:
    (warning,) = translated("--jars", "https://h/w.jar", "app.py").warnings
    assert warning.startswith("finished work is not used again by a next driver: https://h/w.jar is on the web")
    assert translated("--jars", "local:/opt/o.jar,hdfs:///j/z.jar", "app.py").warnings == ()
    assert translated("--set", "recovery.enabled=false", "--jars", "https://h/w.jar", "app.py").warnings == ()
