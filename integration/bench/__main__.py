"""`python -m integration.bench [start|tpch|tpcds|all]`: both sides by turns on a mini cluster of their own.

The other names run a bench of their own (``OTHERS``; `stragglers`, `recovery` and `scale` have more options as
`python -m integration.bench.stragglers` and so on). ``docs/benchmarks.md`` says what each measures.
"""

from __future__ import annotations

import json
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import click
from rich.console import Console

from integration.bench import decisions, journal, late_host, page, placing, simulator, window
from integration.bench.feed import __main__ as feed
from integration.bench.measured import Bench, Measured, Sample, load, setup, store
from integration.bench.recovery import __main__ as recovery
from integration.bench.scale import __main__ as scale
from integration.bench.sides import FLAGS, SIDES, RunFailedError, Side, run
from integration.bench.stragglers import __main__ as stragglers
from integration.bench.tables import print_tables
from integration.bench.timeline import timeline
from integration.cluster import Cluster
from integration.submitting import PROGRAMS, base_environment
from integration.tpcds.data import SCALE as TPCDS_SCALE
from integration.tpcds.data import tpcds_data, tpcds_queries
from integration.tpcds.queries import FLAGS as TPCDS_FLAGS
from integration.tpcds.queries import write_module
from integration.tpch.data import cache_directory, tpch_data
from integration.tpch.queries import QUERIES as TPCH
from yarnspec.minicluster import MiniCluster

HOSTS = 3
PROPERTIES = {
    # What the programs printed is read from the hosts after the applications have ended.
    "yarn.nodemanager.delete.debug-delay-sec": "1200",
}
REPEATS: dict[Bench, int] = {"start": 7, "tpch": 5, "tpcds": 2}
LONG: frozenset[Bench] = frozenset({"tpcds"})
"""Runs of minutes: only by its name, into a file of its own, and without runs before that do not count."""
SCALE = 0.1
START_TIMEOUT_S = 180
QUERIES_TIMEOUT_S = 1800
QUERIES_FILE = Path(__file__).parent.parent / "tpch" / "queries.py"

Measure = Callable[[Side, str], dict[str, int]]

OTHERS: dict[str, Callable[[Console, int | None], bool]] = {
    "decisions": lambda console, _: decisions.run(console),
    "feed": lambda console, repeats: feed.measure(console, repeats or feed.REPEATS, feed.COMPARED_TASKS),
    "journal": lambda console, _: journal.run(console),
    "late-host": lambda console, repeats: late_host.measure(console, repeats or late_host.REPEATS),
    "page": lambda console, repeats: page.run(console, repeats or page.REPEATS),
    "placing": lambda console, repeats: placing.measure(console, repeats or placing.REPEATS),
    "scale": lambda console, repeats: scale.measure(console, repeats or scale.REPEATS),
    "simulator": lambda console, repeats: simulator.run(console, repeats or simulator.RUNS),
    "window": lambda console, repeats: window.measure(console, repeats or window.REPEATS),
}
"""Benches of their own: each prints its table, and says whether its aims are met."""


class Measurements:
    """The benches of both sides on one cluster."""

    def __init__(self, cluster: Cluster, workspace: Path, scale: float) -> None:
        self._cluster = cluster
        self._workspace = workspace
        self._scale = scale
        self._data: dict[Path, str] = {}

    def start(self, side: Side, name: str) -> dict[str, int]:
        """The steps on the way to the first task of a program that does next to nothing."""
        program = PROGRAMS / "first_task.py"
        done = run(side, self._cluster, program, [], name=name, workspace=self._workspace, timeout_s=START_TIMEOUT_S)
        return timeline(self._cluster, done, self._workspace)

    def tpch(self, side: Side, name: str) -> dict[str, int]:
        """All queries of TPC-H."""
        data = tpch_data(self._scale)
        return self._queries(side, name, data, len(TPCH), py_files=QUERIES_FILE)

    def tpcds(self, side: Side, name: str) -> dict[str, int]:
        """All queries of TPC-DS."""
        texts = tpcds_queries()
        module = write_module(self._workspace / "queries.py", texts)
        data = tpcds_data(self._scale)
        return self._queries(side, name, data, len(texts), py_files=module, sizes=(*FLAGS, *TPCDS_FLAGS))

    def _queries(
        self, side: Side, name: str, data: Path, count: int, *, py_files: Path, sizes: Sequence[str] = FLAGS
    ) -> dict[str, int]:
        """The whole command, and the sum of the query times as the program measures them."""
        if data not in self._data:
            self._data[data] = self._cluster.hdfs_put(data, f"/bench/{data.name}")
        output = f"{self._cluster.mini.default_fs}/bench/results-{name}"
        done = run(
            side, self._cluster, PROGRAMS / "tpc.py", [self._data[data], "all", output, f"{self._scale:g}"],
            name=name, workspace=self._workspace, timeout_s=QUERIES_TIMEOUT_S, py_files=py_files,
            sizes=sizes,
        )  # fmt: skip
        queries = self._query_seconds(done.application_id)
        if len(queries) != count:
            raise RunFailedError(f"{side}: the output of {len(queries)} queries was found, not of {count}")
        return {"command": done.ended_ms - done.began_ms, "queries": round(sum(queries.values()) * 1000)}

    def _query_seconds(self, application_id: str) -> dict[int, float]:
        """What the program printed, from the log directory of the container in which it ran."""
        found = {}
        for text in self._cluster.container_log_texts(application_id).values():
            for line in text.splitlines():
                if line.startswith('{"query"'):
                    told = json.loads(line)
                    found[int(told["query"])] = float(told["seconds"])
        return found


