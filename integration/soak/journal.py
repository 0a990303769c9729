"""`python -m integration.soak.journal`: a journal of a thousand records, cut at every byte and with every bit flipped.

`make test` tries five hundred places of each. Needs no cluster; takes some minutes for all of them.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial

import click

from tests.journal import damage

FLIPS = 100_000
SEED = 5


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--flips", type=click.IntRange(min=1), default=FLIPS, show_default=True, help="Bits of the log to flip.")
@click.option("--seed", default=SEED, show_default=True, help="Which bits they are.")
def main(*, flips: int, seed: int) -> None:
    """Check that nothing is invented, and that all damage is noticed where it is."""
    log_bytes, seal_bytes = damage.sizes()
    bits = damage.drawn(seed, flips, 8 * log_bytes)
    passed = [
        _all("cuts of a log that is not sealed", damage.check_cut, range(log_bytes + 1)),
        _all("cuts of a sealed log", damage.check_cut_of_sealed, range(log_bytes)),
        _all("flipped bits of a log that is not sealed", partial(damage.check_flip, sealed=False), bits),
        _all("flipped bits of a sealed log", partial(damage.check_flip, sealed=True), bits),
        _all("flipped bits of a seal", damage.check_flip_of_seal, range(8 * seal_bytes)),
    ]
    sys.exit(0 if all(passed) else 1)


def _all(what: str, check: Callable[[int], None], places: range | list[int]) -> bool:
    begun = time.monotonic()
    failures = []
    for place in places:
        try:
            check(place)
        except AssertionError as failure:
            failures.append(str(failure))
    click.echo(f"{len(places):,} {what}: {len(failures)} failures, {time.monotonic() - begun:.0f} s")
    for text in failures[:10]:
        click.echo(f"    {text}", err=True)
    return not failures


if __name__ == "__main__":
    main()
