"""The Python of the program and the workers: by ``--environment``, Spark's properties, or the shell's variables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from yarnspec.errors import UsageError
from yarnspec.gateway.translation.files.shipping import Hold, resolve
from yarnspec.plan import ENVIRONMENT_LINK

if TYPE_CHECKING:
    from collections.abc import Mapping

_ARCHIVE_ENDINGS = (".tar.gz", ".tgz", ".tar", ".zip")


class Environment(msgspec.Struct, frozen=True, kw_only=True):
    """The value of ``--environment``: a Python, and a shell line to run before it if it needs one.

    An archive is shipped and unpacked as ``environment`` in each container's directory; its Python is named relative
    to that directory. All others are on every host already.
    """

    kind: Literal["archive", "python", "venv", "conda"]
    python: str
    activate: str | None = None


class PythonChoice(msgspec.Struct, frozen=True, kw_only=True):
    """The driver's and the workers' Python, or None where nobody chose one."""

    driver: str | None = None
    workers: str | None = None
    environment: Environment | None = None


def read_environment(text: str, hold: Hold) -> Environment:
    """Read dask-yarn's forms (``python://``, ``venv://``, ``conda://``, else a packed archive, which is loaded)."""
    scheme, separator, rest = text.partition("://")
    if not separator or scheme not in ("python", "venv", "conda"):
        return _archive(text, hold)
    rest = rest.rstrip("/") if scheme != "python" else rest
    if not rest or any(letter in rest for letter in "'\"$`\\\n"):
        raise UsageError(f"--environment {text}: write {scheme}:// and a path that every host has")
    if scheme == "python":
        return Environment(kind="python", python=rest)
    if scheme == "venv" and not rest.startswith("/"):
        raise UsageError(f"--environment {text}: write venv:// and an absolute path, like venv:///opt/venv")
    if scheme == "conda" and "/" not in rest:
        # Only conda on that host knows where an environment of this name is.
        activate = f"eval \"$(conda shell.bash hook)\" && conda activate '{rest}'"
        return Environment(kind="conda", python="python", activate=activate)
    return Environment(kind="venv" if scheme == "venv" else "conda", python=f"{rest}/bin/python")


def _archive(text: str, hold: Hold) -> Environment:
    if "#" in text:
        raise UsageError(f"--environment {text}: leave out '#…'; in the containers it is always '{ENVIRONMENT_LINK}'")
    found = resolve(text, "--environment")
    if len(found) != 1:
        raise UsageError(f"--environment {text}: name one archive")
    if found[0].place not in ("gateway", "cluster") or not found[0].file_name().endswith(_ARCHIVE_ENDINGS):
        raise UsageError(
            f"--environment {text}: it is python://…, venv://…, conda://…, or an archive on this machine or in HDFS "
            f"({', '.join(_ARCHIVE_ENDINGS)})"
        )
    hold.load(found[0], "--environment", "ARCHIVE", executors=True, link=ENVIRONMENT_LINK)
    return Environment(kind="archive", python=f"{ENVIRONMENT_LINK}/bin/python")


def choose(
    environment: Environment | None,
    properties: Mapping[str, str],
    driver_environment: Mapping[str, str],
    environ: Mapping[str, str],
    *,
    client_mode: bool,
    warnings: list[str],
) -> PythonChoice:
    """Choose by Spark's order, with ``--environment`` between what was set for this submit and what a shell exports.

    The order: spark.pyspark.driver.python, spark.pyspark.python; PYSPARK_DRIVER_PYTHON, PYSPARK_PYTHON as
    spark.yarn.appMasterEnv.*; --environment; the two variables of this shell.

    In client mode Spark's driver runs on this machine, and yarnspec's in a container. A driver's Python that only this
    machine can be meant to have is left out there, with a warning.
    """
    given = environment.python if environment else None
    workers = (
        properties.get("spark.pyspark.python")
        or driver_environment.get("PYSPARK_PYTHON")
        or given
        or environ.get("PYSPARK_PYTHON")
        or None
    )
    # Each with what the driver runs if it is left out.
    of_property = properties.get("spark.pyspark.driver.python")
    of_submit = (
        properties.get("spark.pyspark.python")
        or driver_environment.get("PYSPARK_DRIVER_PYTHON")
        or driver_environment.get("PYSPARK_PYTHON")
        or given
    )
    of_shell = environ.get("PYSPARK_DRIVER_PYTHON")
    asked, name = (of_property, "spark.pyspark.driver.python") if of_property else (None, "")
    if not asked and not of_submit and of_shell:
        asked, name = of_shell, "PYSPARK_DRIVER_PYTHON"
    otherwise = of_submit or workers
    if asked and client_mode and _is_of_this_machine(asked, workers):
        if asked != otherwise:
            warnings.append(
                f"{name}={asked} is not used: it names this machine's Python, and the driver runs in a container, with "
                f"{otherwise or 'the Python that runs yarnspec'}. Set PYSPARK_PYTHON to "
                "choose another one. To use this one on the container's host: --deploy-mode cluster"
            )
        asked = None
    return PythonChoice(driver=asked or otherwise, workers=workers, environment=environment)


def _is_of_this_machine(python: str, workers: str | None) -> bool:
    """Tell whether a driver's Python can only be meant for the machine of the submit.

    A mere name is looked up on the PATH of whoever submits. If
    the workers' Python comes with the application (a path in the container), the hosts need not have any other. Then
    an absolute path is this machine's as well.
    """
    if "/" not in python:
        return True
    return python.startswith("/") and workers is not None and "/" in workers and not workers.startswith("/")
