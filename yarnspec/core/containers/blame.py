"""Finds out whose fault a container's end was, from its exit code, its host's state and YARN's diagnostics.

For every executor that ends by the application's fault Spark counts a task failure, and after a few it gives up. An
executor that the cluster took away must cost nothing.
"""

from __future__ import annotations

import msgspec

SIGKILL_EXIT = 137
SIGTERM_EXIT = 143

# YARN's ContainerExitStatus: ends that neither the program nor its memory caused.
_CLUSTER_TOOK_IT = {
    -100: "YARN released the container or lost its node",
    -101: "the host's local disks failed",
    -102: "YARN preempted the container for another application",
    -105: "yarnspec ended the container",
    -106: "the ResourceManager ended the container",
    -107: "the container ended with the application",
    -108: "the host's container scheduler ended the container",
}
# The ends among these that come again at once when the next container starts on the same host.
_COMES_AGAIN = frozenset({-101})
_MEMORY = {-103: "virtual", -104: "physical"}
_RELEASED = -100
_LOST_NODE = "lost"  # "Container released on a *lost* node"
_DIAGNOSTICS_LIMIT = 400


class Blame(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict on one ended container; ``repeats`` says that a replacement may well end the same way."""

    caused_by_app: bool
    repeats: bool
    text: str


def blame(
    *,
    exit_code: int,
    diagnostics: str,
    host: str,
    host_state: str,
    memory_mb: int,
    preemption_announced: bool = False,
    registered: bool = True,
) -> Blame:
    """Judge a container's end that nobody here had asked for.

    ``host_state``: the state of a host that is gone, else empty; ``registered``: an executor ran in it.
    """
    caused_by_app = True
    repeats = True
    if exit_code == _RELEASED and not registered and not host_state and _LOST_NODE not in diagnostics:
        # Skein gives back what a NodeManager would not start, and keeps the reason to its own log.
        caused_by_app = False
        said = f"host {host} would not start it; the application master's log (--role am) says why"
    elif exit_code in _CLUSTER_TOOK_IT:
        caused_by_app = False
        repeats = exit_code in _COMES_AGAIN
        said = _CLUSTER_TOOK_IT[exit_code]
    elif host_state and exit_code in (SIGKILL_EXIT, SIGTERM_EXIT):
        caused_by_app = False
        repeats = False
        said = f"the process was ended on host {host}, which is {host_state}"
    elif preemption_announced and exit_code in (SIGKILL_EXIT, SIGTERM_EXIT):
        caused_by_app = False
        repeats = False
        said = "YARN had announced that it would preempt the container"
    elif exit_code in _MEMORY:
        said = _memory(exit_code, memory_mb)
    elif exit_code == SIGTERM_EXIT:
        # Nothing inside an application sends an executor SIGTERM, and YARN names its own kills by other codes: this is
        # a NodeManager or a machine that is shutting down and has not been reported yet, or an administrator.
        caused_by_app = False
        said = "the process was asked to end (SIGTERM) from outside the application"
    elif exit_code == SIGKILL_EXIT:
        said = (
            f"the process was killed (SIGKILL), perhaps by the host's out-of-memory killer; if it was, raise "
            f"spark.executor.memoryOverhead (the container has {memory_mb} MB)"
        )
    elif exit_code == 0:
        # An executor never ends by itself while its driver lives. Code 0 is what System.exit(0) in a task gives, and
        # what YARN says of a container that could not even start.
        said = "the executor ended with exit code 0 although Spark was not stopping"
    else:
        said = "the executor failed"
    rest = f": {shorten(diagnostics)}" if diagnostics.strip() else ""
    return Blame(caused_by_app=caused_by_app, repeats=repeats, text=f"{said} (exit code {exit_code}){rest}")


def shorten(text: str, limit: int = _DIAGNOSTICS_LIMIT) -> str:
    """One line of at most ``limit`` characters, the beginning and the end of a longer text."""
    line = " ".join(text.split())
    if len(line) <= limit:
        return line
    half = (limit - 5) // 2
    return f"{line[:half]} ... {line[-half:]}"


def _memory(exit_code: int, memory_mb: int) -> str:
    if _MEMORY[exit_code] == "physical":
        return (
            f"YARN ended the container because it used more than its {memory_mb} MB of physical memory: raise "
            "spark.executor.memoryOverhead, or spark.executor.memory for the JVM's heap, or "
            "spark.executor.pyspark.memory for Python workers"
        )
    return (
        f"YARN ended the container because it used more virtual memory than its {memory_mb} MB allow: raise "
        "spark.executor.memoryOverhead, or let an administrator raise yarn.nodemanager.vmem-pmem-ratio or turn off "
        "yarn.nodemanager.vmem-check-enabled"
    )
