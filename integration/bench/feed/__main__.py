"""`python -m integration.bench feed`: throughput of the feed, and 100,000 tasks compared with Spark's own log."""

from __future__ import annotations

import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import click
from rich.console import Console

from integration.bench.feed.comparison import compare
from integration.bench.feed.throughput import Rate, Sender, to_columns, to_decisions
from integration.bench.measured import machine
from integration.cluster import Cluster
from integration.submitting import base_environment
from yarnspec.minicluster import MiniCluster

HOSTS = 2
SENT_TASKS = 250_000
COMPARED_TASKS = 100_000
REPEATS = 7
AIM_ROWS_PER_S = 200_000


def measure(console: Console, repeats: int, tasks: int) -> bool:
    """Run both parts and print what came of them; tell whether the aims are met."""
    workspace = Path(tempfile.mkdtemp(prefix="yarnspec-bench-feed-"))
    console.print(f"feed on {machine()}")
    try:
        met = _throughput(console, workspace, repeats)
        with MiniCluster(workspace / "cluster", nodes=HOSTS) as mini:
            found = compare(Cluster(mini, base_environment()), tasks, workspace)
    finally:
        shutil.rmtree(workspace, ignore_errors=True)
    console.print(
        f"a job of {tasks:,} tasks ({found.tasks_per_s:,.0f} tasks/s, {found.seconds:.0f} s with start and end): "
        f"{found.launches:,} launches of tasks and {found.ends:,} ends of tasks and stages in Spark's log, "
        f"{found.missing} missing, {found.added} beyond, "
        f"warnings: {found.warnings or 'none'}; the negotiator's process held {found.negotiator_mb:.0f} MB at most"
    )
    return met and found.missing == found.added == 0


def _throughput(console: Console, workspace: Path, repeats: int) -> bool:
    sender = Sender(workspace)
    met = True
    kinds: list[tuple[str, Callable[[Sender, int], Rate]]] = [
        ("listener in a JVM to numpy columns", to_columns),
        ("the same, on through event log, status and core", to_decisions),
    ]
    for what, run in kinds:
        run(sender, SENT_TASKS)  # warms the disk's cache up; it does not count
        rates = sorted(run(sender, SENT_TASKS).rows_per_s for _ in range(repeats))
        median = statistics.median(rates)
        met = met and median >= AIM_ROWS_PER_S
        console.print(
            f"{what}: {median:,.0f} rows/s, median of {repeats} ({rates[0]:,.0f} to {rates[-1]:,.0f}), "
            f"{2 * SENT_TASKS:,} rows each; aim {AIM_ROWS_PER_S:,}"
        )
    return met


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--repeats", type=click.IntRange(min=1), default=REPEATS, show_default=True, help="Runs of each kind.")
@click.option(
    "--tasks", type=click.IntRange(min=1), default=COMPARED_TASKS, show_default=True, help="Tasks to compare."
)
def main(repeats: int, tasks: int) -> None:
    """Measure the feed; exit code 1 when an aim is missed."""
    console = Console(width=None if sys.stdout.isatty() else 160, highlight=False)
    sys.exit(0 if measure(console, repeats, tasks) else 1)


if __name__ == "__main__":
    main()
