"""`python -m integration.bench.recovery`: what a kill costs and what the journal does; goes on where it was."""

from __future__ import annotations

import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

import click
import pyspark
from rich.console import Console

from integration.bench.measured import fingerprint, machine, store
from integration.bench.recovery import running
from integration.bench.recovery.results import Results, Way, load
from integration.bench.recovery.tables import SHARE_OF_EXECUTORS, SHARES, print_results
from integration.cluster import Cluster
from integration.submitting import base_environment
from integration.tpch.data import cache_directory
from yarnspec.minicluster import MiniCluster

REPEATS, PAIRS = 3, 10


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--repeats", type=click.IntRange(min=0), default=REPEATS, show_default=True, help="Kills of each kind.")
@click.option("--pairs", type=click.IntRange(min=0), default=PAIRS, show_default=True, help="Jobs without a kill.")
@click.option(
    "--pair-tasks",
    type=click.IntRange(min=1),
    default=running.PAIR_TASKS,
    show_default=True,
    help=f"Tasks of a stage in these, of {running.RECORDS / 100:g} s each.",
)
@click.option("--share", "shares", multiple=True, type=click.FloatRange(0, 1), help="Only kills at this share.")
@click.option(
    "--results",
    "path",
    type=click.Path(dir_okay=False, path_type=Path),
    default=lambda: cache_directory() / "recovery.json",
    help="Where runs are kept, so that an interrupted bench goes on where it was.",
)
@click.option("--fresh", is_flag=True, help="Forget the runs that were made before.")
@click.option("--show", is_flag=True, help="Only print what is there.")
def main(
    *, repeats: int, pairs: int, pair_tasks: int, shares: tuple[float, ...], path: Path, fresh: bool, show: bool
) -> None:
    """Kill masters and executors in the middle of a job, with recovery and without; and compare jobs without kills.

    Exit code 1 when a result is wrong or an aim is missed by the median; where only the interval reaches beyond it,
    that is said (`not shown`).
    """
    begun = time.monotonic()
    # Whoever ends us by a signal must not leave a cluster behind.
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    console = Console(width=None if sys.stdout.isatty() else 160)
    if fresh:
        path.unlink(missing_ok=True)
    setup = {
        "yarnspec": fingerprint(), "spark": pyspark.__version__, "machine": machine(),
        "job": f"{running.STAGES} stages, {running.TASKS} tasks, {running.RECORDS} records",
        "pairs": f"{pair_tasks} tasks a stage",
    }  # fmt: skip
    results = load(path, setup, keep_others=show)
    if not show:
        workspace = Path(tempfile.mkdtemp(prefix="yarnspec-recovery-"))
        try:
            with MiniCluster(workspace / "cluster", nodes=running.HOSTS) as mini:
                cluster = Cluster(mini, base_environment())
                _kill(results, path, console, cluster, workspace, repeats=repeats, shares=shares or SHARES)
                _compare(results, path, console, cluster, workspace, wanted=pairs, tasks=pair_tasks)
        finally:
            shutil.rmtree(workspace, ignore_errors=True)
        console.print(f"measured for {(time.monotonic() - begun) / 60:.1f} min")
    sys.exit(0 if print_results(results, console) else 1)


def _kill(
    results: Results,
    path: Path,
    console: Console,
    cluster: Cluster,
    workspace: Path,
    *,
    repeats: int,
    shares: tuple[float, ...],
) -> None:
    kinds = [(way, share) for share in shares for way in Way if way.master or share == SHARE_OF_EXECUTORS]
    for repeat in range(1, repeats + 1):
        for way, share in kinds:
            if len(results.of(way, share)) >= repeat:
                continue
            directory = Path(tempfile.mkdtemp(prefix="kill-", dir=workspace))
            made = running.kill(cluster, directory, way=way, share=share)
            results.kills.append(made)
            store(path, results)
            cost = made.twice
            old = ""
            if cost.ended_before_s is not None:
                old = f"the first of those that ran again had ended {cost.ended_before_s:.2f} s before; "
            console.print(
                f"{share:.0%}, {way}: {cost.twice_s:.1f} s of tasks twice, {cost.in_flight_s:.1f} s in flight, "
                f"{cost.ratio:.2f}; {old}first task after {cost.to_first_s:.1f} s, {made.total_s:.1f} s in all"
                + ("" if made.right else "  WRONG RESULT"),
                highlight=False,
            )


def _compare(
    results: Results, path: Path, console: Console, cluster: Cluster, workspace: Path, *, wanted: int, tasks: int
) -> None:
    missing = wanted - len(results.pairs)
    if missing <= 0:
        return
    for pair in running.pairs(cluster, Path(tempfile.mkdtemp(prefix="pairs-", dir=workspace)), missing, tasks):
        results.pairs.append(pair)
        store(path, results)
        console.print(f"{pair.with_s:.2f} s with recovery, {pair.without_s:.2f} s without", highlight=False)


if __name__ == "__main__":
    main()
