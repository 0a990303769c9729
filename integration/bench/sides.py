"""The two command lines that are compared: the same flags, the same program, the same jars on every host."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

import msgspec
import pyspark

from integration.cluster import Cluster
from integration.processes import ENDS_WITH_US
from integration.submitting import SPARK_SUBMIT, YARNSPEC

Side = Literal["yarnspec", "spark-submit"]
SIDES: tuple[Side, ...] = ("spark-submit", "yarnspec")

EXECUTORS = 2
# Both sides' heaps; both take Spark's own rule for the memory beside it.
FLAGS = (
    "--num-executors", str(EXECUTORS), "--executor-cores", "1", "--executor-memory", "1g", "--driver-memory", "1g",
)  # fmt: skip
CONFIGURATION = {
    "spark.eventLog.enabled": "true",
    "spark.eventLog.compress": "false",
    "spark.eventLog.rolling.enabled": "false",
    "spark.sql.shuffle.partitions": "4",
    "spark.ui.showConsoleProgress": "false",
}


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One command that ended well: its application, when the command was started and when it had ended."""

    application_id: str
    began_ms: int
    ended_ms: int


class RunFailedError(Exception):
    """A command of either side did not end well; the text has the end of what it said."""


def run(
    side: Side,
    cluster: Cluster,
    program: Path,
    arguments: Iterable[str],
    *,
    name: str,
    workspace: Path,
    timeout_s: float,
    py_files: Path | None = None,
    sizes: Sequence[str] = FLAGS,
) -> Run:
    """Submit the program and wait for its end.

    Raises:
        RunFailedError: it failed or took too long.
    """
    events = event_logs(workspace)
    events.mkdir(parents=True, exist_ok=True)
    flags = [*sizes, "--name", name]
    for key, value in (CONFIGURATION | {"spark.eventLog.dir": events.as_uri()}).items():
        flags += ["--conf", f"{key}={value}"]
    if py_files is not None:
        flags += ["--py-files", str(py_files)]
    command = [*ENDS_WITH_US, *beginning(side), *flags, str(program), *arguments]
    said = workspace / f"{name}.log"
    with said.open("wb") as stream:
        began_ms = _now_ms()
        try:
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, stdout=stream, stderr=stream, env=cluster.environment,
                cwd=workspace, timeout=timeout_s, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired as error:
            raise RunFailedError(f"{side} did not end within {timeout_s:g} s:\n{_end(said)}") from error
        ended_ms = _now_ms()
    if done.returncode != 0:
        raise RunFailedError(f"{side} ended with {done.returncode}:\n{_end(said)}")
    application_id = cluster.application_named(name)
    if application_id is None:
        raise RunFailedError(f"{side} ended, and YARN does not know its application:\n{_end(said)}")
    return Run(application_id=application_id, began_ms=began_ms, ended_ms=ended_ms)


def beginning(side: Side) -> list[str]:
    """How the side's command line begins: with this Python, and Spark's jars, on every host."""
    jars = Path(pyspark.__file__).parent / "jars"
    if side == "yarnspec":
        command = [YARNSPEC, "submit", "--spark-jars", str(jars)]
    else:
        python = ("env", f"PYSPARK_PYTHON={sys.executable}")
        command = [*python, SPARK_SUBMIT, "--conf", f"spark.yarn.jars=local:{jars}/*"]
    return [*command, "--master", "yarn", "--deploy-mode", "cluster"]


def event_logs(workspace: Path) -> Path:
    """Where both sides write Spark's event logs."""
    return workspace / "spark-events"


def _end(said: Path) -> str:
    return "\n".join(said.read_text(errors="replace").splitlines()[-20:])


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
