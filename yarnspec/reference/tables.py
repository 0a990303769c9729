"""Tables in pages whose other text is written by hand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

_ROOT = Path(__file__).parents[2]
_BEGIN = "<!-- table {name}: rendered by make docs -->\n"
_END = "<!-- end of table {name} -->"


def filled(page: str, tables: Mapping[str, str]) -> str:
    """The page with each table at the place of its name; raises ValueError if a place is missing."""
    text = (_ROOT / page).read_text(encoding="utf-8")
    for name, table in tables.items():
        begin, end = _BEGIN.format(name=name), _END.format(name=name)
        before, found, rest = text.partition(begin)
        _, found_end, after = rest.partition(end)
        if not found or not found_end:
            raise ValueError(f"{page} has no place for the table '{name}'")
        text = before + begin + table + end + after
    return text


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """A table in Markdown."""
    lines = [head, tuple("---" for _ in head), *rows]
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines)
