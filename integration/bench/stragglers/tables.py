"""The results as a table for the terminal, and as Markdown for the documentation."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from statistics import median

from rich.console import Console
from rich.table import Table

from integration.bench.stragglers.arms import ARMS, HEALTHY, HEALTHY_SHIPPED, ORACLE, SHIPPED, WORKLOADS, Workload
from integration.bench.stragglers.results import Results, Sample

HEADINGS = ("", "job", "to the oracle", "slot-seconds", "to the oracle", "container-seconds", "copies (won)", "runs")
MOST_SLOT_SECONDS = 1.15
MOST_HEALTHY = 1.02
MOST_NEEDLESS = 0.01


def print_results(results: Results, console: Console) -> None:
    """Print a table for each workload, the slowdown of the hosts, and how the aims are met."""
    for workload in WORKLOADS:
        rows = _rows(results, workload)
        if not rows:
            continue
        title = f"{workload.name} in each of 6 stages; median (min-max)"
        table = Table(title=title, title_justify="left")
        for heading in HEADINGS:
            table.add_column(heading, justify="left" if heading == "" else "right")
        for row in rows:
            table.add_row(*row)
        console.print(table)
        marks = "|---|" + "---:|" * (len(HEADINGS) - 1)
        lines = [title, "", "| " + " | ".join(HEADINGS) + " |", marks, *("| " + " | ".join(row) + " |" for row in rows)]
        # Markdown is for copying: it must not be wrapped.
        console.out("\n".join([*lines, ""]), highlight=False)
        for line in [*_slowdowns(results, workload), *_aims(results, workload), *_seed(results, workload)]:
            console.print(f"  {line}", markup=False)


def _rows(results: Results, workload: Workload) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for arm in ARMS:
        samples = results.of(arm.name, workload.name)
        if not samples:
            continue
        wrong = sum(not one.right for one in samples)
        rows.append(
            (
                arm.words + (f" ({wrong} WRONG RESULTS)" if wrong else ""),
                _spread([one.seconds for one in samples], " s"),
                _ratio(results, arm.name, ORACLE, workload, "seconds") if arm.slow else "",
                _spread([one.slot_seconds for one in samples]),
                _ratio(results, arm.name, ORACLE, workload, "slot_seconds") if arm.slow else "",
                _spread([one.executor_seconds for one in samples]),
                f"{median(one.copies for one in samples):g} ({median(one.copies_won for one in samples):g})",
                str(len(samples)),
            )
        )
    return rows


def _ratio_value(results: Results, arm: str, to: str, workload: Workload, what: str) -> float | None:
    mine, other = results.of(arm, workload.name), results.of(to, workload.name)
    if not mine or not other:
        return None
    return float(median(getattr(one, what) for one in mine) / median(getattr(one, what) for one in other))


def _ratio(results: Results, arm: str, to: str, workload: Workload, what: str) -> str:
    value = _ratio_value(results, arm, to, workload, what)
    return "" if value is None else f"{value:.2f}"


def _slowdowns(results: Results, workload: Workload) -> list[str]:
    """What a wait took on each host: where it was the slow one, and where all were healthy."""
    samples = [one for one in results.samples if one.workload == workload.name]
    found: defaultdict[tuple[str, bool], list[float]] = defaultdict(list)
    for one in samples:
        for host, times in one.slowdown.items():
            found[host, host == one.slow_host].append(times)
    return [
        f"a wait of 10 ms took {_spread([each * 10 for each in times], ' ms')} on {host}"
        + (" (slow)" if slow else " (application master)" if host == samples[0].am_host else "")
        for (host, slow), times in sorted(found.items())
    ]


def _aims(results: Results, workload: Workload) -> list[str]:
    found = []
    for arm, to, what, words, most in (
        (SHIPPED, ORACLE, "seconds", "job time, shipped to oracle", workload.aim),
        (SHIPPED, ORACLE, "slot_seconds", "slot-seconds, shipped to oracle", MOST_SLOT_SECONDS),
        (HEALTHY_SHIPPED, HEALTHY, "seconds", "healthy cluster, shipped to no speculation", MOST_HEALTHY),
    ):
        value = _ratio_value(results, arm, to, workload, what)
        if value is not None:
            found.append(f"{'met' if value <= most else 'NOT MET'}: {words} {value:.3f}, aim ≤ {most:g}")
    samples = results.of(HEALTHY_SHIPPED, workload.name)
    if samples:
        share = sum(map(_needless, samples)) / sum(one.attempts - one.copies for one in samples)
        verdict = "met" if share <= MOST_NEEDLESS else "NOT MET"
        found.append(f"{verdict}: needless copies on the healthy cluster {share:.2%} of the tasks, aim ≤ 1 %")
    return found


def _needless(sample: Sample) -> int:
    """On a healthy cluster no copy is needed, won or not."""
    return sample.copies


def _seed(results: Results, workload: Workload) -> list[str]:
    samples = results.of("seed", workload.name)
    if not samples:
        return []
    judged = sum(one.decided.get("JudgeTasks", 0) for one in samples)
    copies = sum(one.copies for one in samples)
    blocks = sum(one.decided.get("BlockHost", 0) for one in samples)
    fired = "fired" if judged or copies else "never fired"
    return [
        f"the seed's defaults {fired}: {judged} times tasks judged slow, {copies} copies in {len(samples)} runs; "
        f"{blocks} blocks by what was learnt of hosts"
    ]


def _spread(values: Sequence[float], unit: str = "") -> str:
    return f"{median(values):.1f} ({min(values):.1f}-{max(values):.1f}){unit}"
