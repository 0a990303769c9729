"""What a mini cluster says and refuses before any daemon runs, and how it clears away what a crash left."""

import json
import os
import signal
from pathlib import Path

import pytest
from click.testing import CliRunner

from yarnspec.cli.main import cli
from yarnspec.errors import ClusterUnreachable, NotFound, UsageError
from yarnspec.minicluster import MiniCluster
from yarnspec.minicluster.hadoop.cluster_record import ClusterRecord, read_record, write_record
from yarnspec.minicluster.hadoop.configuration import Ports, Shape
from yarnspec.minicluster.hadoop.daemons import container_mark, mark
from yarnspec.minicluster.hadoop.home import Home, default_home
from yarnspec.minicluster.machine.java import find_java_home
from yarnspec.minicluster.machine.locks import locked
from yarnspec.minicluster.machine.ports import HeldPorts
from yarnspec.minicluster.machine.processes import find_marked, is_alive, send, start_detached, wait_until

PORTS = Ports(
    rm_client=1, rm_scheduler=2, rm_tracker=3, rm_admin=4, rm_web=5, name_node=6, name_node_web=7, node_manager=8
)
WAIT_S = 20


def record() -> ClusterRecord:
    return ClusterRecord(shape=Shape(nodes=2), ports=PORTS, java_home="/java", jars="/jars")


def test_the_default_home_follows_the_xdg_state_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert default_home() == tmp_path / "yarnspec" / "minicluster"

    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", "/home/me")
    assert default_home() == Path("/home/me/.local/state/yarnspec/minicluster")


@pytest.mark.parametrize("name", ["with space", "with,comma", "with:colon", "with$dollar"])
def test_homes_that_hadoop_cannot_live_in_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="cannot live"):
        MiniCluster(tmp_path / name)


@pytest.mark.parametrize("nodes", [0, -1, 201])
def test_a_cluster_has_a_sensible_number_of_hosts(tmp_path: Path, nodes: int) -> None:
    with pytest.raises(UsageError, match="hosts"):
        MiniCluster(tmp_path, nodes=nodes)


def test_where_nothing_was_started_nothing_is_found(tmp_path: Path) -> None:
    cluster = MiniCluster(tmp_path / "none")

    assert cluster.status()["state"] == "stopped"
    cluster.stop()
    assert not (tmp_path / "none").exists()
    with pytest.raises(NotFound, match="minicluster start"):
        cluster.env()


def test_unknown_hosts_are_named_with_the_known_ones(tmp_path: Path) -> None:
    write_record(Home(tmp_path).record, record())

    with pytest.raises(NotFound, match=r"no host 127\.0\.0\.9; its hosts: 127\.0\.0\.2, 127\.0\.0\.3"):
        MiniCluster(tmp_path).host_stop("127.0.0.9")


def test_the_environment_names_configuration_java_and_commands(tmp_path: Path) -> None:
    write_record(Home(tmp_path).record, record())

    variables = MiniCluster(tmp_path).env()
    assert variables["HADOOP_CONF_DIR"] == str(tmp_path / "conf")
    assert variables["JAVA_HOME"] == "/java"
    assert variables["PATH"].split(os.pathsep)[0] == str(tmp_path / "bin")


def test_a_record_survives_the_way_through_its_file_and_a_broken_one_is_named(tmp_path: Path) -> None:
    path = tmp_path / "cluster.json"
    assert read_record(path) is None
    write_record(path, record())
    assert read_record(path) == record()

    path.write_text('{"schema": 1}')
    with pytest.raises(UsageError, match=r"cluster\.json"):
        read_record(path)


