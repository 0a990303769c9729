"""`python -m integration.bench.detection [recorded|record|real|skew|rules]`: how well slow hosts are found."""

from __future__ import annotations

import shutil
import signal
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import click
import msgspec
from rich.console import Console
from rich.table import Table

from integration.bench.detection import cluster_runs
from integration.bench.detection import skew as simulated
from integration.bench.detection.injection import Stream, injected, placed_again, untouched
from integration.bench.detection.programs import KINDS
from integration.bench.detection.recordings import LATER, RECORDED, Run, load, store
from integration.bench.detection.scoring import Found, score, watch
from integration.cluster import Cluster
from integration.submitting import base_environment
from yarnspec.core.detectors.registry import DetectorSettings

FACTORS = (3.0, 5.0, 10.0)
SEEDS = 10
AIM = 0.95
UNTOUCHED = "as recorded"
"""On these the aim is that no host is called slow."""
REAL = (("skewed", 10.0, 3), ("even", 5.0, 3), ("aggregated", 10.0, 6), ("pipeline", 10.0, 2), ("scattered", 3.0, 4))
"""Kind, how slow the host is, how often the program does its work."""

console = Console(width=None if sys.stdout.isatty() else 140, highlight=False)


@click.group(invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.pass_context
def main(context: click.Context) -> None:
    """Measure how well slow hosts are found; without a command: on the recorded runs."""
    # Whoever ends us by a signal must not leave a cluster behind.
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    if context.invoked_subcommand is None:
        context.invoke(recorded)


@main.command()
@click.option("--misses", is_flag=True, help="Also print each stream in which something went wrong.")
def recorded(misses: bool) -> None:
    """Put slow hosts into the recorded runs: precision and recall, by factor; and false positives without any."""
    runs = load()
    if not runs:
        raise click.UsageError("no recorded runs: begin with `python -m integration.bench.detection record`")
    settings = DetectorSettings()
    later = load(LATER)
    console.print(
        f"{len(runs)} recorded runs, {sum(len(run.tasks) for run in runs)} tasks: the half that rules were chosen "
        f"by, and the other half; {len(later)} runs, {sum(len(run.tasks) for run in later)} tasks, recorded later"
    )
    good = True
    for name, part in (("tuned on", runs[::2]), ("held out", runs[1::2]), ("recorded later", later)):
        good &= _report(name, part, settings, misses) or name == "tuned on"
    sys.exit(0 if good else 1)


def _report(name: str, runs: Sequence[Run], settings: DetectorSettings, misses: bool) -> bool:
    table = Table(title=f"{name}: {', '.join(run.name for run in runs)}", title_justify="left")
    for heading in (
        "slow host",
        "inputs",
        "streams",
        "found",
        "recall",
        "wrongly called slow",
        "precision",
        "found after",
    ):
        table.add_column(heading, justify="left" if heading in ("slow host", "inputs") else "right")
    good = True
    for inputs, known in (("known", True), ("unknown", False)):
        for factor in FACTORS:
            made = [injected(run, factor, seed) for run in runs for seed in range(SEEDS)]
            found = _watch(_told([each for each in made if each is not None], known), settings)
            total = score(found)
            good &= not known or (total.recall >= AIM and total.precision >= AIM)
            after = sorted(each.after_ms for each in found if each.hit)
            median_s = f"{after[len(after) // 2] / 1000:.1f} s" if after else ""
            table.add_row(
                f"{factor:g} times slower", inputs, str(total.streams), str(total.hits), f"{total.recall:.3f}",
                str(total.false_hosts), f"{total.precision:.3f}", median_s,
            )  # fmt: skip
            if misses:
                _print_misses(found)
        for words, make in _HEALTHY.items():
            found = _watch(_told([stream for run in runs for stream in make(run)], known), settings)
            total = score(found)
            good &= not known or words != UNTOUCHED or total.false_hosts == 0
            table.add_row(f"none: {words}", inputs, str(total.streams), "", "", str(total.false_hosts), "", "")
            if misses:
                _print_misses([each for each in found if each.false_hosts])
    console.print(table)
    return good


def _told(streams: Sequence[Stream], known: bool) -> list[Stream]:
    return [msgspec.structs.replace(stream, inputs_known=known) for stream in streams]


_HEALTHY: dict[str, Callable[[Run], list[Stream]]] = {
    UNTOUCHED: lambda run: [untouched(run)],
    "placed again, with noise": lambda run: [placed_again(run, seed) for seed in range(SEEDS)],
}


def _watch(streams: Sequence[Stream], settings: DetectorSettings) -> list[Found]:
    with ProcessPoolExecutor() as pool:
        return list(pool.map(watch, streams, [settings] * len(streams), chunksize=8))


def _print_misses(found: Sequence[Found]) -> None:
    for each in found:
        if each.false_hosts or not each.hit:
            console.print(f"  {each.run} x{each.factor:g}: hit {each.hit}, wrong: {', '.join(each.false_hosts)}")


@main.command()
@click.option("--factor", type=float, default=5.0, show_default=True, help="How slow the slow hosts are.")
def tune(factor: float) -> None:
    """Try other values of the two thresholds on the half of the runs that they are tuned on."""
    streams = [stream for run in load()[::2] for seed in range(SEEDS) if (stream := injected(run, factor, seed))]
    healthy = [stream for run in load()[::2] for make in _HEALTHY.values() for stream in make(run)]
    shipped = DetectorSettings()
    table = Table("host_proof", "host_slow_factor", "recall", "precision", "wrong on healthy hosts")
    for proof in (0.7, 0.8, 0.85, 0.9, 0.95, 0.98):
        for slow in (1.4, 1.8, 2.2):
            settings = msgspec.structs.replace(shipped, host_proof=proof, host_slow_factor=slow)
            total, wrong = score(_watch(streams, settings)), score(_watch(healthy, settings)).false_hosts
            mark = "*" if (proof, slow) == (shipped.host_proof, shipped.host_slow_factor) else ""
            table.add_row(f"{proof}{mark}", str(slow), f"{total.recall:.3f}", f"{total.precision:.3f}", str(wrong))
    console.print(table)


@main.command()
@click.option("--kind", "kinds", multiple=True, type=click.Choice(list(KINDS)), help="Only these.")
@click.option("--again", is_flag=True, help="Record those too that are there already.")
@click.option("--later", is_flag=True, help="Into the file of runs by which no rule was chosen.")
@click.option("--budget", "budget_s", type=float, help="Begin no further program after so many seconds.")
def record(kinds: tuple[str, ...], again: bool, later: bool, budget_s: float | None) -> None:
    """Record the programs on a mini cluster of healthy hosts, into a file beside this module."""
    path = LATER if later else RECORDED
    runs = {run.name: run for run in load(path)}
    deadline = time.monotonic() + budget_s if budget_s is not None else None
    missing = [kind for kind in kinds or KINDS if again or kind not in runs]

    def each(cluster: Cluster, workspace: Path) -> None:
        for kind in missing:
            if deadline is not None and time.monotonic() > deadline:
                return
            run = runs[kind] = cluster_runs.record(cluster, kind, workspace)
            store([runs[name] for name in sorted(runs)], path)
            console.print(f"{kind}: {len(run.tasks)} tasks on {len(run.hosts)} hosts")

    _on_cluster(each)
    console.print(f"{len(runs)} runs in {path}, {path.stat().st_size} bytes")


@main.command()
@click.option("--only", type=click.IntRange(0, len(REAL) - 1), multiple=True, help="Only these of the five.")
def real(only: tuple[int, ...]) -> None:
    """Run five programs beside a really slow host: each time it must be blocked, and no other."""
    right: list[bool] = []

    def each(cluster: Cluster, workspace: Path) -> None:
        for number, (kind, factor, times) in enumerate(REAL):
            if only and number not in only:
                continue
            run = cluster_runs.beside_slow_host(cluster, kind, factor, times, workspace)
            right.append(run.right)
            verdict = "found, and no other" if run.right else "NOT RIGHT"
            console.print(f"{kind}, {run.slow_host} {factor:g} times slower: {verdict}; blocked: {run.blocked}")

    _on_cluster(each)
    console.print(f"{sum(right)} of {len(right)}")
    sys.exit(0 if all(right) else 1)


@main.command()
@click.option("--seeds", type=click.IntRange(1), default=20, show_default=True, help="How many jobs of each kind.")
def skew(seeds: int) -> None:
    """Simulate tasks of different sizes on healthy hosts, and beside a slow one."""
    healthy = simulated.on_healthy_hosts(seeds)
    table = Table(title="healthy hosts", title_justify="left")
    for heading in ("jobs", "input", "with a host blocked", "hosts", "copies"):
        table.add_column(heading, justify="left" if heading in ("jobs", "input") else "right")
    for (shape, known), sums in healthy.items():
        blocked, copies = f"{sums.blocked_jobs} of {sums.jobs}", f"{sums.copies / sums.tasks:.2%}"
        table.add_row(str(shape), known, blocked, str(sums.blocked_hosts), copies)
    for known in simulated.INPUTS:
        own = [sums for (_, each), sums in healthy.items() if each == known]
        blocked = f"{sum(each.blocked_jobs for each in own)} of {sum(each.jobs for each in own)}"
        copies = f"{sum(each.copies for each in own) / sum(each.tasks for each in own):.2%}"
        table.add_row("all", known, blocked, str(sum(each.blocked_hosts for each in own)), copies)
    console.print(table)
    table = Table(title="beside a slow host", title_justify="left")
    for heading in ("jobs", "slow", "input", "found", "after", "time to that without it", "at most", "wrong hosts"):
        table.add_column(heading, justify="left" if heading in ("jobs", "input") else "right")
    for (shape, slow, known), beside in simulated.beside_a_slow_host(seeds).items():
        table.add_row(
            str(shape), f"{slow:g} x", known, f"{beside.found} of {beside.jobs}", f"{beside.found_s:.1f} s",
            f"{beside.ratio:.3f}", f"{beside.ratio_max:.3f}", str(beside.blocked_hosts),
        )  # fmt: skip
    console.print(table)


@main.command()
@click.option("--seeds", type=click.IntRange(1), default=3, show_default=True, help="How many jobs of each kind.")
def rules(seeds: int) -> None:
    """Simulate the jobs of `skew` with each of the detectors."""
    table = Table(
        title="healthy hosts: jobs with a host blocked, needless copies; time beside a slow one to that without it"
    )
    table.add_column("")
    for words in simulated.RULES:
        table.add_column(words, justify="right")
    cells: dict[str, list[str]] = defaultdict(list)
    for detector in simulated.RULES.values():
        healthy = simulated.on_healthy_hosts(seeds, detector)
        for known in simulated.INPUTS:
            own = [each for (_, its), each in healthy.items() if its == known]
            blocked, jobs = sum(each.blocked_jobs for each in own), sum(each.jobs for each in own)
            copies = sum(each.copies for each in own) / sum(each.tasks for each in own)
            cells[f"healthy, input {known}"].append(f"{blocked} of {jobs}, {copies:.2%}")
        for (shape, slow, known), beside in simulated.beside_a_slow_host(seeds, detector).items():
            if known == "equal":
                cells[f"{shape}; one host {slow:g} x"].append(f"{beside.ratio:.2f} (at most {beside.ratio_max:.2f})")
    for heading, row in cells.items():
        table.add_row(heading, *row)
    console.print(table)


def _on_cluster(each: Callable[[Cluster, Path], None]) -> None:
    workspace = Path(tempfile.mkdtemp(prefix="yarnspec-detection-"))
    try:
        with cluster_runs.mini_cluster(workspace / "cluster") as mini:
            each(Cluster(mini, base_environment()), workspace)
    finally:
        shutil.rmtree(workspace, ignore_errors=True)


if __name__ == "__main__":
    main()
