"""The tables of docs/spark-submit.md, from the declared flags and the treatment of Spark's properties."""

from __future__ import annotations

from yarnspec.gateway.flags.merge import ENVIRONMENT_PROPERTIES
from yarnspec.gateway.flags.request import FLAGS
from yarnspec.gateway.translation.no_effect import OWNED_KEYS, OWNED_PREFIX
from yarnspec.gateway.translation.yarn_keys import YARN_KEYS
from yarnspec.reference.tables import filled, table


def page_text() -> str:
    """The page with its tables as the code has them."""
    return filled("docs/spark-submit.md", _tables())


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
        "flags": table(("flag", "property", "", "what it does"), flags),
        "own flags": table(("flag", "what it does"), ours),
        "spark.yarn": table(("property", "", "what becomes of it"), keys),
        "owned": table(("property", "why"), owned),
        "variables": table(("variable", "property"), variables),
    }
