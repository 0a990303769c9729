"""`yarnspec doctor`: does this machine, and does the cluster, have what a submit needs."""

from __future__ import annotations

import sys
import textwrap

import click
from rich.console import Console
from rich.text import Text

from yarnspec.cli.printing import Form, output_option, plain, print_document, settings_options, stdout_console
from yarnspec.gateway.submit.doctor import PYTHON_ON_HOSTS, STEPS, Check, Patient, examine, exit_code
from yarnspec.options import Options
from yarnspec.units import counted

_STYLES = {"ok": "green", "warning": "yellow", "failed": "bold red", "skipped": "dim"}
_STATE_WIDTH = max(map(len, _STYLES))
_NAME_WIDTH = max(len(step.name) for step in STEPS)

EXAMPLES = """
\b
Examples:
  yarnspec doctor
  yarnspec doctor --queue etl --environment venv:///opt/yarnspec
  yarnspec doctor --skip-hosts-check -o json | jq '.checks[] | select(.state == "failed")'
"""


@click.command(epilog=EXAMPLES)
@click.option(
    "--queue", metavar="NAME", default="default", show_default=True, help="The queue that a submit would name."
)
@click.option(
    "--environment",
    metavar="WHERE",
    help="The Python on the hosts, as in submit: python://, venv://, conda://, archive.",
)
@click.option("--skip-hosts-check", is_flag=True, help="Start no application to try out the hosts' Python.")
@output_option
@settings_options
def command(*, queue: str, environment: str | None, skip_hosts_check: bool, form: Form, settings: Options) -> int:
    """Check what a submit needs, and say what to do about what is missing.

    The checks look at this machine and at the cluster that HADOOP_CONF_DIR names. One check runs a very small
    application on a host of the cluster. The exit code is 0 if a submit can work, even with warnings. Else it is that
    of the first check that failed: 2 if something here is wrong, 4 if the cluster does not answer or refuses, 5 if
    there is no such queue.
    """
    patient = Patient(settings, queue=queue, environment=environment)
    leave_out = frozenset({PYTHON_ON_HOSTS}) if skip_hosts_check else frozenset[str]()
    console = stdout_console()
    checks = []
    for check in examine(patient, leave_out=leave_out):
        checks.append(check)
        if form == "table":
            print_check(check, console)
    patient.close()
    code = exit_code(checks)
    if form == "table":
        click.echo(_summary(checks), err=True)
    else:
        print_document({"schema": 1, "healthy": code == 0, "exit_code": code, "checks": checks}, form)
    return code


def print_check(check: Check, console: Console) -> None:
    """One row, and below it what to do; wrapped beside the names."""
    lines = [(line, "") for line in _wrapped(check.found, console)]
    if check.advice:
        style = "bold" if check.state == "failed" else ""
        lines += [(line, style) for line in _wrapped(f"→ {check.advice}", console)]
    for number, (line, style) in enumerate(lines):
        state, name = (check.state, check.name) if number == 0 else ("", "")
        row = Text(no_wrap=True)
        row.append(f"{state:<{_STATE_WIDTH}}", _STYLES[check.state])
        row.append(f"  {name:<{_NAME_WIDTH}}  ").append_text(plain(line, style))
        console.print(row, soft_wrap=True)
    sys.stdout.flush()


def _wrapped(text: str, console: Console) -> list[str]:
    width = max(20, console.width - _STATE_WIDTH - _NAME_WIDTH - 4)
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False) or [""]


def _summary(checks: list[Check]) -> str:
    failed = [check.name for check in checks if check.state == "failed"]
    warnings = sum(check.state == "warning" for check in checks)
    if failed:
        return f"yarnspec: a submit cannot work yet: {', '.join(failed)}"
    if warnings:
        return f"yarnspec: a submit can work; {counted(warnings, 'warning')}"
    return "yarnspec: all is well"
