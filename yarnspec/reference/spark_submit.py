"""The tables of docs/spark-submit.md, from the declared flags and the treatment of Spark's properties."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from yarnspec.gateway.flags.merge import ENVIRONMENT_PROPERTIES
from yarnspec.gateway.flags.request import FLAGS
from yarnspec.gateway.translation.sparkconf import OWNED_KEYS, OWNED_PREFIX
from yarnspec.gateway.translation.yarn_keys import YARN_KEYS

if TYPE_CHECKING:
    from collections.abc import Sequence

_PAGE = Path(__file__).parents[2] / "docs/spark-submit.md"
_BEGIN = "<!-- table {name}: rendered by make docs -->\n"
_END = "<!-- end of table {name} -->"


def page_text() -> str:
    """The page with its tables as the code has them; raises ValueError when it lacks the place of one."""
    page = _PAGE.read_text(encoding="utf-8")
    for name, table in _tables().items():
        begin, end = _BEGIN.format(name=name), _END.format(name=name)
        before, found, rest = page.partition(begin)
        _, found_end, after = rest.partition(end)
        if not found or not found_end:
            raise ValueError(f"{_PAGE} has no place for the table '{name}'")
        page = before + begin + table + end + after
    return page


def _tables() -> dict[str, str]:
    """Return each table's Markdown by its name."""
    flags = [
        (
            ", ".join(f"`{name}`" for flag_name in flag.names for name in flag_name.split("/")),
            f"`{flag.spark_property}`" if flag.spark_property else "",
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


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines)
