"""Paths that mean something on the cluster's hosts: Spark's jars, class paths, library paths."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

import msgspec

from yarnspec.errors import UsageError
from yarnspec.spark.variables import named_by_a_dollar, needs_a_shell

if TYPE_CHECKING:
    from collections.abc import Mapping

# Variables that YARN, Skein, a login or a cluster's scripts give to a container.
_OF_CONTAINERS = re.compile(
    r"PWD|HOME|PATH|USER|LOGNAME|TMPDIR|LANG|LC_\w+|LOG_DIRS?|LOCAL_DIRS|CONTAINER_ID|NM_\w+|CLASSPATH|PYTHONPATH"
    r"|LD_LIBRARY_PATH|LD_PRELOAD|JVM_PID|MALLOC_ARENA_MAX|(JAVA|HADOOP|YARN|SPARK|PYSPARK|HIVE|CONDA|SKEIN)_\w+|\w+_HOME"
)

READ_BY_YARN = "YARN_CONTAINER_RUNTIME_"
"""So begin variables that YARN reads before a container begins."""
_NO_AUTHORITY = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(/|///+)(?!/)")


class SparkJars(msgspec.Struct, frozen=True):
    """Where Spark's jars are: a directory that every host has, or an archive in the cluster's file system."""

    kind: Literal["directory", "archive"]
    location: str


def spark_jars(asked: str | None, given: Mapping[str, str], warnings: list[str]) -> SparkJars | None:
    """Choose: ``--spark-jars`` as asked, else spark.yarn.archive, else spark.yarn.jars, else None (pyspark's)."""
    text, flag = asked, "--spark-jars"
    if text is None and "spark.yarn.archive" in given:
        text, flag = given["spark.yarn.archive"], "spark.yarn.archive"
    if text is None and "spark.yarn.jars" in given:
        entries = [entry.strip() for entry in given["spark.yarn.jars"].split(",") if entry.strip()]
        if len(entries) == 1 and entries[0].startswith("local:/") and entries[0].endswith(("/*", "/*.jar")):
            return SparkJars("directory", _replace_gateway_path(given, _host_path(entries[0].rpartition("/")[0])))
        warnings.append(
            "spark.yarn.jars has no effect: it is not one local: directory; put one archive into HDFS and name it by "
            "--spark-jars"
        )
        return None
    if text is None:
        return None
    if text.startswith(("/", "local:/")) and not text.endswith((".zip", ".tgz", ".tar.gz", ".tar")):
        return SparkJars("directory", _replace_gateway_path(given, _host_path(text.rstrip("*").rstrip("/"))))
    if "://" in whole_uri(text) and not text.startswith(("file:", "local:")):
        return SparkJars("archive", whole_uri(text))
    raise UsageError(f"{flag} {text}: it is a directory that every host has (/opt/spark/jars) or an archive in HDFS")


def whole_uri(text: str) -> str:
    """``hdfs:/x`` and ``hdfs:////x`` as ``hdfs:///x``. Hadoop takes all three, Skein only the last."""
    found = _NO_AUTHORITY.match(text)
    return f"{found[1]}:///{text[found.end() :]}" if found else text


def _host_path(text: str) -> str:
    return text.removeprefix("local:").replace("///", "/", 1) if text.startswith("local:") else text


def class_path(given: Mapping[str, str], role: str) -> tuple[str, ...]:
    """List the user's entries for a JVM's class path: the extra ones before the default ones."""
    extra = cluster_paths(given, f"spark.{role}.extraClassPath")
    return (*extra, *cluster_paths(given, f"spark.{role}.defaultExtraClassPath"))


def cluster_paths(given: Mapping[str, str], key: str) -> list[str]:
    """Split a path list, with the paths of this machine replaced by the cluster's where the user says how."""
    return [_replace_gateway_path(given, entry) for entry in given.get(key, "").split(":") if entry]


def local_jars(given: Mapping[str, str], names: tuple[str, ...]) -> tuple[str, ...]:
    """Replace this machine's paths in the ``local:`` entries of a list of jars; leave the other entries alone."""
    return tuple(_replace_gateway_path(given, name) if name.startswith("local:") else name for name in names)


def left_to_a_shell(given: Mapping[str, str], environments: tuple[str, ...]) -> list[str]:
    """Name the values in which YARN's script would run a command or use an operator of the shell."""
    roles = ("driver", "executor")
    paths = tuple(f"spark.{role}.{name}" for role in roles for name in ("extraClassPath", "extraLibraryPath"))
    return [
        f"{key}: commands and operators of the shell in it stay as they are; $NAME, ${{NAME}}, {{{{NAME}}}}, <CPS> and "
        "<LOG_DIR> are replaced"
        for key, value in given.items()
        if key.startswith((*environments, *paths)) and needs_a_shell(value)
    ]


def unusual_references(prefix: str, variables: Mapping[str, str]) -> list[str]:
    """Name the variables whose values refer to one that containers hardly have: a password with a ``$``, perhaps."""
    return [
        f"{prefix}{name}: '$' and the letters behind it become a variable of the container, which may be empty; "
        r"write \$ for a dollar"
        for name, value in variables.items()
        if not all(other in variables or _OF_CONTAINERS.fullmatch(other) for other in named_by_a_dollar(value))
    ]


def _replace_gateway_path(given: Mapping[str, str], path: str) -> str:
    here, there = given.get("spark.yarn.config.gatewayPath"), given.get("spark.yarn.config.replacementPath")
    return path.replace(here, there) if here and there is not None else path
