"""Modules that the program imports and will not find: Spark's driver in client mode would find those beside it."""

from __future__ import annotations

import ast
import sys
import warnings
import zipfile
from collections.abc import Iterable
from pathlib import Path

from yarnspec.gateway.translation.files.packing import is_package
from yarnspec.gateway.translation.files.shipping import Named

# Every container has these, from where yarnspec is.
_EVERYWHERE = frozenset({"py4j", "pyspark", "yarnspec"})


def warn_of_modules_left_behind(program: Named, shipped: Iterable[Named]) -> list[str]:
    """Name what the program imports and will not find: beside it and not ``shipped``, or within a shipped package.

    Silent where that cannot be told: for a program or an archive elsewhere, or one that cannot be read.
    """
    if program.place != "gateway":
        return []
    path = Path(program.location)
    try:
        imported = _imported(path.read_bytes())
        listed = list(shipped)
        there = {name for each in listed for name in _modules(each)}
        packages = [
            Path(each.location) for each in listed if each.place == "gateway" and is_package(Path(each.location))
        ]
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError, zipfile.BadZipFile):
        return []  # whoever reads it next says what is wrong
    names = sorted(imported - there - sys.stdlib_module_names - _EVERYWHERE)
    inside = {name: package for package in packages for name in names if _beside(package / "__init__.py", name)}
    said = [
        f"the program imports {name}, which is shipped as {package.name}.{name}: import that, or name the files of "
        f"{package} in --py-files"
        for name, package in inside.items()
    ]
    left = [beside for name in names if name not in inside for beside in _beside(path, name)]
    if not left:
        return said
    called = ", ".join(each.name for each in left)
    return [
        *said,
        f"the program imports {called}, which {'is' if len(left) == 1 else 'are'} beside it and not shipped: add "
        f"--py-files {','.join(map(str, left))}, unless the containers' Python has the same",
    ]


def _imported(source: bytes) -> set[str]:
    """The first parts of the names of all modules that a program imports."""
    names: set[str] = set()
    with warnings.catch_warnings(action="ignore"):
        tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module)
    return {name.partition(".")[0] for name in names}


def _beside(program: Path, name: str) -> list[Path]:
    module, package = program.with_name(f"{name}.py"), program.with_name(name)
    if is_package(package):
        return [package]
    return [module] if module.is_file() and module != program else []


def _modules(named: Named) -> set[str]:
    """The names that Python can import from a file of --py-files; ValueError: nobody here knows."""
    name = named.file_name()
    if name.endswith(".py"):
        return {name.removesuffix(".py")}
    if named.place != "gateway":
        raise ValueError(named.location)
    path = Path(named.location)
    if path.is_dir():
        return {path.name} if is_package(path) else {each.name.removesuffix(".py") for each in path.iterdir()}
    with zipfile.ZipFile(path) as archive:
        return {each.partition("/")[0].removesuffix(".py") for each in archive.namelist()}
