"""Holds the names of the Python rooms: no class name is given twice, as RoomsTest checks for Java."""

import ast
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[1]
ROOMS = ("yarnspec", "cli")
"""``cli`` is yarnspec.cli, outside the package."""


def test_no_name_is_given_to_two_classes() -> None:
    places: defaultdict[str, list[str]] = defaultdict(list)
    for path in sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py")):
        if path.is_relative_to(ROOT / "yarnspec" / "cli"):
            continue  # a link to cli
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(f"{path.relative_to(ROOT)}:{node.lineno}")
    twice = [f"{name}: {', '.join(found)}" for name, found in sorted(places.items()) if len(found) > 1]
    assert not twice, "rename all but one, so that each name says what its class is:\n" + "\n".join(twice)
