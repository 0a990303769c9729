"""The tables of ``docs/spark-submit.md``, made from what the code follows; run as a module, it writes them there."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from yarnspec.gateway.flags.arguments import FLAGS
from yarnspec.gateway.flags.merge import ENVIRONMENT_PROPERTIES, FLAG_PROPERTIES
from yarnspec.gateway.translation.sparkconf import OWNED_KEYS, OWNED_PREFIX
from yarnspec.gateway.translation.yarn_keys import YARN_KEYS

if TYPE_CHECKING:
    from collections.abc import Sequence

_BEGIN = "<!-- table {name}: made by python -m yarnspec.gateway.translation.reference -->\n"
_END = "<!-- end of table {name} -->"


def tables() -> dict[str, str]:
    """Return each table's Markdown by its name."""
    flags = [
        (
            ", ".join(f"`{name}`" for flag_name in flag.names for name in flag_name.split("/")),
            f"`{FLAG_PROPERTIES[flag.field]}`" if flag.field in FLAG_PROPERTIES else "",
            flag.treatment,
            flag.advice or flag.help,
        )
        for flag in FLAGS
        if flag.group == "spark-submit"
    ]
    ours = [
        (", ".join(f"`{name}`" for flag_name in flag.names for name in flag_name.split("/")), flag.help)
        for flag in FLAGS
        if flag.group == "yarnspec"
    ]
    keys = [
        (f"`{row.key}{'*' if row.key.endswith('.') else ''}`", row.treatment, row.note)
        for row in sorted(YARN_KEYS, key=lambda row: row.key)
    ]
    owned = [(f"`{key}`", reason) for key, reason in OWNED_KEYS.items()]
    owned.append((f"`{OWNED_PREFIX}*`", "it is between yarnspec's own parts"))
    variables = [(f"`{name}`", f"`{key}`") for name, key in ENVIRONMENT_PROPERTIES.items()]
    return {
        "flags": _table(("flag", "property", "", "what it does"), flags),
        "own flags": _table(("flag", "what it does"), ours),
        "spark.yarn": _table(("property", "", "what becomes of it"), keys),
        "owned": _table(("property", "why"), owned),
        "variables": _table(("variable", "property"), variables),
    }


def fill_in(document: str) -> str:
    """Return the document with its tables brought up to date; raise ValueError when it lacks one's place."""
    for name, table in tables().items():
        begin, end = _BEGIN.format(name=name), _END.format(name=name)
        before, found, rest = document.partition(begin)
        _, found_end, after = rest.partition(end)
        if not found or not found_end:
            raise ValueError(f"the document has no place for the table '{name}'")
        document = before + begin + table + end + after
    return document


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines)


if __name__ == "__main__":
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/spark-submit.md")
    path.write_text(fill_in(path.read_text(encoding="utf-8")), encoding="utf-8")
