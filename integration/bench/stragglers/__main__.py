"""`python -m integration.bench.stragglers`: every arm by turns, on mini clusters of its own; goes on where it was."""

from __future__ import annotations

import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import click
import pyspark
from rich.console import Console

from integration.bench.measured import fingerprint, machine
from integration.bench.stragglers import running
from integration.bench.stragglers.arms import ARMS, ORACLE, SLOWER, WORKLOADS, Arm, Workload
from integration.bench.stragglers.results import Results, Sample, load, store
from integration.bench.stragglers.tables import print_results
from integration.cluster import Cluster
from integration.submitting import base_environment
from integration.tpch.data import cache_directory

# Runs of a workload in one application: arms that need only two are done after the first pass. The third makes what
# was missed: nothing, as a rule.
PASSES = (2, 3, 3)
FAILURES_MAX = 3


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--arm", "arms", multiple=True, type=click.Choice([arm.name for arm in ARMS]), help="Only these arms.")
@click.option("--workload", "numbers", multiple=True, type=click.IntRange(0, len(WORKLOADS) - 1), help="Only these.")
@click.option("--repeats", type=click.IntRange(min=1), help="Runs in an application, instead of two and then three.")
@click.option("--budget", "budget_s", type=float, help="Begin no further application after so many seconds.")
@click.option(
    "--results",
    "path",
    type=click.Path(dir_okay=False, path_type=Path),
    default=lambda: cache_directory() / "stragglers.json",
    help="Where runs are kept, so that an interrupted bench goes on where it was.",
)
@click.option(
    "--keep",
    type=click.Path(file_okay=False, path_type=Path),
    help="Keep what was printed, Spark's event logs and yarnspec's events below this directory.",
)
@click.option("--fresh", is_flag=True, help="Forget the runs that were made before.")
@click.option("--show", is_flag=True, help="Only print what is there.")
def main(
    *,
    arms: tuple[str, ...],
    numbers: tuple[int, ...],
    repeats: int | None,
    budget_s: float | None,
    path: Path,
    keep: Path | None,
    fresh: bool,
    show: bool,
) -> None:
    """Compare job times with one of four hosts ten times slower."""
    begun = time.monotonic()
    # Whoever ends us by a signal must not leave a cluster behind.
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    console = Console(width=None if sys.stdout.isatty() else 160)
    if fresh:
        path.unlink(missing_ok=True)
    setup = {
        "yarnspec": fingerprint(), "spark": pyspark.__version__, "machine": machine(), "slower": str(SLOWER),
        "properties": str(running.PROPERTIES), "arms": str(ARMS), "workloads": str(WORKLOADS),
    }  # fmt: skip
    results = load(path, setup, keep_others=show)
    if not show:
        before_s = results.elapsed_s
        deadline = time.monotonic() + budget_s if budget_s is not None else None
        passes = (repeats,) if repeats else PASSES
        if keep:
            keep.mkdir(parents=True, exist_ok=True)
        workspace = Path(tempfile.mkdtemp(prefix="yarnspec-stragglers-", dir=keep))
        try:
            runs = _measure(results, console, workspace, arms=arms, numbers=numbers, passes=passes, deadline=deadline)
            with closing(runs):
                for made in runs:
                    results.elapsed_s = before_s + time.monotonic() - begun
                    store(path, results, made)
                    for sample in made:
                        console.print(_line(sample), highlight=False)
        finally:
            shutil.rmtree(workspace / "clusters" if keep else workspace, ignore_errors=True)
    console.print(f"measured in {results.elapsed_s / 60:.1f} min")
    print_results(results, console)


def _measure(
    results: Results,
    console: Console,
    workspace: Path,
    *,
    arms: tuple[str, ...],
    numbers: tuple[int, ...],
    passes: tuple[int, ...],
    deadline: float | None,
) -> Generator[list[Sample]]:
    """The runs that are missing, an application's at a time."""
    workloads = [each for number, each in enumerate(WORKLOADS) if not numbers or number in numbers]
    # The oracle first: by it is known which arms are so slow that two runs are enough.
    chosen = sorted((arm for arm in ARMS if not arms or arm.name in arms), key=lambda arm: arm.name != ORACLE)
    groups = [[arm] for arm in chosen if not arm.beside]
    groups.append([arm for arm in chosen if arm.beside])
    failures = 0
    with _cluster(workspace, 0) as first:
        for at_once in passes:
            for group in groups:
                asked = {
                    arm: [each for each in workloads for _ in range(results.missing(arm.name, each.name, at_once))]
                    for arm in group
                }
                asked = {arm: orders for arm, orders in asked.items() if orders}
                if deadline is not None and time.monotonic() > deadline:
                    return
                for made in _beside_each_other(asked, first, workspace):
                    if isinstance(made, Exception):
                        failures += 1
                        console.print(f"an application failed ({failures}): {made}", markup=False)
                        if failures == FAILURES_MAX:
                            raise made
                        continue
                    yield made


def _beside_each_other(
    asked: dict[Arm, list[Workload]], first: Cluster, workspace: Path
) -> Iterator[list[Sample] | Exception]:
    """Run an application of each of these arms at the same time, each on a cluster of its own."""
    with ExitStack() as stack:
        clusters = [first, *(stack.enter_context(_cluster(workspace, lane)) for lane in range(1, len(asked)))]
        pool = ThreadPoolExecutor(max(1, len(asked)))
        # Not waited for when we are interrupted: the end of its cluster ends each run.
        stack.callback(pool.shutdown, wait=False, cancel_futures=True)
        under_way = []
        together = running.Together(max(1, len(asked)))
        for (arm, orders), cluster in zip(asked.items(), clusters, strict=False):
            directory = Path(tempfile.mkdtemp(prefix=f"{arm.name}-", dir=workspace))
            under_way.append(pool.submit(running.run, cluster, arm, orders, directory, together))
        for done in as_completed(under_way):
            error = done.exception()
            if error is not None and not isinstance(error, Exception):
                raise error
            yield done.result() if error is None else error


@contextmanager
def _cluster(workspace: Path, lane: int) -> Iterator[Cluster]:
    with running.mini_cluster(workspace / "clusters" / str(lane)) as mini:
        yield Cluster(mini, base_environment())


def _line(sample: Sample) -> str:
    hosts = " ".join(f"{host}×{times:g}" for host, times in sample.slowdown.items())  # noqa: RUF001
    return (
        f"{sample.arm}, {sample.workload}: {sample.seconds:.1f} s, {sample.slot_seconds:.0f} slot-s, "
        f"{sample.copies} copies, {sample.copies_won} won; {hosts}; {sample.decided or ''}"
        + ("" if sample.right else "  WRONG RESULT")
    )


if __name__ == "__main__":
    main()
