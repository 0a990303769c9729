"""Faults that tests make: parts of an application are killed, processes are held for a while."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

from integration.cluster import Cluster
from integration.processes import ContainerProcess


def driver(cluster: Cluster, application: str) -> ContainerProcess:
    """The newest driver's JVM."""
    found = [each for each in cluster.processes(application) if each.what == "driver-jvm"]
    return max(found, key=lambda each: (each.container_id, each.pid))


def master(cluster: Cluster, application: str) -> list[ContainerProcess]:
    """All that runs in the newest application master's container: Skein, the negotiator, the driver and its program.

    Or Spark's own, with its driver.
    """
    found = cluster.processes(application)
    container = max(each.container_id for each in found if each.what in ("skein-am", "spark-am"))
    return [each for each in found if each.container_id == container]


def executors(cluster: Cluster, application: str) -> list[ContainerProcess]:
    """The executors that run."""
    return [each for each in cluster.processes(application) if each.what == "executor"]


def kill(victims: Iterable[ContainerProcess]) -> None:
    """End them all at once, the hard way."""
    send(signal.SIGKILL, [each.pid for each in victims])


def strike(cluster: Cluster, application: str, victim: str) -> None:
    """Kill the ``driver``, or the whole ``master``."""
    kill([driver(cluster, application)] if victim == "driver" else master(cluster, application))


def daemons(cluster: Cluster, *names: str) -> list[int]:
    """The processes of these daemons of the cluster: ``namenode``, ``nodemanager-HOST`` and so on."""
    listed = {daemon["name"]: int(daemon["pid"]) for daemon in cluster.mini.status()["daemons"]}
    return [listed[name] for name in names]


@contextlib.contextmanager
def held(pids: Iterable[int]) -> Iterator[None]:
    """Stop these processes meanwhile; they go on afterwards, those that live."""
    chosen = list(pids)
    send(signal.SIGSTOP, chosen)
    try:
        yield
    finally:
        send(signal.SIGCONT, chosen)


def send(number: signal.Signals, pids: Iterable[int]) -> None:
    """Send a signal to those of the processes that live."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def stacks(cluster: Cluster, process: ContainerProcess) -> str:
    """What the threads of a JVM are doing."""
    jcmd = Path(cluster.environment["JAVA_HOME"]) / "bin" / "jcmd"
    done = subprocess.run(
        [str(jcmd), str(process.pid), "Thread.print"], capture_output=True, text=True, timeout=30, check=False
    )
    return done.stdout
