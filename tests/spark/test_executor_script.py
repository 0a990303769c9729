"""The executors' launch script, run by bash with a ``java`` that tells how it was started."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

import pytest

from tests.spark.plain_plan import keeping, plan
from yarnspec.core.messages.events import ExecutorProfile
from yarnspec.plan import EXECUTOR_VARIABLES_FILE, JAR_FILE, SPARK_JARS_LINK, SPARK_SECRET_FILE, Plan
from yarnspec.spark.executor import container_environment, launch_script
from yarnspec.spark.variables import export_script

JAVA = """#!/bin/bash
printf '%s\\n' "$@" > "$PWD/arguments"
env > "$PWD/environment"
ls -A > "$PWD/seen"
"""


class Container:
    """An executor's container, as YARN and Skein make it."""

    def __init__(self, directory: Path) -> None:
        self.work = directory / "work"
        self.cache = directory / "filecache"
        jdk = directory / "jdk" / "bin"
        for each in (self.work, self.cache, jdk):
            each.mkdir(parents=True)
        (jdk / "java").write_text(JAVA)
        (jdk / "java").chmod(0o755)
        for name in (".skein.crt", ".skein.pem", SPARK_SECRET_FILE):
            (self.cache / name).write_text("s3cret" if name == SPARK_SECRET_FILE else "key")
            (self.work / name).symlink_to(self.cache / name)
        (self.work / EXECUTOR_VARIABLES_FILE).write_text("")
        self.environment = {
            "PATH": os.environ["PATH"],
            "JAVA_HOME": str(jdk.parent),
            "NM_HOST": "127.0.0.3",
            "NM_HTTP_PORT": "8042",
            "CONTAINER_ID": "container_7",
            "LOG_DIRS": "/logs/a,/logs/b",
            "SKEIN_APPLICATION_ID": "application_1_0001",
            "SPARK_HOME": "/spark",
        }

    def start(
        self, made: Plan, port: int, *, driver: int = 0, authenticate: bool = True, options: tuple[str, ...] = ()
    ) -> subprocess.Popen[str]:
        script = launch_script(made, authenticate=authenticate, network_options=options)
        (self.work / "script").write_text(script)
        assert "s3cret" not in script
        return subprocess.Popen(
            ["bash", "script"],
            cwd=self.work,
            env=self.environment | container_environment("7", f"127.0.0.1:{driver or port}", f"127.0.0.1:{port}", 2),
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, made: Plan, *, authenticate: bool = True, options: tuple[str, ...] = ()) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listening:
            process = self.start(made, listening.getsockname()[1], authenticate=authenticate, options=options)
            _, said = process.communicate(timeout=30)
        assert process.returncode == 0, said

    @property
    def arguments(self) -> list[str]:
        return (self.work / "arguments").read_text().splitlines()

    @property
    def seen(self) -> dict[str, str]:
        lines = (self.work / "environment").read_text().splitlines()
        return dict(line.split("=", 1) for line in lines if "=" in line)


@pytest.fixture
def container(tmp_path: Path) -> Container:
    return Container(tmp_path)


def test_the_key_pair_is_gone_before_java_starts(container: Container) -> None:
    container.run(plan())
    assert ".skein" not in (container.work / "seen").read_text()
    assert [path.name for path in container.cache.iterdir()] == [SPARK_SECRET_FILE]


def test_the_secret_is_in_the_environment_of_java_and_nowhere_else(container: Container) -> None:
    container.run(plan())
    assert container.seen["_SPARK_AUTH_SECRET"] == "s3cret"
    assert "s3cret" not in " ".join(container.arguments)
    assert "-Dspark.authenticate=true" in container.arguments
    assert "s3cret" not in " ".join(container_environment("7", "h:1", "h:2", 2).values())


def test_without_authentication(container: Container) -> None:
    container.run(plan(), authenticate=False)
    assert "_SPARK_AUTH_SECRET" not in container.seen
    assert "-Dspark.authenticate=true" not in container.arguments


