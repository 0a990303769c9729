"""Holds the names of the Python rooms: no class name is given twice, and no two files differ by an ending only.

RoomsTest checks the classes of Java.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
ROOMS = ("yarnspec", "cli")
"""``cli`` is yarnspec.cli, outside the package."""


def test_no_name_is_given_to_two_classes() -> None:
    places: defaultdict[str, list[str]] = defaultdict(list)
    for path in _modules():
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(f"{path.relative_to(ROOT)}:{node.lineno}")
    twice = [f"{name}: {', '.join(found)}" for name, found in sorted(places.items()) if len(found) > 1]
    assert not twice, "rename all but one, so that each name says what its class is:\n" + "\n".join(twice)


def test_no_two_files_differ_by_an_ending_only() -> None:
    """A page and pages, a report and reports: nobody can tell from such names which file holds what."""
    names: defaultdict[str, set[str]] = defaultdict(set)
    for name in (path.stem for path in _modules() if not path.stem.startswith("__")):
        names[re.sub(r"(ies|ings?|ions?|ed|e?rs?|ors?|e?s|e|y)$", "", name.replace("_", ""))].add(name)
    alike = [" and ".join(sorted(found)) for found in names.values() if len(found) > 1]
    assert not alike, "rename all but one, so that each name says what its file holds:\n" + "\n".join(alike)


def _modules() -> Iterator[Path]:
    for path in sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py")):
        if not path.is_relative_to(ROOT / "yarnspec" / "cli"):  # a link to cli
            yield path
