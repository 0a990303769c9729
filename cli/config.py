"""`yarnspec config show`: the options in effect, and where each value came from."""

from __future__ import annotations

import sys
from pathlib import Path

import click
import msgspec
import yaml
from rich.console import Console
from rich.table import Table

from yarnspec.cli.groups import SuggestingGroup
from yarnspec.cli.printing import Form, output_option, plain, sources_options
from yarnspec.options import SCHEMA, Loaded
from yarnspec.yarn.hadoop.option_files import load_options


@click.group(cls=SuggestingGroup)
def command() -> None:
    """Show the options, their values and where each comes from."""


@command.command()
@click.option("--origin", is_flag=True, help="Also show where each value comes from.")
@output_option
@sources_options
def show(*, origin: bool, form: Form, assignments: tuple[str, ...], config: Path | None) -> None:
    """Print every option with its value, as a submit with the same flags, files and environment would see it.

    Without --origin the YAML output is a configuration file for --config.
    """
    loaded = load_options(config, assignments)
    for warning in loaded.warnings:
        click.echo(f"warning: {warning}", err=True)
    if form == "table":
        _print_table(loaded, origin=origin)
        return
    document: dict[str, dict[str, object]] = {}
    for key, value in loaded.values().items():
        group, name = key.split(".", 1)
        entry = {"value": value, "origin": loaded.origins[key]} if origin else value
        document.setdefault(group, {})[name] = entry
    if form == "json":
        click.echo(msgspec.json.format(msgspec.json.encode({"schema": SCHEMA} | document), indent=2).decode())
    else:
        click.echo(yaml.safe_dump(document, sort_keys=False), nl=False)


def _print_table(loaded: Loaded, *, origin: bool) -> None:
    table = Table("option", "value", *(["origin"] if origin else []), box=None, pad_edge=False)
    for key, value in loaded.values().items():
        shown = str(value).lower() if isinstance(value, bool) else str(value)
        table.add_row(key, plain(shown), *([plain(loaded.origins[key])] if origin else []))
    # A pipe has no width: nothing may be cut off there.
    Console(file=sys.stdout, width=None if sys.stdout.isatty() else 10_000, highlight=False).print(table)
