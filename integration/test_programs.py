"""What programs do in their code and bring along: masters, configuration, files, environments, dynamic allocation."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from integration.cluster import Cluster
from integration.conftest import Submit, Yarnspec
from integration.quickjvm import QUICK_TEXT
from integration.submitting import ONE_EXECUTOR, PROGRAMS, dynamic
from integration.waiting import PATIENCE, wait_for

LOGGING = """\
rootLogger.level = info
rootLogger.appenderRef.stderr.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = LOGGED %p %c: %m%n
"""
AGENT = """\
public class Agent {
    public static void premain(String word) throws java.io.IOException {
        java.nio.file.Files.writeString(java.nio.file.Path.of("agent.txt"), word);
    }
}
"""


def test_a_master_in_the_code(submit: Submit, cluster: Cluster) -> None:
    """`yarn` runs as ours, without a second application; `local[2]` ends with exit 1 and the line, before a task.

    The program replaces its process first: no exec may lose the hook.
    """
    before = len(cluster.applications())
    ours = submit("master_in_code.py", "yarn", options=[*ONE_EXECUTOR])
    foreign = submit("master_in_code.py", "local[2]", options=[*ONE_EXECUTOR])
    result = ours.wait().expect(0)
    assert ours.application_id() in result.stdout
    assert "master yarn application" in result.stdout
    assert "tasks 2" in result.stdout
    refused = foreign.wait().expect(1)
    assert "local[2]" in refused.stderr
    assert re.search(r"master_in_code\.py\D+\d+", refused.stderr)
    assert "tasks" not in refused.stdout
    assert len(cluster.applications()) == before + 2


def test_an_owned_key_is_kept_and_the_override_is_reported(submit: Submit, yarnspec: Yarnspec) -> None:
    """The program sets a key that yarnspec owns: it runs on, and a warning names the key.

    The number and the size of executors that it sets win over the submit's, as in Spark. Its next context has others.
    """
    key = "spark.submit.deployMode"
    late = "spark.executor.extraJavaOptions"
    instances = "spark.executor.instances"
    size = ["spark.executor.memory=471m", "spark.executor.cores=2"]
    changes = [f"{key}=cluster", f"{late}=-Dx=1", "spark.sql.shuffle.partitions=3", f"{instances}=2", *size]
    again = ["spark.executor.memory=500m", "spark.executor.cores=1"]
    submission = submit("overrides.py", *changes, "--", *again, options=[*ONE_EXECUTOR])
    result = submission.wait().expect(0)
    assert result.stdout == "counted 10\nsizes -Xmx471m --cores 2\ncounted 10\nsizes -Xmx500m --cores 1\n"
    status = yarnspec("status", submission.application_id(), "-o", "json").expect(0).document
    assert (status["usual_executor"]["memory_mb"], status["usual_executor"]["cores"]) == (500 + 384, 1)
    assert key in result.stderr
    assert re.search(rf"overrides\.py:\d+ sets {late} too late", result.stderr)
    assert "spark.sql.shuffle.partitions" not in result.stderr
    assert instances not in result.stderr
    assert "spark.executor.memory" not in result.stderr
    assert "executors: 2 of 2 run" in result.stderr


def test_shipped_files_modules_archives_and_a_packed_environment(
    submit: Submit, yarnspec: Yarnspec, cluster: Cluster, tmp_path: Path
) -> None:
    """--files, --py-files, --archives, --jars, spark.executorEnv.*, and a Python from an archive that is unpacked.

    The paths have blanks, brackets and letters, and Python's packages come in every form. The jar is beside each JVM
    when that starts, and is its agent. Meanwhile `doctor` tries out the same archive.
    """
    here = tmp_path / "apps of the day [1]"
    here.mkdir()
    program = here / "report (v2) número.py"
    shutil.copy(PROGRAMS / "shipped.py", program)
    (here / "some palabras (ñ).txt").write_text("some words\n")
    (here / "shipped_module.py").write_text("def greeting():\n    return 'hello'\n")
    inside = tmp_path / "inside.txt"
    inside.write_text("in the box\n")
    with tarfile.open(here / "caja (ñ).tar.gz", "w:gz") as box:
        box.add(inside, "deep/inside.txt")
    with tarfile.open(here / "environment.tar.gz", "w:gz") as packed:
        packed.add(_small_environment(tmp_path / "packed"), ".")
    far = f"/wheels of {os.getpid()}/far (1).whl"
    cluster.hdfs_write(far, _package_file(tmp_path / "far.whl", "far").read_bytes())
    _unpacked_package(here / "source [2]", "in_directory")
    python_files = [
        here / "shipped_module.py",
        _package_file(here / "first-1.0-py3-none-any.whl", "in_wheel"),
        _package_file(here / "más [1].zip", "in_zip", sitecustomize="import builtins\nbuiltins.CUSTOMIZED = True\n"),
        here / "source [2]",
        f"{cluster.mini.default_fs}{quote(far)}",
    ]
    options = [
        *ONE_EXECUTOR,
        *("--files", f"{(here / 'some palabras (ñ).txt').as_uri()}#words.txt"),
        *("--py-files", ",".join(str(path) for path in python_files)),
        *("--archives", f"{here / 'caja (ñ).tar.gz'}#box"),
        *("--jars", str(_java_agent(here / "agent.jar"))),
        *("--conf", f"spark.driver.extraJavaOptions={QUICK_TEXT} -javaagent:agent.jar=driver"),
        *("--conf", f"spark.executor.extraJavaOptions={QUICK_TEXT} -javaagent:agent.jar=executor"),
        *("--conf", "spark.executorEnv.YARNSPEC_TEST_MARK=executor"),
        *("--conf", "spark.yarn.appMasterEnv.YARNSPEC_TEST_MARK=driver"),
    ]
    packages = ["in_wheel", "in_zip", "in_directory", "far", "everywhere"]
    environment = ["--environment", str(here / "environment.tar.gz")]
    shipped = submit(str(program), *packages, options=[*options, *environment])

    def tried_out() -> dict[str, Any] | None:
        checks = yarnspec("doctor", *environment, "-o", "json").expect(0).document["checks"]
        (python,) = (check for check in checks if check["name"] == "Python on hosts")
        assert python["state"] in {"ok", "warning"}, python
        return python if python["state"] == "ok" else None

    python = wait_for("a host that is not too slow to start it", tried_out, 60)
    assert python["found"].startswith("yarnspec-environment/bin/python on 127.0.0.")
    (report,) = shipped.wait().expect(0).lines
    assert report["program"] == program.name
    for where, mark in (("driver", "driver"), ("task", "executor")):
        seen = report[where]
        assert seen["module"] == "hello"
        found = {name: f"data of {name}" for name in packages}
        assert seen["packages"] == found | {"everywhere": "data of in_wheel"}  # the first in the order of the list
        assert seen["words"] == "some words\n"
        assert seen["box"] == ["deep/inside.txt"]
        assert seen["mark"] == seen["agent"] == mark
        assert seen["customized"]
        # The Python is the copy in the container, not the one that was packed.
        assert str(tmp_path) not in seen["prefix"]
        assert "environment" in seen["prefix"]
        assert "/" in seen["python"]
    assert report["driver"]["container"] != report["task"]["container"]


def test_arguments_variables_and_the_class_path(
    submit: Submit, yarnspec: Yarnspec, cluster: Cluster, tmp_path: Path
) -> None:
    """All of it in containers whose locale has only ASCII, as YARN and Spark promise it to a program.

    Hadoop's commands that the program starts work too.
    """
    (tmp_path / "any.properties").write_text("größe=3\n")
    (tmp_path / "core-site.xml").write_text(
        "<configuration><property><name>mine</name><value>yes</value></property></configuration>"
    )
    (tmp_path / "log4j2.properties").write_text(LOGGING)
    value = r"{{PWD}}/ü<CPS>$NM_HOST `date` $(date) \$"
    given = {
        "spark.yarn.appMasterEnv.LC_ALL": "C",
        "spark.executorEnv.LC_ALL": "POSIX",
        "spark.executorEnv.SPARK_HOME": "/dev/null",  # as old recipes have it
        "spark.yarn.appMasterEnv.MINE": value,
        "spark.yarn.appMasterEnv.YARN": str(cluster.mini.home.bin / "yarn"),
        "spark.executorEnv.MINE": value,
        "spark.executorEnv.PYTHONPATH": "{{PWD}}/a.zip<CPS>{{PWD}}/b.zip",
    }
    files = ",".join(str(tmp_path / name) for name in ("any.properties", "core-site.xml", "log4j2.properties"))
    options = [*ONE_EXECUTOR, "--files", files, *(f"--conf={key}={text}" for key, text in given.items())]
    arguments = ("größe=3", os.fsdecode(b"caf\xe9"), "", "$HOME {{PWD}}")
    submission = submit("arrives.py", *arguments, options=options)
    result = submission.wait().expect(0)
    (report,) = result.lines
    assert [bytes.fromhex(argument) for argument in report["arguments"]] == [os.fsencode(one) for one in arguments]
    for where in ("driver", "task"):
        seen = report[where]
        host = seen["NM_HOST"]
        assert host
        assert seen["MINE"] == f"{seen['PWD']}/ü:{host} `date` $(date) $"
    here = report["task"]["PWD"]
    assert {f"{here}/a.zip", f"{here}/b.zip"} <= set(report["task"]["PYTHONPATH"].split(":"))
    assert report["resource"] == f"file:{report['driver']['PWD']}/any.properties"
    assert report["hadoop"]["mine"] == "yes"
    assert report["hadoop"]["fs.defaultFS"].startswith("hdfs://")
    assert report["read"] == ["größe=3"]
    application = submission.application_id()
    assert application in report["yarn"]
    for role in ("driver", "executor"):
        assert "LOGGED INFO" in yarnspec("logs", application, "--role", role).expect(0).stdout


@pytest.mark.one_a_day("whole programs")
def test_a_virtual_environment_on_the_hosts_and_one_of_pysparks_recipe(submit: Submit, tmp_path: Path) -> None:
    """--environment venv://PATH runs yarnspec; the program runs in what it brings along, as PySpark's page says."""
    place = _small_environment(tmp_path / "venv")
    (tmp_path / "words.txt").write_text("words")
    (tmp_path / "shipped_module.py").write_text("def greeting():\n    return 'hello'\n")
    with tarfile.open(tmp_path / "packed.tar.gz", "w:gz") as packed:
        packed.add(_small_environment(tmp_path / "packed"), ".")
    options = [
        *ONE_EXECUTOR,
        *("--files", str(tmp_path / "words.txt"), "--py-files", str(tmp_path / "shipped_module.py")),
        *("--environment", f"venv://{place}", "--archives", f"{tmp_path / 'packed.tar.gz'}#environment"),
        *("--conf", "spark.pyspark.driver.python=python", "--conf", "spark.pyspark.python=./environment/bin/python"),
    ]
    result = submit("shipped.py", options=["--master", "yarn-client", *options]).wait().expect(0)
    (report,) = result.lines
    for where in ("driver", "task"):
        assert Path(report[where]["prefix"]) == Path(report[where]["directory"]) / "environment"
    assert "spark.pyspark.driver.python=python is not used" in result.stderr
    assert "--master yarn --deploy-mode client" in result.stderr


