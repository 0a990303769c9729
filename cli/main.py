"""The `yarnspec` command: finds the subcommand, and turns every way it can end into an exit code."""

from __future__ import annotations

import importlib
import os
import platform
import re
import sys
import tempfile
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from yarnspec.cli.groups import SuggestingGroup
from yarnspec.errors import YarnspecError

if TYPE_CHECKING:
    from collections.abc import Sequence

# One line each, here and not in the modules, so that `yarnspec --help` need not import them all.
COMMANDS = (
    "submit", "status", "plan", "list", "top", "logs", "kill", "events", "explain", "report", "replay", "journal",
    "scale", "simulate", "hosts", "metrics", "doctor", "config", "schema", "completion", "minicluster",
)  # fmt: skip

EXIT_USAGE = 2
EXIT_BUG = 3
EXIT_INTERRUPTED = 130
EXIT_PIPE_CLOSED = 141

_SUMMARY = re.compile(r'short_help="(.*?)"|^def command\(.*?"""(.*?)("""|$)', re.MULTILINE | re.DOTALL)
"""The short help of a command, or the first line of its docstring."""


class LazyGroup(SuggestingGroup):
    """Imports a subcommand's module only when that subcommand is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Name the subcommands in the order of the help page."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import the subcommand of this name."""
        if cmd_name not in COMMANDS:
            return None
        command = importlib.import_module(f"yarnspec.cli.{cmd_name}").command
        if not isinstance(command, click.Command):
            raise TypeError(f"yarnspec.cli.{cmd_name}.command is not a click command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the list of subcommands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary_of(name)) for name in COMMANDS])


def summary_of(name: str) -> str:
    """What a command does in one line, read from its file: to import all of them takes seconds."""
    found = _SUMMARY.search(Path(__file__).with_name(f"{name}.py").read_text(encoding="utf-8"))
    return found[1] or found[2] if found else ""


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="yarnspec", prog_name="yarnspec")
def cli() -> None:
    """Spark on YARN that survives slow hosts and dead drivers."""


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line and leave with its exit code."""
    sys.exit(run(list(sys.argv[1:] if argv is None else argv)))


def run(argv: list[str]) -> int:
    """Run one command line; whatever happens, return an exit code and say on stderr why."""
    extra: dict[str, Any] = {"color": False} if os.environ.get("NO_COLOR") else {}
    try:
        result = cli.main(args=argv, prog_name="yarnspec", standalone_mode=False, **extra)
    except YarnspecError as error:
        _say(f"error: {error.message}")
        return error.exit_code
    except click.ClickException as error:
        _say_usage(error)
        return EXIT_USAGE
    except (click.Abort, KeyboardInterrupt):
        return EXIT_INTERRUPTED
    except SystemExit as leaving:
        # click leaves like this, with 1, when the reader of our stdout has gone away.
        return EXIT_PIPE_CLOSED if leaving.code == 1 else _as_exit_code(leaving.code)
    except Exception as error:  # the last door: what arrives here is a bug of ours
        _say(f"error: {type(error).__name__}: {error}")
        _say(f"This is a bug in yarnspec. A report to send along: {_write_report(argv, error)}")
        return EXIT_BUG
    return _as_exit_code(result)


def _as_exit_code(result: object) -> int:
    """Take a command's return value as exit code if it is one."""
    return result if isinstance(result, int) and not isinstance(result, bool) else 0


def _say_usage(error: click.ClickException) -> None:
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        _say(error.format_message())  # the help page is all there is to say
        return
    context = getattr(error, "ctx", None)
    if context is not None:
        _say(context.get_usage())
        _say(f"Try '{context.command_path} --help'.")
    _say(f"error: {error.format_message()}")


def _say(line: str) -> None:
    click.echo(line, err=True)


def _write_report(argv: list[str], error: BaseException) -> str:
    """Write the traceback to a file of its own that only the user can read.

    Arguments can carry secrets (`--conf key=value`), the environment as well: the report has the command's name only.
    """
    handle, path = tempfile.mkstemp(prefix="yarnspec-report-", suffix=".txt")
    command = argv[0] if argv and argv[0] in COMMANDS else "(none)"
    lines = [
        f"command: yarnspec {command}",
        f"python: {platform.python_version()} on {platform.platform()}",
        f"package: {Path(__file__).parent}",
        "",
        "".join(traceback.format_exception(error)),
    ]
    with os.fdopen(handle, "w", encoding="utf-8") as report:
        report.write("\n".join(lines))
    return path


if __name__ == "__main__":
    main()
