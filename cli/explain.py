"""`yarnspec explain`: why a task or a host was, or was not, acted on."""

from __future__ import annotations

import click
from rich.console import Console

from yarnspec.cli.names import HOST, application_argument
from yarnspec.cli.printing import Form, columns, output_option, plain, print_document, settings_options, stdout_console
from yarnspec.core.copies.speculationview import Explanation
from yarnspec.gateway.application.handle import Application
from yarnspec.observe.hindsight.alike import alike_lines
from yarnspec.options import Options

_LINES = 52
"""More are left out in the middle."""

EXAMPLES = """
\b
Examples:
  yarnspec explain application_1700000000000_0001 --task 3.17
  yarnspec explain application_1700000000000_0001 --host worker7
"""


@click.command(epilog=EXAMPLES)
@application_argument
@click.option("--task", metavar="STAGE.INDEX", help="Tell why this task was found slow and copied, or was not.")
@click.option("--host", metavar="HOST", type=HOST, help="Tell why this host was blocked, or was not.")
@output_option
@settings_options
def command(*, application: str, task: str | None, host: str | None, form: Form, settings: Options) -> None:
    """Tell why a task or a host was acted on, or was not.

    While the application runs, its negotiator answers. After the end, or if the negotiator has forgotten, the recorded
    events answer. They hold when tasks began and ended, but not how far tasks were in between. So a task that was never
    found slow is judged again by time alone, without inputs, and so is a host's speed.
    """
    if (task is None) == (host is None):
        message = (
            "explain what? Give --task STAGE.INDEX or --host HOST. "
            f"An overview: yarnspec status {application}, or the page: yarnspec report {application}"
        )
        raise click.UsageError(message)
    with Application.from_id(application, settings=settings) as found:
        explanation = found.explain(task=task, host=host)
    if form == "table":
        print_explanation(explanation, stdout_console())
    else:
        print_document({"schema": 1, **_fields(explanation)}, form)


def print_explanation(explanation: Explanation, console: Console) -> None:
    """The sentence, the story and the numbers."""
    console.print(plain(f"{explanation.subject}: {explanation.verdict}", "bold"))
    lines = alike_lines(explanation.lines)
    if len(lines) > _LINES:
        lines = [*lines[: _LINES // 2], f"({len(lines) - _LINES} more)", *lines[-_LINES // 2 :]]
    for line in lines:
        console.print(plain(f"  {line}"))
    if explanation.numbers:
        console.print()
        table = columns("NUMBER", "VALUE")
        for name, value in explanation.numbers.items():
            table.add_row(plain(name), plain(value if isinstance(value, str) else f"{value:.10g}"))
        console.print(table)


def _fields(explanation: Explanation) -> dict[str, object]:
    return {name: getattr(explanation, name) for name in explanation.__struct_fields__}
