"""Bringing what tasks need of yarnspec to the executors' Python, which need not have it installed.

Functions of ``yarnspec.window`` and ``yarnspec.sink`` are pickled by name. So Spark ships little, and the same bytes
from one driver epoch to the next (a class pickled by value differs). The workers find the names in a zip file that the
driver serves by ``addPyFile``; user code that imports one of the two finds it there, too.
"""

from __future__ import annotations

import importlib.resources
import tempfile
import threading
import weakref
import zipfile
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark import SparkContext

ZIP_NAME = "yarnspec-tasks.zip"
_PACKAGES = ("sink", "window")
# Where a host's Python has yarnspec, the rest of it shall be found there.
_PARENT = '''\
"""The part of yarnspec that tasks need, as the driver has it."""

from pkgutil import extend_path

__path__ = extend_path(__path__, __name__)
'''

_shipped: weakref.WeakSet[Any] = weakref.WeakSet()
_shipping = threading.Lock()


def ship(context: SparkContext) -> None:
    """Have all tasks from now on find the packages; once per Spark context."""
    from pyspark import SparkFiles

    with _shipping:
        if context in _shipped:
            return
        # Below the context's own directory, which goes with it; Spark serves the file from there.
        directory = tempfile.mkdtemp(prefix="yarnspec-", dir=SparkFiles.getRootDirectory())
        path = Path(directory) / ZIP_NAME
        write_zip(path)
        context.addPyFile(str(path))
        _shipped.add(context)


def write_zip(path: Path) -> None:
    """Write the packages and what they import; the same bytes each time."""
    root = importlib.resources.files("yarnspec")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        _add(archive, "yarnspec/__init__.py", _PARENT)
        for source in (root / "errors.py", root / "units.py"):
            _add(archive, f"yarnspec/{source.name}", source.read_text(encoding="utf-8"))
        for package in _PACKAGES:
            for source in sorted((each for each in (root / package).iterdir() if each.name.endswith(".py")), key=_name):
                _add(archive, f"yarnspec/{package}/{source.name}", source.read_text(encoding="utf-8"))


def _name(source: Traversable) -> str:
    return source.name


def _add(archive: zipfile.ZipFile, name: str, text: str) -> None:
    # Without a time of its own: that of 1980, with which a ZipInfo begins.
    archive.writestr(zipfile.ZipInfo(name), text, zipfile.ZIP_DEFLATED)