def interleaved(
    measured: Measured, bench: Bench, measure: Measure, *, repeats: int, results: Path, console: Console
) -> None:
    """Make the runs that are missing, both sides by turns, after one of each that does not count."""
    missing = [
        (repeat, side) for repeat in range(1, repeats + 1) for side in SIDES if not measured.has(bench, side, repeat)
    ]
    if not missing:
        return
    for side in () if bench in LONG else SIDES:
        console.print(f"{bench}: {side} warms the cluster up")
        measure(side, f"bench-{bench}-{side}-warm")
    for repeat, side in missing:
        values = measure(side, f"bench-{bench}-{side}-{repeat}")
        measured.samples.append(Sample(bench=bench, side=side, repeat=repeat, values=values))
        store(results, measured)
        shown = ", ".join(f"{name} {value / 1000:.1f} s" for name, value in values.items())
        console.print(f"{bench} {repeat}/{repeats} {side}: {shown}")


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument(
    "which",
    type=click.Choice(["all", *REPEATS, "stragglers", "recovery", *OTHERS]),
    default="all",
)
@click.option("--repeats", type=click.IntRange(min=1), help="Pairs of runs; 7, 5 and 2 for start, tpch and tpcds.")
@click.option(
    "--scale",
    type=click.FloatRange(min=0.001),
    help=f"Scale factor of the data; {TPCDS_SCALE:g} for tpcds and {SCALE:g} for tpch by default.",
)
@click.option(
    "--results",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Where runs are kept, so that an interrupted bench goes on where it was.",
)
@click.option("--fresh", is_flag=True, help="Forget the runs that were made before.")
def main(which: str, repeats: int | None, scale: float | None, results: Path | None, fresh: bool) -> None:
    """Compare yarnspec with stock spark-submit; prints a table, and the same as Markdown."""
    # Whoever ends us by a signal must not leave a cluster behind.
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    console = Console(width=None if sys.stdout.isatty() else 160)
    if which in OTHERS:
        sys.exit(0 if OTHERS[which](console, repeats) else 1)
    if which in ("stragglers", "recovery"):
        options = [*(["--repeats", str(repeats)] if repeats else []), *(["--fresh"] if fresh else [])]
        chosen = stragglers.main if which == "stragglers" else recovery.main
        chosen(options, prog_name=f"integration.bench {which}")
    results = results or cache_directory() / ("bench-tpcds.json" if which == "tpcds" else "bench.json")
    scale = scale or (TPCDS_SCALE if which == "tpcds" else SCALE)
    if fresh:
        results.unlink(missing_ok=True)
    measured = load(results, setup(HOSTS, scale))
    benches: list[Bench] = [bench for bench in REPEATS if which == bench or (which == "all" and bench not in LONG)]
    workspace = Path(tempfile.mkdtemp(prefix="yarnspec-bench-"))
    try:
        with MiniCluster(workspace / "cluster", nodes=HOSTS, properties=PROPERTIES) as mini:
            measurements = Measurements(Cluster(mini, base_environment()), workspace, scale)
            for bench in benches:
                interleaved(
                    measured,
                    bench,
                    getattr(measurements, bench),
                    repeats=repeats or REPEATS[bench],
                    results=results,
                    console=console,
                )
    except RunFailedError as error:
        console.print(str(error), markup=False)
        sys.exit(1)
    finally:
        for bench in benches:
            print_tables(measured, bench, console)
        shutil.rmtree(workspace, ignore_errors=True)


if __name__ == "__main__":
    main()
