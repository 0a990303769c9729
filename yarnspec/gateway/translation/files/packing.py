"""Makes archives of what Python shall find unpacked in the containers: directories and wheels of this machine."""

from __future__ import annotations

import os
import shutil
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

from yarnspec.errors import UsageError

LARGE_BYTES = 100_000_000
LARGE_FILES = 10_000
"""A directory of more than this is shipped with a word about its size."""

_LEFT_OUT = "__pycache__"
_MB = 1_000_000


def as_archive(source: Path, directory: Path, say: Callable[[str], None]) -> Path:
    """Return ``source`` as a file that YARN unpacks, made in ``directory`` (0700) where it is none itself.

    YARN tells an archive by the ending of its name, and a wheel is a zip file of another name. ``say`` hears how
    large a large directory is.

    Raises:
        UsageError: something in ``source`` cannot be read, or there is no room in ``directory``.
    """
    if source.is_dir():
        # '..' is no name.
        return _packed(source.resolve() if source.name == ".." else source, _place(directory), say)
    if source.suffix.lower() != ".whl":
        return source
    if not zipfile.is_zipfile(source):
        raise UsageError(f"--py-files {source}: it is no wheel, since it is no zip file")
    renamed = _place(directory)
    renamed.symlink_to(source)
    return renamed


def is_package(source: Path) -> bool:
    """Tell whether a directory is a Python package, which is imported by its own name."""
    return source.name.isidentifier() and (source / "__init__.py").is_file()


def _place(directory: Path) -> Path:
    return Path(tempfile.mkdtemp(prefix="python-", dir=directory)) / "python.zip"


def _packed(source: Path, archive: Path, say: Callable[[str], None]) -> Path:
    """Write a directory's contents, without hidden files and bytecode; the same bytes for the same contents.

    A package goes below its name, so that this can be imported.
    """
    beginning = source.parent if is_package(source) else source
    try:
        files = {path: path.stat() for path in _files(source, frozenset({source.resolve()}))}
    except OSError as error:
        raise _unreadable(source, error) from error
    size = sum(found.st_size for found in files.values())
    if size > LARGE_BYTES or len(files) > LARGE_FILES:
        say(
            f"--py-files {source}: {size / _MB:.0f} MB in {len(files)} files are packed, uploaded, and unpacked on "
            "every host; name only the directory that the program imports from"
        )
    try:
        with zipfile.ZipFile(archive, "w") as packed:
            for path, found in files.items():
                _add(packed, path, found, source, str(path.relative_to(beginning)))
    except OSError as error:
        raise UsageError(
            f"--py-files {source}: it cannot be packed in {archive.parent}: {error.strerror}; let TMPDIR name a "
            "directory with more room"
        ) from error
    return archive


def _add(packed: zipfile.ZipFile, path: Path, found: os.stat_result, source: Path, name: str) -> None:
    # Without a time of its own: that of 1980, with which a ZipInfo begins.
    info = zipfile.ZipInfo(name)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = (found.st_mode & 0o777) << 16
    info.file_size = found.st_size
    try:
        content = path.open("rb")
    except OSError as error:
        raise _unreadable(source, error) from error
    with content, packed.open(info, "w") as entry:
        shutil.copyfileobj(content, entry)


def _unreadable(source: Path, error: OSError) -> UsageError:
    return UsageError(
        f"--py-files {source}: {error.filename} cannot be read: {error.strerror}; make it readable, or move it out of "
        "the directory"
    )


def _files(directory: Path, above: frozenset[Path]) -> list[Path]:
    """List the files below; a link to a directory is followed, but not to one that it is in."""
    found: list[Path] = []
    with os.scandir(directory) as entries:
        paths = sorted(Path(entry.path) for entry in entries)
    for path in paths:
        if path.name.startswith(".") or path.name == _LEFT_OUT:
            continue
        if path.is_dir():
            real = path.resolve()
            found += _files(path, above | {real}) if real not in above else []
        elif path.is_file():
            found.append(path)
    return found
