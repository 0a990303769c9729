"""How commands print: data on stdout as a table, JSON or YAML, the same options everywhere."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, TypeVar

import click
import msgspec
import yaml
from rich.console import Console
from rich.table import Table
from rich.text import Text

from yarnspec.options import Options
from yarnspec.yarn.hadoop.option_files import load_options

Form = Literal["table", "json", "yaml"]
STATE_STYLES = {"SUCCEEDED": "green", "FAILED": "red", "KILLED": "red", "RUNNING": "cyan"}
"""How the states of applications look; others have no style."""
_Function = TypeVar("_Function", bound=Callable[..., Any])

output_option = click.option(
    "-o",
    "--output",
    "form",
    type=click.Choice(["table", "json", "yaml"]),
    default="table",
    show_default=True,
    help="Output form.",
)


def sources_options(function: _Function) -> _Function:
    """Add ``--config`` and ``--set``, and hand them over as ``config`` and ``assignments``."""
    about = "Set an option; may be repeated."
    for option in (
        click.option("--config", type=click.Path(path_type=Path), metavar="FILE", help="YAML file with options."),
        click.option("--set", "assignments", multiple=True, metavar="GROUP.NAME=VALUE", help=about),
    ):
        function = option(function)
    return function


def settings_options(function: _Function) -> Callable[..., Any]:
    """Add ``--config`` and ``--set``, and hand the options in effect over as ``settings``."""

    @sources_options
    @functools.wraps(function)
    def with_settings(*args: Any, assignments: tuple[str, ...], config: Path | None, **rest: Any) -> Any:
        return function(*args, settings=settings_in_effect(config, assignments), **rest)

    return with_settings


def settings_in_effect(config: Path | None, assignments: tuple[str, ...]) -> Options:
    """The options, with what is to be said about them on stderr."""
    loaded = load_options(config, assignments)
    for warning in loaded.warnings:
        click.echo(f"warning: {warning}", err=True)
    return loaded.options


def print_document(value: object, form: Literal["json", "yaml"]) -> None:
    """One JSON or YAML document."""
    if form == "json":
        click.echo(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())
    else:
        click.echo(as_yaml(value), nl=False)


def as_yaml(value: object) -> str:
    """A value as one YAML document."""
    text: str = yaml.dump(
        msgspec.to_builtins(value),
        Dumper=_Dumper,
        sort_keys=False,
        allow_unicode=True,
        default_flow_style=False,
        width=10_000,
    )
    return text


class _Dumper(yaml.SafeDumper):
    """Writes text of several lines as lines."""


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _represent_text)


def stdout_console() -> Console:
    """Where tables go. A pipe has no width: nothing may be cut off there."""
    return Console(file=sys.stdout, width=None if sys.stdout.isatty() else 10_000, highlight=False, soft_wrap=False)


def columns(*names: str) -> Table:
    """An empty table; long values wrap instead of being cut."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for name in names:
        table.add_column(name, overflow="fold")
    return table


def plain(value: object, style: str = "") -> Text:
    """A value as it is: brackets in it are no markup, control characters do nothing to the terminal."""
    text = "" if value is None else str(value)
    return Text("".join(one if one.isprintable() or one == "\n" else "�" for one in text), style=style)
