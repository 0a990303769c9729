"""Spark's JVMs start in two thirds of the CPU time with an archive of their classes (Java's class data sharing).

It is made once for each Java and Spark, by a local Spark, and kept in the cache beside the mini cluster's jars. Java
checks itself that it fits a class path, and goes on without when it does not: only speed depends on it.
"""

from __future__ import annotations

import functools
import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from yarnspec.minicluster.hadoop.home import cache_directory
from yarnspec.minicluster.machine.java import find_java_home
from yarnspec.minicluster.machine.locks import locked
from yarnspec.spark.runtime import MODULE_OPTIONS, driver_class_path, spark_home

QUICK = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""JVMs that live for some seconds do better without the second compiler and threads for collecting garbage."""
QUICK_TEXT = " ".join(QUICK)
MAKING_TIMEOUT_S = 300
PROGRAM = Path(__file__).parent / "programs" / "warms.py"


def class_path() -> str:
    """What has to stand first on the class path of a JVM that uses the archive: Spark's jars."""
    return f"{_directory() / 'jars'}/*"


@functools.cache
def options() -> tuple[str, ...]:
    """Java options for a driver or an executor; the archive is made when it is missing."""
    archive = _directory() / "spark.jsa"
    if not archive.is_file():
        _make(archive)
    # Whatever Java has to say about the archive is not the program's output.
    quiet = ("-Xlog:disable", "-Xlog:all=warning:stderr")
    mapped = ("-XX:+UnlockDiagnosticVMOptions", "-XX:ArchiveRelocationMode=0")  # as it is, so without reading all of it
    return (f"-XX:SharedArchiveFile={archive}", *mapped, *quiet) if archive.is_file() else ()


def spark_defaults(directory: Path) -> Path:
    """Write a ``SPARK_CONF_DIR`` with which drivers and executors use the archive."""
    directory.mkdir(parents=True, exist_ok=True)
    java_options = " ".join(options())
    lines = [
        f"spark.{role}.{key} {value}\n"
        for role in ("driver", "executor")
        for key, value in (("extraClassPath", class_path()), ("defaultJavaOptions", java_options))
    ]
    (directory / "spark-defaults.conf").write_text("".join(lines) if java_options else "")
    return directory


def _make(archive: Path) -> None:
    """Run a local Spark that leaves the archive at its end."""
    with locked(archive.with_suffix(".lock"), timeout_s=2 * MAKING_TIMEOUT_S, doing="archiving Spark's classes"):
        if not archive.is_file():
            _make_alone(archive)


def _make_alone(archive: Path) -> None:
    _link_jars()
    with tempfile.TemporaryDirectory(dir=archive.parent) as scratch:
        made = Path(scratch) / archive.name
        command = [
            str(find_java_home() / "bin" / "java"), "-Xmx512m", *MODULE_OPTIONS, *QUICK,
            f"-XX:ArchiveClassesAtExit={made}", "-cp", class_path(),
            "org.apache.spark.deploy.SparkSubmit", "--master", "local[1]",
            "--conf", f"spark.pyspark.python={sys.executable}", str(PROGRAM), str(Path(scratch) / "table"),
        ]  # fmt: skip
        environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_CONF_DIR": scratch}
        try:
            subprocess.run(
                command, env=environment, cwd=scratch, capture_output=True, timeout=MAKING_TIMEOUT_S, check=True
            )
            made.rename(archive)
        except (OSError, subprocess.SubprocessError) as error:
            print(f"Spark's JVMs start without an archive of their classes: {error}", file=sys.stderr)


def _link_jars() -> None:
    """An archive fits a class path that begins with the very jars it was made from; these are the driver's."""
    links = _directory() / "jars"
    links.mkdir(parents=True, exist_ok=True)
    for jar in map(Path, driver_class_path(spark_home() / "jars")):
        (links / jar.name).unlink(missing_ok=True)
        (links / jar.name).symlink_to(jar)


@functools.cache
def _directory() -> Path:
    release = (find_java_home() / "release").read_bytes()
    key = hashlib.sha256(f"{find_java_home()}\n{spark_home()}\n{MODULE_OPTIONS}".encode() + release).hexdigest()[:12]
    return cache_directory() / f"spark-classes-{key}"