def test_a_stock_executor_of_this_driver(container: Container) -> None:
    container.run(plan(executor_java_options=("-XX:ActiveProcessorCount=2",)), options=("-Dspark.network.timeout=5 s",))
    arguments = container.arguments
    main = arguments.index("org.apache.spark.executor.CoarseGrainedExecutorBackend")
    driver = arguments[main + 2]
    assert driver.startswith("spark://CoarseGrainedScheduler@127.0.0.1:")
    assert arguments[main + 1 :] == [
        *["--driver-url", driver, "--executor-id", "7", "--bind-address", "127.0.0.3", "--hostname", "127.0.0.3"],
        *["--cores", "2", "--app-id", "application_1_0001", "--resourceProfileId", "0"],
    ]
    assert "-Xmx1024m" in arguments
    assert "-XX:ActiveProcessorCount=2" in arguments
    assert "-Dspark.network.timeout=5 s" in arguments
    assert "-Dspark.yarn.app.container.log.dir=/logs/a" in arguments
    assert f"-Djava.io.tmpdir={container.work}/tmp" in arguments
    assert (container.work / "tmp").is_dir()
    assert arguments[arguments.index("-cp") + 1].endswith(":/spark/jars/*")
    assert container.seen["SPARK_LOCAL_IP"] == "127.0.0.3"
    assert container.seen["SPARK_LOG_URL_STDERR"] == (
        "http://127.0.0.3:8042/node/containerlogs/container_7/me/executor.log?start=-4096"
    )
    assert container.seen["SPARK_EXECUTOR_ATTRIBUTE_CONTAINER_ID"] == "container_7"
    assert container.seen["PYSPARK_PYTHON"] == "/venv/bin/python"


def test_an_executor_of_a_resource_profile_has_its_size(container: Container) -> None:
    profile = ExecutorProfile(id=3, count=1, memory_mb=4096, heap_mb=3000, cores=4)
    container.environment |= container_environment("7", "h:1", "h:2", 2, profile)
    container.run(plan(executor_java_options=("-XX:ActiveProcessorCount=2",)))
    arguments = container.arguments
    assert "-Xmx3000m" in arguments
    assert "-XX:ActiveProcessorCount=4" in arguments
    assert arguments[arguments.index("--cores") + 1] == "4"
    assert arguments[-2:] == ["--resourceProfileId", "3"]


def test_references_in_the_users_environment_and_nothing_else_are_replaced(container: Container) -> None:
    nasty = 'it\'s "$NM_HOST" `date` $(date) \\ end'
    mine = {"MINE": nasty, "ALL": "{{PWD}}/a.zip<CPS>$MINE", "PATH": "/opt/bin:$PATH", "HERE": "<LOG_DIR> ü"}
    (container.work / EXECUTOR_VARIABLES_FILE).write_text(export_script(mine))
    option = r"""-Dx=a b'c ${arg.2} "arg3" 'arg4' $arg5 \arg6"""
    container.run(plan(executor_java_options=(option,), executor_class_path=("{{PWD}}/x.jar", "/$(date)")))
    replaced = nasty.replace("$NM_HOST", "127.0.0.3")
    assert container.seen["MINE"] == replaced
    assert container.seen["ALL"] == f"{container.work}/a.zip:{replaced}"
    assert container.seen["PATH"] == f"/opt/bin:{container.environment['PATH']}"
    assert container.seen["HERE"] == "/logs/a ü"
    assert option in container.arguments
    class_path = container.arguments[container.arguments.index("-cp") + 1]
    assert class_path.startswith(f"{container.work}/x.jar:/$(date):{container.work}:")


