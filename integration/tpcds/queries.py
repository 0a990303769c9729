"""The 99 queries in the words of Spark's dialect.

Only syntax is changed, never a predicate or a limit. The text itself is not ours and not in this repository.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from integration.tpcds.data import TABLES

# Spark takes "…" for text unless `spark.sql.ansi.doubleQuotedIdentifiers` is set, and has `…` for a name.
_DAYS = tuple((f'"{days} days"', f"`{days} days`") for days in ("30", "31-60", "61-90", "91-120", ">120"))
_ORDERS = tuple((f'"{name}"', f"`{name}`") for name in ("order count", "total shipping cost", "total net profit"))
CHANGES: Mapping[int, tuple[tuple[str, str], ...]] = {
    16: _ORDERS,
    32: (('"excess discount amount"', "`excess discount amount`"),),
    50: _DAYS,
    62: _DAYS,
    92: (('"Excess Discount Amount"', "`Excess Discount Amount`"),),
    94: _ORDERS,
    95: _ORDERS,
    99: _DAYS,
}
"""Query → what stands there once, and what Spark calls it. The whole list."""

FLAGS = ("--conf", "spark.sql.autoBroadcastJoinThreshold=4m")
"""For the submit. By default Spark broadcasts `customer_demographics`: 9 MB in its file, 2 million rows in a heap."""


def spark_texts(texts: Mapping[int, str]) -> dict[int, str]:
    """These queries for Spark.

    Raises:
        ValueError: a query lacks words that are to be changed, or has them twice.
    """
    return {number: _changed(number, text) for number, text in texts.items()}


def write_module(path: Path, texts: Mapping[int, str]) -> Path:
    """Write the module that the program which runs queries takes by `--py-files`."""
    lines = [
        f"TABLES = {TABLES!r}",
        f"QUERIES = {spark_texts(texts)!r}",
        "def query_text(number, scale):",
        "    return QUERIES[number]",
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


def _changed(number: int, text: str) -> str:
    for old, new in CHANGES.get(number, ()):
        if text.count(old) != 1:
            raise ValueError(f"query {number} has {old} {text.count(old)} times, and {new} is to stand for it once")
        text = text.replace(old, new)
    return text.strip().rstrip(";")
