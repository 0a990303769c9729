"""The results as a table for the terminal, and as Markdown for the documentation."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from rich.console import Console
from rich.table import Table

from integration.bench.ratio import paired_ratio
from integration.bench.recovery.results import Kill, Results, Way
from integration.bench.recovery.running import HOSTS, RECORDS, SLOTS, STAGES, TASKS

SHARES = (0.25, 0.5, 0.75)
SHARE_OF_EXECUTORS = 0.5
"""An executor is killed at this share only."""
HEADINGS = (
    "killed at", "", "done before", "in flight", "done twice", "twice ÷ in flight", "to the first task", "in all",
    "runs",
)  # fmt: skip
MOST_TWICE = 1.1
MOST_COST = 1.01
ENOUGH_PAIRS = 5
_NOT_MET = "NOT MET"


def print_results(results: Results, console: Console) -> bool:
    """Print what the kills and the journal cost, and how the aims are met; whether they are, and all results right."""
    rows = [row for way in Way for share in SHARES if (row := _row(results, way, share))]
    title = (
        f"the application master, or an executor, killed in a job of {STAGES} stages, {TASKS} tasks of "
        f"{RECORDS / 100:g} s each, {HOSTS * SLOTS} at a time; seconds of tasks; median (min-max)"
    )
    table = Table(title=title, title_justify="left")
    for heading in HEADINGS:
        table.add_column(heading, justify="right")
    for row in rows:
        table.add_row(*row)
    console.print(table)
    lines = [title, "", "| " + " | ".join(HEADINGS) + " |", "|" + "---:|" * len(HEADINGS)]
    # Markdown is for copying: it must not be wrapped.
    console.out("\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows), ""]), highlight=False)
    found = [*_kills(results), *_cost(results)]
    for line in found:
        console.print(f"  {line}", markup=False)
    right = all(one.right for one in results.kills) and all(one.right for one in results.pairs)
    return right and not any(line.startswith(_NOT_MET) for line in found)


def _row(results: Results, way: Way, share: float) -> tuple[str, ...] | None:
    found = results.of(way, share)
    if not found:
        return None
    costs = [one.twice for one in found]
    wrong = sum(not one.right for one in found)
    return (
        f"{share:.0%}",
        way.value + (f" ({wrong} WRONG RESULTS)" if wrong else ""),
        _spread([one.before_s for one in costs]),
        _spread([one.in_flight_s for one in costs]),
        _spread([one.twice_s for one in costs]),
        _spread([one.ratio for one in costs], digits=2),
        _spread([one.to_first_s for one in costs], " s"),
        _spread([one.total_s for one in found], " s"),
        str(len(found)),
    )


def _kills(results: Results) -> list[str]:
    with_recovery: list[Kill] = [one for one in results.kills if one.way is Way.RECOVERY]
    if not with_recovery:
        return []
    verdicts = []
    for share in sorted({one.share for one in with_recovery}):
        ratios = [one.twice.ratio for one in with_recovery if one.share == share]
        verdict = "met" if median(ratios) <= MOST_TWICE else _NOT_MET
        said = f"median {median(ratios):.2f}, worst {max(ratios):.2f}, aim ≤ {MOST_TWICE}"
        verdicts.append(f"{verdict} at {share:.0%}: done twice, to what was in flight: {said}")
    return [
        *verdicts,
        f"{sum(one.restored for one in with_recovery)} of {sum(one.saved for one in with_recovery)} saved map outputs "
        "were used again",
    ]


def _cost(results: Results) -> list[str]:
    if not results.pairs:
        return []
    with_s, without_s = ([getattr(one, name) for one in results.pairs] for name in ("with_s", "without_s"))
    wrong = sum(not one.right for one in results.pairs)
    said = f"{len(results.pairs)} pairs: {_spread(with_s)} s with recovery, {_spread(without_s)} s without"
    if len(results.pairs) < ENOUGH_PAIRS:
        return [f"too few for a ratio: {said}"]
    ratio = paired_ratio(with_s, without_s)
    verdict = _NOT_MET if ratio.value > MOST_COST or wrong else "met" if ratio.high <= MOST_COST else "not shown"
    interval = f"{ratio.value:.4f} [{ratio.low:.4f}, {ratio.high:.4f}]"
    return [f"{verdict}: what recording costs, with to without {interval}, aim ≤ {MOST_COST}; {said}"]


def _spread(values: Sequence[float], unit: str = "", *, digits: int = 1) -> str:
    return f"{median(values):.{digits}f} ({min(values):.{digits}f}-{max(values):.{digits}f}){unit}"
