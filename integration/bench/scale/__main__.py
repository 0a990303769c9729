"""`python -m integration.bench scale`: hundreds of hosts and thousands of containers with a real ResourceManager.

The hosts are hollow (``HollowHosts.java``), ResourceManager, Skein and yarnspec's negotiator are real. By turns Skein
alone and Skein with yarnspec get their containers. Another application with yarnspec is disturbed: when half of its
containers run, the cluster's list blocks a third of the hosts in one go. Then a tenth of all hosts leave and come back.
"""

from __future__ import annotations

import math
import shutil
import signal
import statistics
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import click
from rich.console import Console
from rich.table import Table

from integration.bench.measured import machine
from integration.bench.ratio import paired_ratio
from integration.bench.scale.arms import AM_VCORES, Bench, Filled, Mode, Ours, TooSmallError, shown
from integration.bench.scale.hollow import Classes, HollowHosts
from integration.cluster import Cluster
from integration.submitting import base_environment
from integration.waiting import NotInTimeError
from yarnspec.minicluster import MiniCluster

ON_A_HOST = 5
"""Two thirds of the hosts have room for as many as all together are to have."""
SIZES = ((200, 1_000), (1_000, 5_000))
REPEATS = 3
AM_MEMORY_MB = 8192
TIMEOUT_S = 300.0
"""For each thousand containers."""
AIM_RATE, AIM_CALL_MS, AIM_MB, AIM_UNEVEN = 0.9, 5.0, 512, 1
PROPERTIES = {
    # YARN's defaults. A mini cluster has others, which many hosts on two cores cannot keep.
    "yarn.resourcemanager.nodemanagers.heartbeat-interval-ms": "1000",
    "yarn.nm.liveness-monitor.expiry-interval-ms": "30000",
    "yarn.scheduler.maximum-allocation-vcores": str(AM_VCORES),
}


Run = TypeVar("Run", Filled, Ours)


def measure(
    console: Console, repeats: int = REPEATS, sizes: Sequence[tuple[int, int]] = SIZES, constraints: bool = True
) -> bool:
    """Measure each size, the largest last; whether all aims are met."""
    met = [_measured(console, repeats, hosts, containers, constraints) for hosts, containers in sizes]
    return all(met)


def _measured(console: Console, repeats: int, hosts: int, containers: int, constraints: bool) -> bool:
    workspace = Path(tempfile.mkdtemp(prefix="yarnspec-bench-scale-"))
    alone: list[Filled] = []
    ours: list[Ours] = []
    constrained: list[Ours] = []
    whole = False
    try:
        classes = Classes(workspace)
        with MiniCluster(
            workspace / "cluster", nodes=1, memory_mb=AM_MEMORY_MB, vcores=AM_VCORES, properties=PROPERTIES
        ) as mini:
            cluster = Cluster(mini, base_environment())
            with HollowHosts(cluster, classes, hosts, workspace) as hollow:
                bench = Bench(cluster, classes, hollow, workspace)
                for number in range(1, repeats + 1):
                    alone.append(_told(console, f"{number}/{repeats} Skein alone", bench.alone, containers))
                    ours.append(_told(console, f"{number}/{repeats} yarnspec", bench.ours, containers, "blacklist"))
                if constraints:
                    constrained.append(_told(console, "constraints", bench.ours, containers, "constraints"))
        whole = True
    except (TooSmallError, RuntimeError, NotInTimeError) as error:
        console.print(f"a run is lost: {error}", markup=False)
    finally:
        shutil.rmtree(workspace, ignore_errors=True)
        pairs = min(len(alone), len(ours))
        title = f"{containers:,} containers on {hosts:,} hosts"
        met = bool(pairs) and _table(console, title, alone[:pairs], ours[:pairs], constrained)
    return met and whole


def _told(console: Console, what: str, run: Callable[..., Run], containers: int, *modes: Mode) -> Run:
    done = run(containers, *modes, timeout_s=TIMEOUT_S * max(1, containers / 1000))
    console.print(f"{what}: {shown(done)}", markup=False)
    return done


