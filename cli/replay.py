"""`yarnspec replay`: what would have been found in a job that Spark has logged."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec
from rich.console import Console

from yarnspec.cli.printing import Form, columns, output_option, plain, print_document, settings_options, stdout_console
from yarnspec.errors import UsageError
from yarnspec.feed.logfiles import UnreadableLogError
from yarnspec.feed.sparklog import observations
from yarnspec.gateway.simulation.recorded import scenario_text
from yarnspec.observe.hindsight.offline import Findings, as_it_happened, find
from yarnspec.options import Options

EXAMPLES = """
\b
Examples:
  yarnspec replay /tmp/logs/application_1700000000000_0001.zstd
  yarnspec replay /tmp/logs/application_1700000000000_0001.zstd --to-scenario job.yaml
  yarnspec replay /tmp/logs/eventlog_v2_application_1700000000000_0001 --set detector.kind=execution-time -o json
"""


@click.command(epilog=EXAMPLES)
@click.argument("log", type=click.Path(exists=True, readable=True, path_type=Path), metavar="LOG")
@click.option(
    "--to-scenario",
    "scenario",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the job as a scenario for `yarnspec simulate` instead.",
)
@output_option
@settings_options
def command(*, log: Path, scenario: Path | None, form: Form, settings: Options) -> None:
    """Tell which tasks and hosts would have been found slow in a job that is over.

    LOG is Spark's own event log (spark.eventLog.dir), of whatever master: a file, or the directory of a rolled one,
    compressed or not; copy one that is in HDFS with `hdfs dfs -get` first. It holds no counters of running tasks, so
    they are judged by time, and by their inputs as read in the end, where known; and what copies and blocks would have
    changed afterwards is not in it.
    """
    detector = settings.detector
    try:
        if scenario is not None:
            scenario.write_text(scenario_text(observations(log), log.name), encoding="utf-8")
            click.echo(f"{scenario} holds the job; try  yarnspec simulate {scenario} --compare", err=True)
            return
        found = find(as_it_happened(observations(log), detector.check_interval_ms), detector)
    except (UnreadableLogError, msgspec.DecodeError, OSError) as error:
        message = f"{log} cannot be read as an event log of Spark: {error}"
        raise UsageError(message) from error
    if not found.attempts:
        message = f"{log} tells of no task: is it an event log of Spark?"
        raise UsageError(message)
    if form == "table":
        _print(found, stdout_console())
    else:
        print_document({"schema": 1, **msgspec.to_builtins(found)}, form)


def _print(found: Findings, console: Console) -> None:
    first_ms = found.began_ms
    seen = f"of {found.attempts} task attempts in {found.stages} stages, by inputs as read in the end, where known"
    console.print(plain(seen, "bold"))
    console.print(plain(f"hosts that would have been found slow: {len(found.hosts)}"))
    if found.hosts:
        hosts = columns("AFTER", "HOST", "WHY")
        for host in found.hosts:
            hosts.add_row(_after(host.at_ms - first_ms), plain(host.verdict.host), plain(host.verdict.reason))
        console.print(hosts)
    console.print(plain(f"tasks that would have been found slow: {len(found.tasks)}"))
    if found.tasks:
        tasks = columns("AFTER", "TASK", "HOST", "WHY")
        for task in found.tasks:
            one = task.verdict
            tasks.add_row(_after(task.at_ms - first_ms), f"{one.stage}.{one.index}", plain(one.host), plain(one.reason))
        console.print(tasks)


def _after(passed_ms: int) -> str:
    return f"{passed_ms / 1000:.1f} s"
