"""The processes of a cluster's containers, read from /proc (every YARN process carries its CONTAINER_ID), and ours."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from pathlib import Path

from yarnspec.spark.runtime import DRIVER_MAIN

PROC = Path("/proc")

ENDS_WITH_US = ("setpriv", "--pdeathsig", "KILL")
"""Before a command that may go on for ever: it is killed when the thread that starts it ends, or is killed itself."""


@dataclass(frozen=True)
class ContainerProcess:
    """A process that runs in a container."""

    pid: int
    container_id: str
    command: tuple[str, ...]
    environment: dict[str, str]

    @property
    def application_id(self) -> str:
        """The application of its container: `container_[eEPOCH_]CLUSTER_NUMBER_ATTEMPT_CONTAINER`.

        Empty for a container of a unit test that runs at the same time.
        """
        return "_".join(["application", *parts[-4:-2]]) if len(parts := self.container_id.split("_")) > 4 else ""

    @property
    def host(self) -> str:
        """The host of its container."""
        return self.environment.get("NM_HOST", "")

    @property
    def what(self) -> str:
        """Which of the programs we know it is, by its command line."""
        line = " ".join(self.command)
        for mark, name in (
            ("CoarseGrainedExecutorBackend", "executor"),
            ("com.anaconda.skein.ApplicationMaster", "skein-am"),
            ("org.apache.spark.deploy.yarn.ApplicationMaster", "spark-am"),
            (DRIVER_MAIN, "driver-jvm"),
            ("yarnspec.am", "negotiator"),
            ("pyspark.daemon", "worker"),
        ):
            if mark in line and self.command[0].rsplit("/", 1)[-1] not in {"bash", "sh"}:
                return name
        return "shell" if self.command and self.command[0].rsplit("/", 1)[-1] in {"bash", "sh"} else "other"

    def kill(self) -> None:
        """End it the hard way."""
        os.kill(self.pid, signal.SIGKILL)


def container_processes(application_id: str | None = None, cluster_home: Path | None = None) -> list[ContainerProcess]:
    """The running processes of an application's containers, or of all containers of the cluster in this directory."""
    found = []
    for entry in PROC.iterdir():
        if not entry.name.isdigit():
            continue
        process = _read(entry)
        if process is None:
            continue
        if application_id is not None and process.application_id != application_id:
            continue
        if cluster_home is not None and str(cluster_home) not in process.environment.get("LOCAL_DIRS", ""):
            continue
        found.append(process)
    return found


def _read(entry: Path) -> ContainerProcess | None:
    try:
        raw_environment = (entry / "environ").read_bytes()
        if b"CONTAINER_ID=" not in raw_environment:
            return None
        command = (entry / "cmdline").read_bytes().decode(errors="replace").rstrip("\0").split("\0")
    except OSError:  # it has ended, or belongs to somebody else
        return None
    if command == [""]:  # a zombie
        return None
    pairs = (pair.partition("=") for pair in raw_environment.decode(errors="replace").split("\0"))
    environment = {name: value for name, _, value in pairs}
    container_id = environment.get("CONTAINER_ID", "")
    if not container_id.startswith("container_"):
        return None
    return ContainerProcess(int(entry.name), container_id, tuple(command), environment)
