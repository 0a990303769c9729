"""`python -m integration.bench.overwrites`: what it costs that an overwrite leaves what is there until its commit.

A directory of many partitions with one small file in each, which is where it costs most: each is looked through and
renamed. Applications with recovery and without by turns, on a mini cluster with HDFS.
"""

from __future__ import annotations

import shutil
import signal
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import click

from integration.bench.ratio import paired_ratio
from integration.cluster import Cluster
from integration.submitting import PROGRAMS, base_environment, start_submit
from yarnspec.minicluster import MiniCluster

HOSTS = 2
LONGEST_S = 600


def measure(cluster: Cluster, directory: Path, partitions: int, times: int, *, recovery: bool) -> list[float]:
    """How long each overwrite of one application took, in seconds."""
    target = f"{cluster.mini.default_fs}/bench/{directory.name}"
    arguments = [
        "--set", f"recovery.enabled={str(recovery).lower()}", "--set", "speculation.enabled=false",
        "--num-executors", "2", "--conf", "spark.ui.showConsoleProgress=false",
        str(PROGRAMS / "overwrites.py"), target, str(partitions), str(times),
    ]  # fmt: skip
    directory.mkdir()
    submission = start_submit(cluster, directory.name, arguments, directory)
    try:
        seconds: list[float] = submission.wait(LONGEST_S).expect(0).lines[-1]["seconds"]
    finally:
        submission.stop()
    return seconds


def told(name: str, seconds: Sequence[float]) -> str:
    """Median and spread."""
    return f"{name}: {statistics.median(seconds):.2f} s ({min(seconds):.2f}-{max(seconds):.2f}) of {len(seconds)}"


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--partitions", default=60, show_default=True, help="Of the directory.")
@click.option("--times", default=5, show_default=True, help="Overwrites in each application.")
@click.option("--pairs", default=3, show_default=True, help="Applications with recovery, and as many without.")
def main(partitions: int, times: int, pairs: int) -> None:
    """Print how long an overwrite takes with recovery and without it, and the ratio."""
    # Whoever ends us by a signal must not leave a cluster behind.
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    workspace = Path(tempfile.mkdtemp(prefix="yarnspec-overwrites-"))
    ours: list[float] = []
    theirs: list[float] = []
    try:
        with MiniCluster(workspace / "cluster", nodes=HOSTS) as mini:
            cluster = Cluster(mini, base_environment())
            for number in range(pairs):
                # By turns: who comes second may find the machine in another state.
                for recovery in (True, False) if number % 2 else (False, True):
                    name = f"overwrites-{number}-{'with' if recovery else 'without'}"
                    took = measure(cluster, workspace / name, partitions, times, recovery=recovery)
                    (ours if recovery else theirs).extend(took)
    finally:
        shutil.rmtree(workspace, ignore_errors=True)
    print(told("with recovery", ours))
    print(told("without", theirs))
    print(f"ratio {paired_ratio(ours, theirs)}")


if __name__ == "__main__":
    main()
