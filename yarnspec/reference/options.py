"""conf/yarnspec.yaml and docs/options.md, from the declarations in ``core/options`` and of the detectors."""

from __future__ import annotations

import textwrap
import typing

from yarnspec.aliases import ALIASES, WITHOUT_COUNTERPART, Value
from yarnspec.core.detectors.registry import KINDS, read_by
from yarnspec.core.options.detection import CommonDetectorSettings
from yarnspec.options import Field, Options, default_options, environment_name, fields
from yarnspec.reference.sources import field_texts, sentence_of

_WIDTH = 120

_HEAD_YAML = """\
# Every option of yarnspec with its default. A copy of this file, or of a part of it, is a valid FILE for `--config
# FILE`, and for the files of all users: /etc/yarnspec/yarnspec.yaml, and yarnspec.yaml in HADOOP_CONF_DIR. They win
# over the defaults in this order, FILE over them. The same options can be set by the environment (placement.mode:
# YARNSPEC_PLACEMENT__MODE) and by `--set placement.mode=blacklist`, which win over all files in this order. If a file
# has more than half of a group's options, yarnspec takes that group for a copy of this one: options that have their
# default value there count as not set by anybody.
#
# Durations: a whole number and ms, s, min (or m), h, d. Sizes: a whole number and b, k, m, g, t (powers of 1024).
#
# `make docs` renders this file from yarnspec/core/options and yarnspec/core/detectors: change an option there.
"""

_HEAD_PAGE = """\
# Options

`make docs` renders this page and [conf/yarnspec.yaml](../conf/yarnspec.yaml) from the declarations in
`yarnspec/core/options` and `yarnspec/core/detectors`.

`--set placement.mode=blacklist` wins over the environment, the environment over `--config FILE`, and that file over the
[files for all users](operators.md#configuration), which win over the defaults. The environment variable of
`placement.mode` is `YARNSPEC_PLACEMENT__MODE`; the others are named alike.
`yarnspec config show --origin` prints each option's value and where it comes from.

A duration is a whole number and `ms`, `s`, `min` (or `m`), `h` or `d`. A size is a whole number and `b`, `k`, `m`, `g`
or `t` (powers of 1024).
"""

_HEAD_ALIASES = """\
## Names of other systems

The names of Flink's proposals and options are accepted, with a warning that says the new name. They count where they
are set, as the option's own name does: `--set` wins over the environment and that over the files, whatever the names.
In the same place the option's own name wins over these, and of two of these the newer. A warning tells of a name that
has lost. A name with a detector in it (`slow-task-detector.execution-time.…`) chooses this detector where nobody sets
`detector.kind`, and a warning says so.
"""


def yaml_text() -> str:
    """The commented configuration file that holds every default."""
    lines = [_HEAD_YAML.rstrip("\n")]
    for group, options in _groups().items():
        lines += ["", *_comment(_about_group(group), ""), f"{group}:"]
        for option in options:
            quantity = f" ({_takes(option)})" if option.unit or option.kind in (int, float) else ""
            lines += _comment(_comment_of(option) + quantity, "  ")
            lines.append(f"  {option.key.partition('.')[2]}: {_shown(option)}")
    return "\n".join(lines) + "\n"


def page_text() -> str:
    """The page of all options."""
    lines = [_HEAD_PAGE.rstrip("\n")]
    for group, options in _groups().items():
        lines += ["", f"## {group}", "", _about_group(group), "", "| option | default | values | what it does |"]
        lines.append("|---|---|---|---|")
        for option in options:
            cells = (f"`{option.key}`", f"`{_shown(option)}`", _takes(option), _comment_of(option))
            lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    lines += ["", _HEAD_ALIASES, "| name | option | in the environment | value |", "|---|---|---|---|"]
    lines += [
        f"| `{name}` | `{alias.key}` | `{environment_name(name)}` | {sentence_of(alias.convert)} |"
        for name, alias in ALIASES.items()
    ]
    lines += ["", "These names are accepted too, and have no effect, which a warning says:", ""]
    lines += ["| name | why it has no effect |", "|---|---|"]
    lines += [f"| `{name}` | {why} |" for name, why in WITHOUT_COUNTERPART.items()]
    return "\n".join(lines) + "\n"


def _groups() -> dict[str, list[Field]]:
    groups: dict[str, list[Field]] = {}
    for option in fields().values():
        groups.setdefault(option.group, []).append(option)
    return groups


def _classes(group: str) -> list[type]:
    """The classes that declare the options of a group."""
    if group == "detector":
        return [kind.settings for kind in KINDS.values()]
    return [typing.get_type_hints(Options)[group]]


def _about_group(group: str) -> str:
    return sentence_of(CommonDetectorSettings if group == "detector" else _classes(group)[0])


def _comment_of(option: Field) -> str:
    texts: dict[str, str] = {}
    for kind in _classes(option.group):
        texts |= field_texts(kind)
    said = texts[option.attribute]
    if option.key == "detector.kind":
        said += " " + " ".join(f"`{kind.name}`: {kind.about}." for kind in KINDS.values())
    if option.group == "detector" and (kinds := read_by(option.attribute)):
        said += f" Only for {' and '.join(kinds)}."
    return said


def _takes(option: Field) -> str:
    """Which values an option takes, in words."""
    if choices := typing.get_args(option.kind):
        return " | ".join(choices)
    if option.unit:
        return {"ms": "duration", "mb": "size", "bytes": "size"}[option.unit] + (
            ", may be 0 or off" if option.may_be_off else ", may be 0" * option.may_be_zero
        )
    names: dict[object, str] = {bool: "true or false", int: "whole number", float: "number", str: "text"}
    return ", ".join([names[option.kind], *(f"{words} {bound:g}" for words, bound in option.limits.items())])


def _shown(option: Field) -> str:
    value: Value = option.write(option.get(default_options()))
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}"
    return str(value) if value != "" else '""'


def _comment(text: str, indent: str) -> list[str]:
    start = f"{indent}# "
    return textwrap.wrap(
        text, _WIDTH, initial_indent=start, subsequent_indent=start, break_long_words=False, break_on_hyphens=False
    )