def test_stop_ends_what_a_killed_start_did_not_write_down(tmp_path: Path) -> None:
    """Neither the daemon nor the container is in the record: both are found by what their environments say."""
    home = Home(tmp_path)
    write_record(home.record, record())

    def sleeper(**environment: str) -> int:
        variables = {"PATH": os.environ["PATH"], **environment}
        return start_detached(["sleep", "600"], directory=tmp_path, log=tmp_path / "log", environment=variables).pid

    key, _, value = mark(home).rstrip("\0").partition("=")
    daemon = sleeper(**{key: value})
    container = sleeper(LOCAL_DIRS=f"{home.local('127.0.0.3')}/usercache/me/appcache/application_1_1")
    neighbour = sleeper(**{key: value + "2"})
    try:
        MiniCluster(tmp_path).stop()

        found = find_marked([mark(home), container_mark(home, "127.0.0.3")])
        assert found == []
        assert {daemon, container}.isdisjoint(each.pid for each in find_marked([f"{key}={value}"]))
        assert neighbour in [each.pid for each in find_marked([f"{key}={value}2"])]
    finally:
        left = find_marked([f"{key}={value}", f"LOCAL_DIRS={tmp_path}"])
        send(left, signal.SIGKILL)
        assert wait_until(lambda: not any(map(is_alive, left)), WAIT_S)


def test_ports_that_are_held_are_not_given_twice() -> None:
    with HeldPorts() as first, HeldPorts() as second:
        ports = [first.take() for _ in range(20)]
        assert len(set(ports)) == 20
        assert second.take_again(ports[0]) != ports[0]
    with HeldPorts() as third:
        assert third.take_again(ports[0]) == ports[0]


def test_a_lock_that_is_held_is_waited_for_until_the_deadline(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "lock"
    with (
        locked(path, timeout_s=1, doing="one"),
        pytest.raises(ClusterUnreachable, match="two"),
        locked(path, timeout_s=0, doing="two"),
    ):
        raise AssertionError
    with locked(path, timeout_s=0, doing="three"):
        pass


class TestJava:
    """Which Java is taken."""

    def java(self, path: Path, version: str) -> Path:
        (path / "bin").mkdir(parents=True)
        (path / "bin" / "java").touch(mode=0o755)
        (path / "release").write_text(f'JAVA_VERSION="{version}"\n')
        return path

    def test_java_home_wins_over_the_path(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        named, found = self.java(tmp_path / "named", "17.0.2"), self.java(tmp_path / "found", "21.0.1")
        monkeypatch.setenv("PATH", str(found / "bin"))
        monkeypatch.setenv("JAVA_HOME", str(named))
        assert find_java_home() == named

        monkeypatch.delenv("JAVA_HOME")
        assert find_java_home() == found

    @pytest.mark.parametrize("version", ["1.8.0_402", "11.0.2"])
    def test_an_old_java_is_refused(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, version: str) -> None:
        monkeypatch.setenv("JAVA_HOME", str(self.java(tmp_path / "old", version)))
        with pytest.raises(UsageError, match="install a JDK 17"):
            find_java_home()

    def test_a_missing_java_says_what_to_install(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setenv("PATH", str(tmp_path))
        monkeypatch.delenv("JAVA_HOME", raising=False)
        with pytest.raises(UsageError, match="install a JDK 17"):
            find_java_home()

        monkeypatch.setenv("JAVA_HOME", str(tmp_path))
        with pytest.raises(UsageError, match="no bin/java"):
            find_java_home()


class TestCommandLine:
    """`yarnspec minicluster`, as far as it goes without daemons."""

    def test_status_is_a_document(self, tmp_path: Path) -> None:
        write_record(Home(tmp_path).record, record())
        done = CliRunner().invoke(cli, ["minicluster", "status", "--home", str(tmp_path), "-o", "json"])

        document = json.loads(done.stdout)
        assert document["state"] == "stopped"
        assert [each["host"] for each in document["hosts"]] == ["127.0.0.2", "127.0.0.3"]
        assert {each["state"] for each in document["daemons"]} == {"stopped"}

    def test_env_prints_export_lines(self, tmp_path: Path) -> None:
        write_record(Home(tmp_path).record, record())
        done = CliRunner().invoke(cli, ["minicluster", "env", "--home", str(tmp_path)])

        assert done.stdout.splitlines() == [
            "unset YARN_CONF_DIR",
            f"export HADOOP_CONF_DIR={tmp_path}/conf",
            "export JAVA_HOME=/java",
            f'export PATH={tmp_path}/bin:"$PATH"',
        ]

    def test_a_property_without_a_value_is_refused(self, tmp_path: Path) -> None:
        done = CliRunner().invoke(cli, ["minicluster", "start", "--home", str(tmp_path), "--property", "x"])
        assert done.exit_code == 2
        assert "KEY=VALUE" in done.stderr