@pytest.mark.one_a_day("executors of all kinds")
@pytest.mark.timeout(540)
def test_dynamic_allocation(submit: Submit, yarnspec: Yarnspec, cluster: Cluster, tmp_path: Path) -> None:
    """Executors come with the load, go when idle, and come again, no more than `scale` allows by then.

    Each is on a host that has no other.
    """
    few = {"spark.dynamicAllocation.initialExecutors": "1", "spark.dynamicAllocation.maxExecutors": "3"}
    scaled = tmp_path / "scaled"
    job = submit("dynamic.py", str(scaled), options=dynamic(**few), small=False)
    application = job.application_id()

    def executing() -> bool:
        told = yarnspec("status", application, "-o", "json")
        return told.exit_code == 0 and (told.document["resources"] or {}).get("phase") == "executing"

    wait_for("the job", executing, 90)
    assert "bounds are final" in yarnspec("scale", application, "--min", "1", "--max", "4").stderr
    yarnspec("scale", application, "--min", "1", "--max", "2").expect(0)
    scaled.touch()
    (line,) = job.wait(150).expect(0).lines
    assert line["idle"] == 1
    launched = cluster.launched(application)
    for used in (line["used"], line["used_again"]):
        assert len(used) > 1
        assert used.items() <= launched.items()
        assert len(set(used.values())) == len(used)
    assert len(line["used_again"]) == 2


