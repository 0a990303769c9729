"""What an application is told that asks for the cluster's shuffle service."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.gateway.lines import translated
from yarnspec.gateway.translation import shuffleservice
from yarnspec.yarn.hadoop.hadoop_conf import HadoopConf
from yarnspec.yarn.hadoop.site_files import Property

ON = {"spark.shuffle.service.enabled": "true"}


def site(**values: str) -> HadoopConf:
    """A cluster's yarn-site.xml: keys by their last part."""
    named = {
        "port": "spark.shuffle.service.port",
        "authenticate": "spark.authenticate",
        "services": "yarn.nodemanager.aux-services",
    }
    return HadoopConf({"yarn-site.xml": [Property(named[key], value) for key, value in values.items()]}, environ={})


def nothing(_key: str) -> str | None:
    """A ResourceManager that does not say."""
    return None


def test_without_the_service_nothing_changes() -> None:
    conf = site(port="7447", authenticate="false")
    for given in ({}, {"spark.shuffle.service.enabled": "false", "spark.authenticate": "false"}):
        assert shuffleservice.properties(given, conf) == {}
        assert shuffleservice.master_overrides(given) == {}
        assert shuffleservice.authenticates(given, conf)
        assert shuffleservice.warnings(given, conf, nothing) == []


def test_hosts_that_yarn_decommissions_are_told_to_spark_only_without_the_service_as_in_spark() -> None:
    wish = {"spark.decommission.enabled": "true"}
    assert not shuffleservice.decommissions({})
    assert shuffleservice.decommissions(wish)
    assert not shuffleservice.decommissions(wish | ON)
    told = shuffleservice.warnings(wish | ON, site(services="spark_shuffle"), nothing)
    assert [one.partition(":")[0] for one in told] == ["spark.decommission.enabled"]


def test_the_port_is_the_users_else_the_clusters_else_sparks_own() -> None:
    key = "spark.shuffle.service.port"
    assert shuffleservice.properties(ON | {key: "1"}, site(port="2")) == {key: "1"}
    assert shuffleservice.properties(ON, site(port="2")) == {key: "2"}
    assert shuffleservice.properties(ON, site()) == {}


@pytest.mark.parametrize(
    ("user", "cluster", "expected"),
    [
        (None, None, True),
        (None, "false", False),
        (None, "true", True),
        ("false", "true", False),
        ("true", "false", True),
        ("false", None, False),
    ],
)
def test_a_secret_is_left_out_only_where_the_service_wants_none(
    user: str | None, cluster: str | None, expected: bool
) -> None:
    given = ON if user is None else ON | {"spark.authenticate": user}
    conf = site() if cluster is None else site(authenticate=cluster)
    assert shuffleservice.authenticates(given, conf) is expected
    assert (shuffleservice.properties(given, conf).get("spark.authenticate") == "false") is not expected
    told = shuffleservice.warnings(given, conf, {"yarn.nodemanager.aux-services": "mapreduce, spark_shuffle"}.get)
    assert bool(told) is not expected


def test_a_cluster_that_names_no_such_service_is_a_warning() -> None:
    (told,) = shuffleservice.warnings(ON, site(), nothing)
    assert "does not name spark_shuffle" in told
    assert shuffleservice.warnings(ON, site(services="mapreduce_shuffle,spark_shuffle"), nothing) == []
    own = ON | {"spark.shuffle.service.name": "spark4"}
    (told,) = shuffleservice.warnings(own, site(services="spark_shuffle"), nothing)
    assert "does not name spark4" in told


def test_the_hosts_are_told_by_the_services_name_and_no_secret_is_in_the_configuration() -> None:
    told = shuffleservice.master_overrides(ON | {"spark.shuffle.service.name": "spark4_shuffle"})
    assert told == {
        "yarn.ipc.rpc.class": "org.yarnspec.rm.ServiceDataRpc",
        "yarnspec.shuffle-service.name": "spark4_shuffle",
        "yarnspec.shuffle-service.secret-file": "yarnspec-spark-secret",
    }


def test_authentication_can_be_turned_off_only_with_the_service(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "app.py").write_text("")
    monkeypatch.chdir(tmp_path)
    off = ("--conf", "spark.authenticate=false")
    without = translated(*off, "app.py")
    assert "spark.authenticate" not in without.properties
    assert any("spark.authenticate" in warning for warning in without.warnings)
    beside = translated(*off, "--conf", "spark.shuffle.service.enabled=true", "app.py")
    assert beside.properties["spark.authenticate"] == "false"
    assert beside.warnings == ()