@pytest.mark.parametrize(
    ("given", "seen"),
    [
        ({"LC_ALL": "POSIX"}, ("C.UTF-8", "C.UTF-8")),
        ({"LANG": "C"}, ("C.UTF-8", None)),
        ({"LANG": "not_installed.UTF-8"}, ("C.UTF-8", None)),
        ({"LC_ALL": "C.UTF-8"}, (None, "C.UTF-8")),
    ],
)
def test_a_jvm_is_started_in_a_locale_with_all_letters(
    container: Container, given: dict[str, str], seen: tuple[str | None, str | None]
) -> None:
    container.environment |= given
    container.run(plan())
    assert (container.seen.get("LC_CTYPE"), container.seen.get("LC_ALL")) == seen


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("where", [SPARK_JARS_LINK, "/opt/spark/jars"])
def test_sparks_jars_from_where_the_user_says(container: Container, where: str, kept: bool) -> None:
    container.run(plan(spark_jars=where, executor_class_path=("/opt/extra",), options=keeping(kept)))
    class_path = container.arguments[container.arguments.index("-cp") + 1].split(":")
    assert class_path[:2] == ["/opt/extra", str(container.work)]
    # What keeps an executor's files is in our jar; without it executors are Spark's alone.
    assert class_path[2:-2] == ([f"{container.work}/{JAR_FILE}"] if kept else [])
    assert class_path[-1] == (f"{container.work}/{where}/*" if where == SPARK_JARS_LINK else f"{where}/*")


def test_sparks_home_is_the_pyspark_of_our_python(container: Container, tmp_path: Path) -> None:
    del container.environment["SPARK_HOME"]
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho /site-packages/pyspark\n")
    python.chmod(0o755)
    container.run(plan(python=str(python)))
    assert container.seen["SPARK_HOME"] == "/site-packages/pyspark"


def test_a_users_spark_home_leads_to_no_other_spark(container: Container) -> None:
    (container.work / EXECUTOR_VARIABLES_FILE).write_text(export_script({"SPARK_HOME": "/dev/null"}))
    container.run(plan())
    assert container.arguments[container.arguments.index("-cp") + 1].endswith(":/spark/jars/*")
    assert container.seen["SPARK_HOME"] == "/spark"


def test_activation_may_read_variables_that_are_not_set(container: Container) -> None:
    container.run(plan(activate='export ACTIVATED="yes$NOT_SET"'))
    assert container.seen["ACTIVATED"] == "yes"


@pytest.mark.parametrize("first", ["driver", "gate"])
def test_it_waits_until_the_driver_listens_and_is_ready(container: Container, first: str) -> None:
    with socket.socket() as gate, socket.socket() as driver:
        for each in (gate, driver):
            each.bind(("127.0.0.1", 0))
        (driver if first == "driver" else gate).listen()
        process = container.start(plan(), gate.getsockname()[1], driver=driver.getsockname()[1])
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.5)
        assert not (container.work / "arguments").exists()
        (gate if first == "driver" else driver).listen()
        process.communicate(timeout=30)
    assert process.returncode == 0
    assert f"spark://CoarseGrainedScheduler@127.0.0.1:{driver_port(container)}" in container.arguments


def driver_port(container: Container) -> str:
    """Where the executor was told to look for its driver."""
    return container.arguments[container.arguments.index("--driver-url") + 1].rpartition(":")[2]


def test_a_driver_that_is_never_ready_is_named(container: Container, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("yarnspec.spark.executor._DRIVER_WAIT_S", 0)
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        process = container.start(plan(), port)
        _, said = process.communicate(timeout=30)
    assert process.returncode == 1
    assert f"the driver at 127.0.0.1:{port} was not ready" in said


def test_what_differs_between_containers_needs_no_quoting() -> None:
    assert container_environment("7", "host:4711", "host:4712", 2) == {
        "YARNSPEC_EXECUTOR_ID": "7",
        "YARNSPEC_DRIVER_ADDRESS": "host:4711",
        "YARNSPEC_DRIVER_GATE": "host:4712",
        "YARNSPEC_EPOCH": "2",
    }
