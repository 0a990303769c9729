"""What the daemons and the clients of a mini cluster are told."""

import os
import subprocess
from pathlib import Path
from xml.etree import ElementTree as ET

import msgspec
import pytest

from yarnspec.minicluster.hadoop import configuration
from yarnspec.minicluster.hadoop.configuration import Ports, Shape, node_manager, write_configuration
from yarnspec.minicluster.hadoop.home import Home
from yarnspec.minicluster.hadoop.scripts import write_scripts

PORTS = Ports(
    rm_client=1, rm_scheduler=2, rm_tracker=3, rm_admin=4, rm_web=5, name_node=6, name_node_web=7, node_manager=8
)


def written(path: Path) -> dict[str, str]:
    """Read a Hadoop configuration file."""
    root = ET.fromstring(path.read_text())  # noqa: S314 - ours
    return {each.findtext("name", ""): each.findtext("value", "") for each in root.iter("property")}


def write(tmp_path: Path, **shape: object) -> Home:
    home = Home(tmp_path)
    write_configuration(home, Shape(**shape), PORTS, Path("/jars"))  # type: ignore[arg-type]
    return home


def test_each_host_has_an_address_of_its_own_and_publishes_it(tmp_path: Path) -> None:
    home = write(tmp_path, nodes=2)

    for host in ("127.0.0.2", "127.0.0.3"):
        site = written(home.daemon_conf(node_manager(host)) / "yarn-site.xml")
        assert site["yarn.nodemanager.address"] == f"{host}:8"
        assert site["yarn.nodemanager.local-dirs"] == str(tmp_path / "hosts" / host / "local")
        assert site["yarn.nodemanager.node-attributes.provider"] == "config"
        assert site["yarn.nodemanager.node-attributes.provider.configured-node-attributes"] == f"host,STRING,{host}"


def test_placement_constraints_can_be_left_out_on_both_sides(tmp_path: Path) -> None:
    handler = "yarn.resourcemanager.placement-constraints.handler"
    resource_manager = Home(tmp_path).daemon_conf("resourcemanager") / "yarn-site.xml"

    write(tmp_path)
    assert written(resource_manager)[handler] == "scheduler"

    home = write(tmp_path, placement_constraints=False)
    assert written(resource_manager)[handler] == "disabled"
    site = written(home.daemon_conf(node_manager("127.0.0.2")) / "yarn-site.xml")
    assert "yarn.nodemanager.node-attributes.provider" not in site


@pytest.mark.parametrize("check", [True, False])
def test_the_memory_check_needs_a_second_key(tmp_path: Path, check: bool) -> None:
    home = write(tmp_path, pmem_check=check)

    site = written(home.daemon_conf(node_manager("127.0.0.2")) / "yarn-site.xml")
    assert site["yarn.nodemanager.pmem-check-enabled"] == str(check).lower()
    assert site["yarn.nodemanager.resource.memory.enforced"] == str(not check).lower()


def test_clients_and_daemons_agree_on_addresses_and_class_path(tmp_path: Path) -> None:
    home = write(tmp_path)

    for conf in (home.conf, home.daemon_conf("resourcemanager"), home.daemon_conf("namenode")):
        assert written(conf / "core-site.xml")["fs.defaultFS"] == "hdfs://127.0.0.1:6"
        assert written(conf / "yarn-site.xml")["yarn.resourcemanager.address"] == "127.0.0.1:1"
        assert written(conf / "yarn-site.xml")["yarn.application.classpath"] == "$HADOOP_CONF_DIR,/jars/*"


