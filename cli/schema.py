"""`yarnspec schema`: what the JSON of other commands looks like, as JSON Schema."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import click
import msgspec

from yarnspec import options
from yarnspec.observe.forms.document import StatusDocument
from yarnspec.observe.forms.event_log_schema import events_schema

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_MAKERS: dict[str, Callable[[], dict[str, Any]]] = {
    "status": lambda: msgspec.json.schema(StatusDocument),
    "events": events_schema,
    "options": options.schema,
}

EXAMPLES = """
\b
Examples:
  yarnspec schema status > status.schema.json
  yarnspec schema events | jq '."$defs" | keys'
"""


@click.command(epilog=EXAMPLES)
@click.argument("what", metavar="status|events|options", type=click.Choice(list(_MAKERS)))
def command(*, what: str) -> None:
    """Print the JSON Schema of `status -o json`, of one line of `events -o json`, or of a file of options.

    Later versions only add fields, so a document may have more fields than this schema names. A file of options may
    not.
    """
    schema = {"$schema": _DIALECT, "title": f"yarnspec {what}", **_MAKERS[what]()}
    click.echo(msgspec.json.format(msgspec.json.encode(_readable(schema)), indent=2).decode())


def _readable(part: Any) -> Any:
    """The same with descriptions that are not indented and marked as in the source."""
    if isinstance(part, list):
        return [_readable(one) for one in part]
    if not isinstance(part, dict):
        return part
    found = {name: _readable(value) for name, value in part.items()}
    if isinstance(text := found.get("description"), str):
        found["description"] = inspect.cleandoc(text).replace("``", "`")
    return found
