"""`yarnspec replay`: what would have been found in a job that Spark has logged."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec
from click.core import ParameterSource
from rich.console import Console

from yarnspec.cli.printing import Form, columns, output_option, plain, print_document, settings_options, stdout_console
from yarnspec.errors import UsageError
from yarnspec.feed.logfiles import UnreadableLogError
from yarnspec.feed.sparklog import events, observations
from yarnspec.gateway.simulation.recorded_scenario import scenario_text
from yarnspec.observe.hindsight.alike import alike_tasks
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
@click.option("--force", is_flag=True, help="Overwrite the FILE of --to-scenario.")
@output_option
@settings_options
def command(*, log: Path, scenario: Path | None, force: bool, form: Form, settings: Options) -> None:
    """Tell which tasks and hosts would have been found slow in a job that is over.

    LOG is Spark's own event log (spark.eventLog.dir) of a job on any master: a file, or the directory of a rolled log,
    compressed or not. If the log is in HDFS, copy it with `hdfs dfs -get` first. The log holds no counters of running
    tasks. So tasks are judged by time, and by the input that they had read at their end, if it is known. The answer
    does not say how copies and blocks would have changed the rest of the job.
    """
    detector = settings.detector
    if scenario is not None:
        _refuse_without_effect()
    elif force:
        message = "--force goes with --to-scenario only"
        raise click.UsageError(message)
    try:
        if scenario is not None:
            _write(scenario, scenario_text(events(log), log.name), force=force)
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


def _refuse_without_effect() -> None:
    """Refuse options that change nothing of a scenario."""
    context = click.get_current_context()
    for name, option in (("form", "-o"), ("assignments", "--set"), ("config", "--config")):
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            message = f"--to-scenario writes a scenario, which {option} does not change: leave out one of them"
            raise click.UsageError(message)


def _write(path: Path, text: str, *, force: bool) -> None:
    try:
        with path.open("w" if force else "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:
        message = f"{path} is there already: give another name, or --force to overwrite it"
        raise UsageError(message) from error
    except OSError as error:
        message = f"{path} cannot be written: {error.strerror or error}"
        raise UsageError(message) from error


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
        tasks = columns("AFTER", "STAGE", "HOST", "TASKS", "FACTOR", "WORST")
        for each in alike_tasks(found.tasks):
            worst = plain(f"task {each.stage}.{each.worst.index}: {each.worst.reason}")
            after, stage, count = _after(each.first_ms - first_ms), str(each.stage), str(each.count)
            tasks.add_row(after, stage, plain(each.host), count, _span(each.least, each.most), worst)
        console.print(tasks)


def _span(least: float | None, most: float | None) -> str:
    if least is None or most is None:
        return "-"
    low, high = f"{least:.1f}", f"{most:.1f}"
    return f"{high} x" if low == high else f"{low} to {high} x"


def _after(passed_ms: int) -> str:
    return f"{passed_ms / 1000:.1f} s"