def test_further_properties_go_where_they_belong_and_win(tmp_path: Path) -> None:
    queue = "yarn.scheduler.capacity.root.queues"
    own = {"yarn.log-aggregation-enable": "false", "dfs.datanode.hostname": "127.0.0.3", "x": "<&>"}
    home = write(tmp_path, properties={queue: "default,other"} | own)

    scheduler = written(home.daemon_conf("resourcemanager") / "capacity-scheduler.xml")
    assert scheduler[queue] == "default,other"
    for conf in (home.conf, home.daemon_conf("resourcemanager"), home.daemon_conf(node_manager("127.0.0.2"))):
        site = written(conf / "yarn-site.xml")
        assert site["yarn.log-aggregation-enable"] == "false"
        assert site["x"] == "<&>"
        assert queue not in site
        assert written(conf / "hdfs-site.xml")["dfs.datanode.hostname"] == "127.0.0.3"


class TestScripts:
    """The commands, as shells run them."""

    @pytest.fixture
    def home(self, tmp_path: Path) -> Home:
        """A home with its commands, for two jars and a Java that prints its arguments."""
        jars = tmp_path / "jars"
        jars.mkdir()
        for name in ("a.jar", "b.jar"):
            (jars / name).touch()
        java = tmp_path / "java" / "bin" / "java"
        java.parent.mkdir(parents=True)
        java.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
        java.chmod(0o755)
        home = Home(tmp_path / "home")
        write_scripts(home, jars, tmp_path / "java")
        return home

    def run(self, home: Home, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(home.bin / command[0]), *command[1:]],
            env={"PATH": os.defpath, **environment},
            capture_output=True,
            text=True,
            check=False,
        )

    def test_the_class_path_has_the_configuration_first_and_the_users_last(self, home: Home, tmp_path: Path) -> None:
        jars = tmp_path / "jars"
        listed = self.run(home, "yarn", "classpath", "--glob").stdout
        assert listed == f"{home.conf}:{jars}/a.jar:{jars}/b.jar\n"

        changed = self.run(home, "hadoop", "classpath", HADOOP_CONF_DIR="/conf", HADOOP_CLASSPATH="/mine").stdout
        assert changed == f"/conf:{jars}/*:/mine\n"

    def test_a_subcommand_starts_hadoops_own_class(self, home: Home) -> None:
        main = "org.apache.hadoop.yarn.client.cli"
        assert self.run(home, "yarn", "app", "-list").stdout.splitlines()[-3:] == [
            f"{main}.ApplicationCLI",
            "app",
            "-list",
        ]
        assert self.run(home, "yarn", "logs", "a b").stdout.splitlines()[-2:] == [f"{main}.LogsCLI", "a b"]
        dfs = self.run(home, "hdfs", "dfs", "-ls", "/").stdout.splitlines()
        assert dfs[-3:] == ["org.apache.hadoop.fs.FsShell", "-ls", "/"]

    def test_an_unknown_subcommand_is_a_usage_error(self, home: Home) -> None:
        for command in (("yarn",), ("yarn", "dance"), ("hdfs", "dance")):
            done = self.run(home, *command)
            assert (done.returncode, done.stdout) == (2, "")
            assert "usage:" in done.stderr


def test_the_shuffle_service_is_at_the_same_port_for_everybody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(configuration, "class_path", lambda: "/our.jar:/spark/*")
    home = Home(tmp_path)
    ports = msgspec.structs.replace(PORTS, shuffle_service=90)
    write_configuration(home, Shape(nodes=2, shuffle_service=True), ports, Path("/jars"))

    for conf in (home.conf, home.daemon_conf(node_manager("127.0.0.2")), home.daemon_conf(node_manager("127.0.0.3"))):
        site = written(conf / "yarn-site.xml")
        assert site["spark.shuffle.service.port"] == "90"
        assert site["spark.authenticate"] == "true"
        assert site["yarn.nodemanager.aux-services"] == "spark_shuffle"
        assert site["yarn.nodemanager.aux-services.spark_shuffle.classpath"] == "/our.jar:/spark/*"
    write(tmp_path, nodes=2)
    assert "yarn.nodemanager.aux-services" not in written(home.conf / "yarn-site.xml")
