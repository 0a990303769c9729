"""Jars from elsewhere: Spark's own as one archive that YARN keeps for all applications, and packages from Maven."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import pytest

from integration.cluster import Cluster
from integration.conftest import Submit, leftovers
from integration.submitting import conf
from integration.waiting import wait_for
from yarnspec.yarn.files.cluster_files import open_files
from yarnspec.yarn.hadoop.hadoop_conf import HadoopConf

POM = """\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>org.example</groupId>
  <artifactId>packaged</artifactId>
  <version>1.0</version>
</project>
"""
# Nothing but what --repositories names: the test must not depend on the world outside.
IVY_SETTINGS = """\
<ivysettings>
  <settings defaultResolver="none"/>
  <resolvers><filesystem name="none"><artifact pattern="{empty}/[artifact]-[revision].[ext]"/></filesystem></resolvers>
</ivysettings>
"""


@pytest.mark.one_a_day("whole programs")
def test_spark_s_jars_are_uploaded_and_localized_once_and_packages_are_resolved(
    submit: Submit, cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """--spark-jars hdfs://…: the first application uploads the archive, the second runs from the same copy on the host.

    The second one brings a package by --packages and --repositories besides. There are no jars of Spark's but these.
    """
    monkeypatch.delitem(cluster.environment, "SPARK_CONF_DIR")
    host, *others = cluster.hosts
    on_one_host = ["--force", "--exclude-hosts", ",".join(others), "--num-executors", "1"]
    archive = f"/spark-jars/of-{os.getpid()}.zip"
    options = [*on_one_host, "--spark-jars", f"{cluster.mini.default_fs}{archive}"]
    assert cluster.hdfs_status(archive) == {}
    (first,) = submit("brought.py", options=options).wait(180).expect(0).lines
    uploaded = cluster.hdfs_status(archive)
    assert uploaded["permission"] == "644"
    second = submit("brought.py", "packaged", options=[*options, *_package(tmp_path)])
    (line,) = second.wait().expect(0).lines
    assert cluster.hdfs_status(archive) == uploaded

    # The host's cache for everybody, not the user's or the application's.
    cache = cluster.home / "hosts" / host / "local" / "filecache"
    for report in (first["driver"], first["task"], line["driver"], line["task"]):
        assert report["spark_core"] == first["driver"]["spark_core"]
    (spark_core,) = first["driver"]["spark_core"]
    assert Path(spark_core).is_relative_to(cache)

    # The package's jar is on the executor, and a module in it can be imported on both sides.
    assert (line["driver"]["word"], line["task"]["word"]) == ("from a package", "from a package")
    assert "org.example_packaged-1.0.jar" in line["task"]["jars_beside"]
    application = second.application_id()
    wait_for("nothing left", lambda: not leftovers(cluster, application), 20)


@pytest.mark.one_a_day("whole programs")
@pytest.mark.parametrize("properties", ["replaced path", "user class path first"])
def test_driver_and_tasks_load_a_class_of_the_jar_that_is_meant(
    submit: Submit, which_jar: Path, tmp_path: Path, properties: str
) -> None:
    """A `local:` jar at a path of the gateway is loaded where a variable says that it lies on the hosts.

    A jar of --jars wins over one of the class path with `userClassPathFirst`.
    """
    for name in ("hosts.jar", "users.jar"):
        (tmp_path / name).symlink_to(which_jar)
    if properties == "replaced path":
        given = {
            "spark.yarn.config.gatewayPath": "/only/on/the/gateway",
            "spark.yarn.config.replacementPath": "{{JARS_OF_HOSTS}}",
            "spark.yarn.appMasterEnv.JARS_OF_HOSTS": str(tmp_path),
            "spark.executorEnv.JARS_OF_HOSTS": str(tmp_path),
        }
        jars, meant = "local:/only/on/the/gateway/hosts.jar", "hosts.jar"
    else:
        given = {f"spark.{side}.userClassPathFirst": "true" for side in ("driver", "executor")}
        given |= {f"spark.{side}.extraClassPath": str(tmp_path / "hosts.jar") for side in ("driver", "executor")}
        jars, meant = str(tmp_path / "users.jar"), "users.jar"
    (line,) = submit("which.py", options=["--jars", jars, *conf(**given)]).wait().expect(0).lines
    assert line == {"driver": meant, "tasks": [meant]}


def test_a_file_that_is_there_is_not_renamed_over(cluster: Cluster) -> None:
    """What two first submits with one archive rely on: HDFS lets one of them win."""
    files = open_files(HadoopConf.read(cluster.environment))
    directory = f"/spark-jars/race-{os.getpid()}"
    for name in ("winner", "loser"):
        files.write(f"{directory}/{name}", name.encode())
    files.rename(f"{directory}/winner", f"{directory}/archive")
    with pytest.raises(FileExistsError):
        files.rename(f"{directory}/loser", f"{directory}/archive")
    assert files.read(f"{directory}/archive") == b"winner"


def _package(directory: Path) -> list[str]:
    """A Maven repository in a directory with one package, and the flags that name it."""
    place = directory / "repository" / "org" / "example" / "packaged" / "1.0"
    place.mkdir(parents=True)
    (place / "packaged-1.0.pom").write_text(POM)
    with zipfile.ZipFile(place / "packaged-1.0.jar", "w") as jar:
        jar.writestr("packaged.py", "WORD = 'from a package'\n")
    settings = directory / "ivysettings.xml"
    settings.write_text(IVY_SETTINGS.format(empty=directory / "empty"))
    return [
        *("--packages", "org.example:packaged:1.0", "--repositories", f"file://{directory / 'repository'}"),
        *("--conf", f"spark.jars.ivySettings={settings}", "--conf", f"spark.jars.ivy={directory / 'ivy'}"),
    ]
