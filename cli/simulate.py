"""`yarnspec simulate`: what a scenario would come to, with the same decisions as on a cluster."""

from __future__ import annotations

import time
from pathlib import Path

import click
import msgspec
from rich.console import Console

from yarnspec.cli.printing import Form, columns, output_option, plain, print_document, stdout_console
from yarnspec.gateway.simulation.comparison import Variant, variants
from yarnspec.gateway.simulation.scenario_file import read_scenario, scenario_text
from yarnspec.observe.forms.moments import span
from yarnspec.simulate.whatif.scenario_run import Outcome, simulate

_BAR = 40

EXAMPLES = """
\b
Examples:
  yarnspec simulate slow-host --compare
  yarnspec simulate job.yaml --seed 7 -o json
"""


@click.command(epilog=EXAMPLES)
@click.argument("scenario", type=click.Path(path_type=Path), metavar="SCENARIO")
@click.option("--seed", type=click.IntRange(min=0), help="Use this random seed instead of the file's.")
@click.option(
    "--compare",
    is_flag=True,
    help="Simulate it also by Spark's rules, by those of Flink's proposal (FLINK-10644), and without speculation.",
)
@output_option
def command(*, scenario: Path, seed: int | None, compare: bool, form: Form) -> int:
    """Simulate a job on a cluster, in virtual time.

    The decisions are those of yarnspec itself: the same code runs against hosts, containers and tasks that SCENARIO
    describes: a file, or slow-host, burst or faults, which yarnspec ships. The same scenario and seed give the same
    run, with the same hash. docs/simulate.md tells what a scenario may hold; `yarnspec replay LOG --to-scenario FILE`
    makes one of a job that ran. The exit code is 1 if the job does not succeed with the scenario's own options.
    """
    found = read_scenario(scenario_text(scenario), str(scenario), seed)
    for warning in found.warnings:
        click.echo(f"warning: {warning}", err=True)
    chosen = variants(found) if compare else [Variant("as written", found.plan)]
    begun = time.monotonic()
    outcomes = [(one, simulate(one.plan)) for one in chosen]
    took_s = time.monotonic() - begun
    if form == "table":
        _print(outcomes, stdout_console(), took_s)
    else:
        runs = [{"rules": one.name, **msgspec.to_builtins(outcome)} for one, outcome in outcomes]
        print_document({"schema": 1, "scenario": str(scenario), "seed": found.plan.seed, "runs": runs}, form)
    return 0 if _succeeded(outcomes[0][1]) else 1


def _print(outcomes: list[tuple[Variant, Outcome]], console: Console, took_s: float) -> None:
    first = outcomes[0][1]
    head = f"{first.name}: {first.hosts:,} hosts, {first.tasks:,} tasks, seed {first.seed}"
    console.print(plain(head, "bold"))
    table = columns("RULES", "TIME", "FIRST TASK", "EXECUTOR TIME", "COPIES (WON)", "FAILED", "BLOCKED", "RESCALES")
    for one, outcome in outcomes:
        table.add_row(
            plain(one.name),
            _time(outcome),
            "-" if outcome.first_task_ms is None else span(outcome.first_task_ms),
            span(outcome.container_s * 1000),
            f"{outcome.copies} ({outcome.copies_won})",
            str(outcome.failed_attempts),
            str(outcome.blocked_hosts),
            str(len(outcome.rescales)),
        )
    console.print(table)
    if len(outcomes) > 1:
        console.print()
        longest = max((outcome.took_ms for _, outcome in outcomes if _succeeded(outcome)), default=0)
        for one, outcome in outcomes:
            bar = "█" * max(1, round(_BAR * outcome.took_ms / longest)) if _succeeded(outcome) else ""
            console.print(plain(f"{one.name:<15} {bar:<{_BAR}} {_time(outcome)}"))
    for one, outcome in outcomes:
        for rescale in outcome.rescales:
            got = f"got {rescale.got}: {rescale.why}" if rescale.why else f"{rescale.got} are there: goes on"
            what = f"after {span(rescale.at_ms)} {rescale.cause}: {rescale.before} -> {rescale.wanted} executors"
            console.print(plain(f"{one.name}: {what}, {got}"))
        for unmet in outcome.unmet:
            console.print(plain(f"{one.name}: after {span(unmet.at_ms)} {unmet.wish}: {unmet.why}", "yellow"))
        if not _succeeded(outcome):
            console.print(plain(f"{one.name}: {outcome.state}: {outcome.reason}", "red"))
    console.print(plain(f"trace {first.digest[:16]}, {first.events:,} events; simulated in {took_s:.1f} s"))


def _succeeded(outcome: Outcome) -> bool:
    return outcome.state == "SUCCEEDED"


def _time(outcome: Outcome) -> str:
    """A job that did not come to its end has no time to compare."""
    return span(outcome.took_ms) if _succeeded(outcome) else outcome.state.lower()
