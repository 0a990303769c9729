"""`python -m integration.soak.everystep`: a thousand simulated programs, whose first life dies at each of its steps.

The driver alone does, or its master too, or it is only taken for dead and goes on between the steps of the next driver.
In another run of each program lives die at steps that are drawn, and a life begins with every prefix of the journal
that they leave. Programs that write, with a journal of their own, die at each of their steps too, or live on beside
their next driver. `make test` tries a few of all. Needs no cluster; takes some minutes.
"""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from collections.abc import Callable
from multiprocessing import Pool

import click

from tests.core.writes import test_write_lives
from yarnspec.simulate.restarts.everystep import WAYS, crash_everywhere, cut_everywhere
from yarnspec.simulate.world.rules import BrokenRule

SCENARIOS = 1_000
AT_ONCE = 8
"""How many a process takes at a time."""


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--scenarios", type=click.IntRange(min=1), default=SCENARIOS, show_default=True, help="Seeds from 0 on.")
@click.option("--processes", type=click.IntRange(min=1), default=os.cpu_count(), show_default=True, help="At a time.")
def main(*, scenarios: int, processes: int) -> None:
    """Check that the program ends, and right, and that nothing that is saved and there is computed again."""
    begun = time.monotonic()
    seen: Counter[str] = Counter()
    broken: list[str] = []
    with Pool(processes) as pool:
        for found, rules in pool.imap_unordered(_try, range(scenarios), AT_ONCE):
            seen += found
            broken += rules
    deaths = ", ".join(f"{seen[way]:,} {way}" for way in WAYS)
    click.echo(
        f"{scenarios:,} scenarios, {time.monotonic() - begun:.0f} s: deaths: {deaths}; {seen['cuts']:,} cuts; "
        f"{seen['beside']:,} steps beside a next driver; "
        f"{seen['died writing']:,} programs that write and die, {seen['beside writing']:,} that live on; "
        f"refused: {seen['fenced']:,} lives, {seen['refused']:,} records, {seen['refused_late']:,} messages; "
        f"{len(broken)} broken rules"
    )
    for text in broken[:10]:
        click.echo(f"    {text}", err=True)
    sys.exit(1 if broken else 0)


def _try(seed: int) -> tuple[Counter[str], list[str]]:
    seen: Counter[str] = Counter()
    broken = []
    checks: tuple[Callable[[int], Counter[str]], ...] = (crash_everywhere, cut_everywhere, _writes_everywhere)
    for check in checks:
        try:
            seen += check(seed)
        except BrokenRule as rule:
            broken.append(str(rule))
    return seen, broken


def _writes_everywhere(seed: int) -> Counter[str]:
    try:
        lives = [test_write_lives.crash_everywhere(seed, waits=waits) for waits in (True, False)]
        beside = test_write_lives.beside_everywhere(seed)
    except AssertionError as error:
        raise BrokenRule(f"seed {seed}, writes: {error}") from error
    died = sum(ending.total() for ending in lives)
    return Counter({"died writing": died, "beside writing": beside.total() - beside["deleted"]})


if __name__ == "__main__":
    main()
