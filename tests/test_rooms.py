"""Holds the Python rooms small, and their names: no class name twice, no two files that differ by an ending only.

RoomsTest checks the classes of Java.
"""

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
ROOMS = ("yarnspec", "cli")
"""``cli`` is yarnspec.cli, outside the package."""
FILES_MAX = 15
EXEMPT = (ROOT / "cli",)
"""A file for each command."""


def test_no_room_has_too_many_files() -> None:
    counts = Counter(path.parent for path in _modules() if path.parent not in EXEMPT)
    full = [f"{room.relative_to(ROOT)}: {count}" for room, count in counts.items() if count > FILES_MAX]
    assert not full, f"a room has at most {FILES_MAX} files, split it:\n" + "\n".join(full)


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