def _table(console: Console, title: str, alone: list[Filled], ours: list[Ours], constrained: list[Ours]) -> bool:
    filled = [one.filled for one in ours]
    ratio = paired_ratio([one.rate for one in filled], [one.rate for one in alone])
    own_ms = [value for one in ours for value in one.calls.own_ms]
    rows: list[tuple[str, str, bool | None, Callable[[Filled], float] | None, Callable[[Ours], float]]] = [
        ("containers a second", "", None, lambda one: one.rate, lambda one: one.filled.rate),
        ("seconds until all run", "", None, lambda one: one.seconds, lambda one: one.filled.seconds),
        ("max - min on a host", f"≤ {AIM_UNEVEN}", all(one.uneven <= AIM_UNEVEN for one in filled),
         lambda one: one.uneven, lambda one: one.filled.uneven),
        ("around an allocate call, p50, ms", "", None, lambda one: one.calls.p50_ms, lambda one: one.calls.p50_ms),
        ("around an allocate call, p99, ms", f"≤ {AIM_CALL_MS:g}", _p99(own_ms) <= AIM_CALL_MS,
         lambda one: one.calls.p99_ms, lambda one: one.calls.p99_ms),
        ("Skein's AM, MB", "", None, lambda one: one.am_mb, lambda one: one.filled.am_mb),
        ("Skein's AM, s of CPU until all run", "", None, lambda one: one.am_cpu_s, lambda one: one.filled.am_cpu_s),
        ("negotiator, MB", f"< {AIM_MB}", all(one.negotiator_mb < AIM_MB for one in ours), None,
         lambda one: one.negotiator_mb),
        ("negotiator, s of CPU at the end", "", None, None, lambda one: one.negotiator_cpu_s),
        ("hosts blocked in one go", "", None, None, lambda one: one.blocked),
        ("s until the ResourceManager knows", "", not any(math.isnan(one.in_force_s) for one in ours), None,
         lambda one: one.in_force_s),
        ("containers that still came, of all", "", None, None, lambda one: one.still_to_come),
        ("of these on blocked hosts", "0", not any(one.on_blocked for one in ours), None,
         lambda one: one.on_blocked),
        ("hosts that leave and come back", "", None, None, lambda one: one.left),
        ("containers lost with them", "", None, None, lambda one: one.lost),
        ("s until these are replaced", "", not any(math.isnan(one.replaced_s) for one in ours), None,
         lambda one: one.replaced_s),
        ("executors missing, at the end", "0", not any(one.missing for one in ours), None, lambda one: one.missing),
        ("executors too many, at the end", "0", not any(one.surplus for one in ours), None, lambda one: one.surplus),
        ("max - min at the end, on hosts that stayed", f"≤ {AIM_UNEVEN}",
         all(one.uneven <= AIM_UNEVEN for one in ours), None, lambda one: one.uneven),
        ("executors started twice", "0", not any(one.doubled for one in ours), None, lambda one: one.doubled),
    ]  # fmt: skip
    table = Table(title=f"{title} ({len(ours)} pairs) on {machine()}")
    for heading in ("", "Skein alone", "yarnspec", "constraints", "aim"):
        table.add_column(heading)
    for words, aim, met, theirs, mine in rows:
        table.add_row(
            words,
            _spread([theirs(one) for one in alone]) if theirs else "",
            _spread([mine(one) for one in ours]),
            _spread([mine(one) for one in constrained]),
            aim + ("" if met is not False else " MISSED"),
        )
    console.print(table)
    reached = round(ratio.value, 2) >= AIM_RATE
    console.print(f"containers a second to Skein alone: {ratio}, aim ≥ {AIM_RATE:g}" + ("" if reached else " MISSED"))
    return reached and all(met is not False for _, _, met, _, _ in rows)


def _p99(values: list[float]) -> float:
    return statistics.quantiles(values, n=100)[98]


def _spread(values: Sequence[float]) -> str:
    if not values:
        return ""
    low, middle, high = (f"{value:.4g}" for value in (min(values), statistics.median(values), max(values)))
    return middle if low == high else f"{middle} ({low}-{high})"


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--hosts", type=click.IntRange(min=3), help="One size only: so many hosts …")
@click.option("--containers", type=click.IntRange(min=10), help=f"… and containers. [default: {ON_A_HOST} a host]")
@click.option("--repeats", type=click.IntRange(min=1), default=REPEATS, show_default=True, help="Pairs of runs.")
@click.option("--constraints/--no-constraints", default=True, help="One run in the mode constraints at the end.")
def main(hosts: int | None, containers: int | None, repeats: int, constraints: bool) -> None:
    """Measure one size, or all."""
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    console = Console(width=None if sys.stdout.isatty() else 160)
    sizes: Sequence[tuple[int, int]] = SIZES
    if hosts is not None or containers is not None:
        hosts = hosts or math.ceil((containers or 0) / ON_A_HOST)
        sizes = [(hosts, containers or hosts * ON_A_HOST)]
    if any(containers > hosts * ON_A_HOST for hosts, containers in sizes):
        raise click.UsageError(f"a host has at most {ON_A_HOST} containers here: take more --hosts")
    sys.exit(0 if measure(console, repeats, sizes, constraints) else 1)


if __name__ == "__main__":
    main()
