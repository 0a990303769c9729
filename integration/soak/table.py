"""The runs that were made: kept as JSON lines, shown as a Markdown table."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path

import msgspec

from integration.soak.faults import Done

PROSE = """\
# Soak

A part of `make soak` runs random applications with random faults on a mini cluster of four hosts, one seed each. When
this part is interrupted, it goes on where it was; the other parts begin anew. After every run these are checked:

* The run ends in time. A result that is said to be right is right. Exit code and `status` fit the end.
* No container starts on a blocked host after the block was acknowledged.
* No process, container or staging directory stays. The events are whole. There are no more than 3 attempts.

Three parts run before it. The first cuts a journal at every byte and flips its bits (`integration.soak.journal`). The
second simulates a thousand programs of shuffles (`integration.soak.everystep`). The third has the long tests on
clusters; two of them run all 99 queries of TPC-DS. The part after it is [chaos](#chaos).

In a simulated program the real core meets a driver, hosts and a journal that are played. The program's first epoch dies
at each of its steps: the driver alone, with its application master, or only taken for dead. Then its journal is sealed.
The old epoch goes on, step by step between those of the next epoch, until it is refused something or has ended. Nothing
that it records since may come into the journal. No answer that rests on such a record may reach it. The next epoch must
end right.

Only the first epoch dies at *every* step. In another run of each program the later ones die at drawn steps. After that
run, an epoch begins with every prefix of the journal that the run leaves. A simulated journal holds epochs, shuffles,
their map outputs and how far the program has got, but no records of writes, blocks, hosts or copies.

Writes have a thousand programs of their own (`tests/core`). They die at each step, once more at a drawn one, or live on
beside the next epoch. The records that a step of a write rests on are on disk before it: such a journal is cut behind
them.

## Chaos

`python -m integration.soak chaos` runs one job after the other for a quarter of an hour. It kills an executor, the
driver, the application master, a host that executes something of the job, or the ResourceManager; or it stops HDFS for
ten seconds. The next fault comes 20 to 30 s after one is over. A job has four attempts (`spark.yarn.maxAppAttempts=4`).
It must succeed with the right result, or fail with a reason after all four. An attempt whose host was lost is not one
of the four, because YARN does not count it. At the end chaos prints how many jobs there were of each kind:

* **Wrong results**: the job succeeded, and its result is missing or wrong.
* **Did not end**: the job still ran after 20 minutes, or the cluster did not come back. Chaos ends the job, shows why,
  and begins the next one.
* **Given up while attempts last**: the job failed before its fourth attempt that counts, or in an attempt that no fault
  had ended.
* **Failed without a reason**: YARN has no diagnostics of a failed job. Chaos shows the diagnostics of all the others.

If there is a job of one of these kinds, chaos fails. It then keeps the logs of that job beside the output. Failing
after all attempts is allowed and counted, too.

Three programs take turns, in an order that `--seed` decides: a chain of shuffles of RDDs; DataFrames with a Python
function; and one that writes files, new ones, more of them, and in place of others. Of
the last one chaos compares each line that lies in HDFS afterwards, of the others what they print.

Before the faults begin, four jobs run without any. The first one warms the cluster up; the others give the *undisturbed
time* of each program, from one run. If one of the four fails, chaos stops at once. Times are YARN's, from the
submission to the end. A job is compared with the undisturbed time of its own program. Jobs that lost executors and
hosts only have a line of their own. Their aim is 1.2 times the undisturbed time on average; missing it is shown, and is
no failure. With `--only 'kill executor' --only 'kill host'` every job is one. `--set NAME=VALUE` gives all jobs an
option.

## Runs

Times are seconds from the submission. A fault in brackets did nothing: no victim was left, or it was denied.
"""


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One seed, run once."""

    seed: int
    program: str
    mode: str
    excluded: str | None
    faults: list[Done]
    application: str
    attempts: int
    outcome: str
    exit_code: int | None
    seconds: float
    violations: list[str]
    day: str
    commit: str

    @property
    def passed(self) -> bool:
        """Whether everything held."""
        return not self.violations


def read(results: Path) -> list[Run]:
    """Every run, in their order; a line that was cut off by an interruption does not count."""
    runs: list[Run] = []
    if results.exists():
        for line in results.read_bytes().splitlines():
            with contextlib.suppress(msgspec.DecodeError):
                runs.append(msgspec.json.decode(line, type=Run))
    return runs


def last(runs: Iterable[Run]) -> dict[int, Run]:
    """The last run of each seed."""
    return dict(sorted({run.seed: run for run in runs}.items()))


def append(results: Path, run: Run) -> None:
    """Add a run."""
    results.parent.mkdir(parents=True, exist_ok=True)
    text = results.read_bytes() if results.exists() else b""
    separator = b"" if not text or text.endswith(b"\n") else b"\n"
    with results.open("ab") as stream:
        stream.write(separator + msgspec.json.encode(run) + b"\n")


def markdown(every: list[Run]) -> str:
    """The page: the last run of each seed, and what had not held before it was run again."""
    runs = list(last(every).values())
    before = [run for run in every if run not in runs and not run.passed]
    failed = [run for run in runs if not run.passed]
    done = sum(not fault.note for run in runs for fault in run.faults)
    again = sum(run.attempts - 1 for run in runs)
    days = sorted({run.day for run in runs})
    lines = [
        PROSE,
        f"**{len(runs)} runs, {len(runs) - len(failed)} passed, {len(failed)} failed**; {done} faults that did "
        f"something, {again} attempts that had to begin again, "
        f"{sum(run.seconds for run in runs) / 60:.0f} minutes. Run on {' to '.join([*days[:1], *days[1:][-1:]])}.",
        "",
        "| seed | program | placement | faults | attempts | outcome | seconds | all held |",
        "|---:|---|---|---|---:|---|---:|---|",
        *map(_row, runs),
    ]
    lines += _violations("What did not hold", failed)
    lines += _violations("What had not held before a change, after which the seed was run again", before)
    return "\n".join(lines) + "\n"


def _violations(title: str, runs: list[Run]) -> list[str]:
    if not runs:
        return []
    found = [f"* seed {run.seed}: {_cell(violation)}" for run in runs for violation in run.violations]
    return ["", f"## {title}", "", *found]


def _row(run: Run) -> str:
    exit_code = "" if run.exit_code is None else f" ({run.exit_code})"
    placement = run.mode + (f", without {run.excluded}" if run.excluded else "")
    cells = [
        str(run.seed), run.program, placement, "; ".join(map(_fault, run.faults)), str(run.attempts),
        f"{run.outcome}{exit_code}", f"{run.seconds:.0f}", "yes" if run.passed else "**no**",
    ]  # fmt: skip
    return f"| {' | '.join(map(_cell, cells))} |"


def _fault(fault: Done) -> str:
    text = f"{fault.at_s:.1f} {fault.kind}" + (f" {fault.target}" if fault.target else "")
    return f"[{text}]" if fault.note else text


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
