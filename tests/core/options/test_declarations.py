"""The declarations of options: their names, comments, units and bounds."""

from __future__ import annotations

import typing

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from yarnspec import options
from yarnspec.aliases import Value
from yarnspec.reference.options import yaml_text


def test_the_file_and_the_types_name_the_same_options() -> None:
    groups = yaml.safe_load(yaml_text())
    named = {f"{group}.{name}" for group, names in groups.items() for name in names}
    assert named == set(options.fields())


def test_every_option_has_a_comment_and_quantities_name_their_kind() -> None:
    lines = yaml_text().splitlines()
    for key, field in options.fields().items():
        name = key.split(".")[1]
        group = lines.index(f"{field.group}:")
        at = next(number for number in range(group, len(lines)) if lines[number].startswith(f"  {name}:"))
        comment: list[str] = []
        while lines[at - 1].startswith("  #"):
            at -= 1
            comment.insert(0, lines[at])
        assert comment, key
        kind = {"ms": "(duration", "mb": "(size", "bytes": "(size"}.get(field.unit)
        assert kind is None or kind in " ".join(comment), key


def _values(field: options.Field) -> st.SearchStrategy[Value]:
    if field.unit:
        return st.integers(min_value=1, max_value=2**40)
    if field.kind is bool:
        return st.booleans()
    if field.kind is int:
        return st.integers(min_value=1, max_value=9 if field.key == "recovery.driver_restarts" else 1000)
    if field.kind is float:
        return st.floats(min_value=0.01, max_value=1)
    choices = typing.get_args(field.kind)
    return st.sampled_from(choices) if choices else st.from_regex(r"[a-z/~.]{1,20}", fullmatch=True)


@given(st.data())
def test_what_an_option_writes_it_reads_back(data: st.DataObject) -> None:
    for field in options.fields().values():
        value = data.draw(_values(field))
        assert field.read(field.write(value)) == value


@pytest.mark.parametrize("text", ["0", "0 s", "0 min"])
def test_a_wait_of_no_time_means_for_ever(text: str) -> None:
    assert options.load(None, [f"resources.wait_timeout={text}"], {}).options.resources.wait_timeout_ms == 0
