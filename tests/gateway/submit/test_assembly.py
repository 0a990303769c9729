"""What is shipped and what Skein is told."""

from __future__ import annotations

import stat
from pathlib import Path

import msgspec
import pytest

from tests.spark.plain_plan import keeping, plan
from yarnspec.gateway.submit import assembly
from yarnspec.gateway.submit.assembly import AmSize, Shipment, acls_of, assemble
from yarnspec.plan import (
    EXECUTOR_VARIABLES_FILE,
    HADOOP_CONF_JAR_FILE,
    JAR_FILE,
    PLAN_FILE,
    SPARK_PROPERTIES_FILE,
    SPARK_SECRET_FILE,
    Plan,
)
from yarnspec.yarn.skein.skein_application import Acls, LocalizedFile, SkeinApplication, as_document, specification

SECRET = "a-very-secret-word"
VARIABLE = "not-for-everybody"


@pytest.fixture(autouse=True)
def _jar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assembly, "jar_path", lambda: tmp_path / "yarnspec.jar")


def made(
    directory: Path, *, secret: bool = True, properties: dict[str, str] | None = None, **more: object
) -> SkeinApplication:
    shipment = Shipment(
        properties={"spark.app.name": "etl"} if properties is None else properties,
        secret=SECRET if secret else None,
        conf_jar=directory / "conf.jar",
        am_files={"app.py": LocalizedFile("/home/me/app.py")},
        everywhere_files={"data": LocalizedFile("hdfs://nn/data.zip", kind="ARCHIVE")},
        executor_variables={"PASSWORD": VARIABLE, "YARN_CONTAINER_RUNTIME_TYPE": "docker"},
        am=AmSize(memory_mb=1856, vcores=2, label="am"),
        queue="q",
        tags=("t",),
    )
    return assemble(plan(**more), shipment, directory)


def test_both_containers(tmp_path: Path) -> None:
    found = made(tmp_path, options=keeping(False))
    assert (found.name, found.queue, found.tags) == ("etl", "q", ("t",))
    master, executor = found.master, found.executor
    assert (master.memory_mb, master.vcores, master.label) == (1856, 2, "am")
    assert master.script == "exec /venv/bin/python -m yarnspec.am"
    assert (executor.memory_mb, executor.vcores) == (1, 1)
    assert set(master.files) == {
        *(JAR_FILE, PLAN_FILE, SPARK_PROPERTIES_FILE, SPARK_SECRET_FILE, HADOOP_CONF_JAR_FILE),
        *("app.py", "data"),
    }
    assert set(executor.files) == {HADOOP_CONF_JAR_FILE, SPARK_SECRET_FILE, EXECUTOR_VARIABLES_FILE, "data"}
    specification(found)  # Skein takes it


def test_executors_get_our_jar_only_where_work_is_kept(tmp_path: Path) -> None:
    for enabled in (True, False):
        executor = made(tmp_path, options=keeping(enabled)).executor
        assert (JAR_FILE in executor.files) is enabled
        assert (JAR_FILE in executor.script) is enabled


def test_an_environment_is_activated_before_its_python_is_looked_for(tmp_path: Path) -> None:
    script = made(tmp_path, activate="conda activate 'x'", python="my python").master.script
    assert script == "conda activate 'x'\nexec 'my python' -m yarnspec.am"


def test_the_plan_arrives_as_it_is(tmp_path: Path) -> None:
    made(tmp_path)
    assert msgspec.json.decode((tmp_path / PLAN_FILE).read_bytes(), type=Plan) == plan()


def test_the_secret_is_in_its_own_file_and_nowhere_else(tmp_path: Path) -> None:
    found = made(tmp_path)
    assert (tmp_path / SPARK_SECRET_FILE).read_text() == SECRET
    for path in tmp_path.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert path.name == SPARK_SECRET_FILE or SECRET not in path.read_text()
    assert SECRET not in str(as_document(found))


def test_the_users_variables_are_in_a_file_that_only_executors_get(tmp_path: Path) -> None:
    found = made(tmp_path)
    assert VARIABLE in (tmp_path / EXECUTOR_VARIABLES_FILE).read_text()
    assert VARIABLE not in str(as_document(found))
    assert VARIABLE not in (tmp_path / PLAN_FILE).read_text()
    assert EXECUTOR_VARIABLES_FILE not in found.master.files


def test_what_chooses_the_runtime_of_a_container_reaches_its_node_manager(tmp_path: Path) -> None:
    image = {"YARN_CONTAINER_RUNTIME_DOCKER_IMAGE": "registry/spark:4"}
    found = made(tmp_path, driver_environment={**image, "PASSWORD": "x"})
    assert found.executor.environment == {"YARN_CONTAINER_RUNTIME_TYPE": "docker"}
    assert found.master.environment.items() > image.items()
    assert "PASSWORD" not in found.master.environment


def test_without_authentication_no_secret_is_shipped(tmp_path: Path) -> None:
    found = made(tmp_path, secret=False)
    assert SPARK_SECRET_FILE not in found.executor.files
    assert SPARK_SECRET_FILE not in found.executor.script
    assert not (tmp_path / SPARK_SECRET_FILE).exists()


def test_users_secrets_stay_in_the_properties_file(tmp_path: Path) -> None:
    found = made(
        tmp_path,
        properties={
            "spark.hadoop.fs.s3a.secret.key": SECRET,
            "spark.network.timeout": "5s",
            "spark.rpc.message.maxSize": "7",
            "spark.network.keyPassword": SECRET,
            "spark.authenticate.secret": SECRET,
            "spark.sql.shuffle.partitions": "3",
        },
    )
    script = found.executor.script
    assert "-Dspark.network.timeout=5s" in script
    assert "-Dspark.rpc.message.maxSize=7" in script
    assert "shuffle.partitions" not in script
    assert SECRET not in str(as_document(found))
    assert SECRET not in (tmp_path / PLAN_FILE).read_text()
    assert SECRET in (tmp_path / SPARK_PROPERTIES_FILE).read_text()


def test_sparks_acls_hold_for_yarn_and_for_the_page() -> None:
    assert acls_of({"spark.ui.view.acls": "ann"}) is None
    # YARN lets the owner in by itself.
    assert acls_of({"spark.acls.enable": "true"}) == Acls()
    properties = {
        "spark.acls.enable": "true", "spark.admin.acls": "root", "spark.ui.view.acls": "ann, bob",
        "spark.modify.acls": "cay", "spark.modify.acls.groups": "ops",
    }  # fmt: skip
    acls = acls_of(properties)
    assert acls == Acls(
        view_users=("root", "ann", "bob"), modify_users=("root", "cay"), modify_groups=("ops",)
    )  # fmt: skip


def test_skeins_own_server_lets_in_whom_the_acls_name(tmp_path: Path) -> None:
    shown = made(tmp_path, properties={"spark.acls.enable": "true", "spark.ui.view.acls": "ann"})
    acls = specification(shown).acls
    assert (acls.enable, acls.ui_users, acls.view_users, acls.modify_users) == (True, ["ann"], ["ann"], [])
    assert not specification(made(tmp_path)).acls.enable