def _java_agent(jar: Path) -> Path:
    """A Java agent that writes the word it is given into `agent.txt` before its JVM runs anything else."""
    source = jar.with_name("Agent.java")
    source.write_text(AGENT)
    compiler = shutil.which("javac")
    assert compiler, "a JDK is needed"
    subprocess.run([compiler, str(source)], check=True, timeout=60 * PATIENCE)
    with zipfile.ZipFile(jar, "w") as packed:
        packed.writestr("META-INF/MANIFEST.MF", "Premain-Class: Agent\n")
        packed.write(source.with_suffix(".class"), "Agent.class")
    return jar


def _small_environment(place: Path) -> Path:
    """A virtual environment of a few kilobytes that can be moved: it finds the packages where this one has them."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(place)], check=True, timeout=60 * PATIENCE)
    packages = place / "lib" / f"python3.{sys.version_info.minor}" / "site-packages"
    here = [path for path in sys.path if path.endswith("site-packages")]
    lines = [f"import site; site.addsitedir({path!r})" for path in here]
    (packages / "from-here.pth").write_text("\n".join(lines) + "\n")
    return place


def _unpacked_package(directory: Path, name: str) -> None:
    (directory / name).mkdir(parents=True)
    (directory / name / "__init__.py").write_text("")
    (directory / name / "data.txt").write_text(f"data of {name}")


def _package_file(archive: Path, name: str, **modules: str) -> Path:
    """A zip file or a wheel with a package and another that each has, a file of data in both, and these modules."""
    with zipfile.ZipFile(archive, "w") as packed:
        for package in (name, "everywhere"):
            packed.writestr(f"{package}/__init__.py", "")
            packed.writestr(f"{package}/data.txt", f"data of {name}")
        for module, text in modules.items():
            packed.writestr(f"{module}.py", text)
    return archive
