"""The results as tables: for the terminal, and as Markdown for the README."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from integration.bench.measured import Bench, Measured
from integration.bench.ratio import paired_ratio
from integration.bench.sides import EXECUTORS, SIDES
from integration.bench.timeline import STEPS

AIMS = {
    ("start", "first_task"): "≤ 1.25",
    ("tpch", "command"): "upper end ≤ 1.05",
    ("tpch", "queries"): "upper end ≤ 1.05",
}
TITLES: dict[Bench, str] = {
    "start": "From the submit command to …",
    "tpch": "TPC-H, 22 queries",
    "tpcds": "TPC-DS, 99 queries",
}
QUERIES = {"command": "whole command", "queries": "sum of the query times"}
ROWS: dict[Bench, dict[str, str]] = {
    "start": STEPS,
    "tpch": QUERIES,
    "tpcds": QUERIES,
}
_HEADINGS = ("", *SIDES, "ratio [95 %]", "aim")


def print_tables(measured: Measured, bench: Bench, console: Console) -> None:
    """Print both forms; nothing when no pair is complete."""
    pairs = measured.pairs(bench)
    if not pairs:
        return
    rows = _rows(measured, bench)
    title = f"{TITLES[bench]} · {_caption(measured, bench, len(pairs))}"
    table = Table(title=title, title_justify="left")
    for heading in _HEADINGS:
        table.add_column(heading, justify="left" if heading == "" else "right")
    for row in rows:
        table.add_row(*row)
    console.print(table)
    # Markdown is for copying: it must not be wrapped.
    console.out(markdown(title, rows), highlight=False)


def markdown(title: str, rows: Sequence[Sequence[str]]) -> str:
    """The table for the README."""
    lines = [title, "", "| " + " | ".join(_HEADINGS) + " |", "|---|" + "---:|" * (len(_HEADINGS) - 1)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows), ""])


def _rows(measured: Measured, bench: Bench) -> list[tuple[str, ...]]:
    pairs = measured.pairs(bench)
    rows = []
    for name, words in ROWS[bench].items():
        times = {side: [pair[side][name] / 1000 for pair in pairs] for side in SIDES}
        ratio = str(paired_ratio(times["yarnspec"], times["spark-submit"]))
        rows.append((words, *(_spread(times[side]) for side in SIDES), ratio, AIMS.get((bench, name), "")))
    return rows


def _spread(seconds: Sequence[float]) -> str:
    return f"{statistics.median(seconds):.1f} s ({min(seconds):.1f}-{max(seconds):.1f})"


def _caption(measured: Measured, bench: Bench, pairs: int) -> str:
    setup = measured.setup
    scale = f"scale {setup.scale:g}, " if bench != "start" else ""
    return (
        f"{scale}{EXECUTORS} executors on {setup.hosts} hosts of one machine ({setup.machine}), Spark {setup.spark}; "
        f"{pairs} interleaved pairs, median (min-max)"
    )
