"""`python -m integration.soak`: runs the seeds that have no result yet, and writes the table; `… chaos`: `chaos.py`."""

from __future__ import annotations

import fcntl
import signal
import sys
import time
from pathlib import Path
from typing import IO, NoReturn

import click

from integration.cluster import Cluster
from integration.soak import chaos, jobs, table
from integration.soak.run import HOSTS, PROPERTIES, run
from integration.soak.scenario import draw
from integration.submitting import base_environment
from integration.tpch.data import cache_directory
from yarnspec.minicluster import MiniCluster

TABLE = Path(__file__).parent.parent.parent / "docs" / "internals" / "soak.md"
TAIL_LINES = 12
TURN_S = 200.0
PAUSE_S = 2.0


def seeds(text: str) -> list[int]:
    """`0-9,12` as numbers."""
    found: list[int] = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        if not first.isdigit() or (dash and not last.isdigit()):
            raise click.BadParameter(f"'{text}' is not like 0-99 or 3,7,20-29", param_hint="--seeds")
        found += range(int(first), int(last if dash else first) + 1)
    return found


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--seeds", "wanted", default="0-99", show_default=True, help="Which, like 0-99 or 3,7,20-29.")
@click.option("--budget-minutes", type=click.FloatRange(min=0), help="Begin no further seed after this time.")
@click.option(
    "--home",
    type=click.Path(file_okay=False, path_type=Path),
    default=lambda: cache_directory() / "soak",
    help="Where the cluster and the results are.  [default: in the user's cache]",
)
@click.option(
    "--table", "page", type=click.Path(dir_okay=False, path_type=Path), default=TABLE, help="The page that is written."
)
@click.option("--again", is_flag=True, help="Also the seeds that have a result: the new one counts.")
@click.option(
    "--lock", type=click.Path(dir_okay=False, path_type=Path), help="A file to lock for a few seeds at a time."
)
def main(*, wanted: str, budget_minutes: float | None, home: Path, page: Path, again: bool, lock: Path | None) -> None:
    """Run random applications with random faults, and check what must hold for all of them.

    Goes on where an earlier run stopped: seeds with a result are left out.
    """
    home = home.absolute()
    results = home / "results.jsonl"
    known = {} if again else table.last(table.read(results))
    left = [seed for seed in seeds(wanted) if seed not in known]
    begun = time.monotonic()
    turn = Turn(lock)
    if left:
        with MiniCluster(home / "cluster", nodes=HOSTS, properties=PROPERTIES) as mini:
            cluster = Cluster(mini, base_environment())
            jobs.prepare(cluster)
            for seed in left:
                if budget_minutes is not None and time.monotonic() - begun > budget_minutes * 60:
                    click.echo("the time is over", err=True)
                    break
                turn.take()
                try:
                    done = run(cluster, draw(seed), home / "seeds" / str(seed))
                finally:
                    turn.give_back()
                table.append(results, done)
                page.write_text(table.markdown(table.read(results)))
                _say(done, home)
                if not done.passed:
                    _show_logs(cluster, home / "seeds" / str(seed))
    page.write_text(table.markdown(table.read(results)))
    runs = table.last(table.read(results))
    failed = [seed for seed in seeds(wanted) if seed in runs and not runs[seed].passed]
    click.echo(f"{len(runs)} runs so far, {sum(run.passed for run in runs.values())} passed")
    sys.exit(1 if failed else 0)


def _say(done: table.Run, home: Path) -> None:
    faults = "; ".join(f"{each.at_s:.1f} {each.kind} {each.target}{f' [{each.note}]' if each.note else ''}"
                       for each in done.faults)  # fmt: skip
    mark = "ok " if done.passed else "BAD"
    click.echo(
        f"{mark} seed {done.seed}: {done.program}, {done.mode}, {faults}: "
        f"{done.outcome} ({done.exit_code}), {done.attempts} attempts, {done.seconds:.0f} s"
    )
    for violation in done.violations:
        click.echo(f"    {violation}")
    if not done.passed:
        click.echo(f"    again: python -m integration.soak --seeds {done.seed} --again --home {home}")


def _show_logs(cluster: Cluster, directory: Path) -> None:
    for path in sorted(
        [*cluster.mini.home.logs.glob("*.log"), *directory.glob("containers/*/*"), *directory.glob("*.err")]
    ):
        lines = path.read_text(errors="replace").splitlines()[-TAIL_LINES:]
        if lines and path.name not in {"launch_container.sh", "directory.info"}:
            click.echo(f"--- {path}", err=True)
            click.echo("\n".join(line[:300] for line in lines), err=True)


class Turn:
    """A turn on a machine that is shared with other heavy work: a lock on a file, kept for a few seeds."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._stream: IO[str] | None = None
        self._since = 0.0

    def take(self) -> None:
        """Wait for the lock, unless it is still held."""
        if self._path is not None and self._stream is None:
            self._stream = self._path.open("a")
            fcntl.flock(self._stream, fcntl.LOCK_EX)
            self._since = time.monotonic()

    def give_back(self) -> None:
        """Let others have it when it has been held for long enough."""
        if self._stream is not None and time.monotonic() - self._since > TURN_S:
            self._stream.close()
            self._stream = None
            time.sleep(PAUSE_S)  # else this process is the first to take it again


def _interrupt(_number: int, _frame: object) -> NoReturn:
    raise KeyboardInterrupt


if __name__ == "__main__":
    # What a shell starts in the background ignores SIGINT unless it sets a handler. Each of these signals ends the run.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    if sys.argv[1:2] == ["chaos"]:
        chaos.main(sys.argv[2:])
    main()
