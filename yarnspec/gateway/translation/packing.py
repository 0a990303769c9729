"""Makes archives of what Python shall find unpacked in the containers: directories and wheels of this machine."""

from __future__ import annotations

import os
import tempfile
import zipfile
from pathlib import Path

from yarnspec.errors import UsageError

_LEFT_OUT = "__pycache__"


def as_archive(source: Path, directory: Path) -> Path:
    """Return ``source`` as a file that YARN unpacks, made in ``directory`` (0700) where it is none itself.

    YARN tells an archive by the ending of its name, and a wheel is a zip file of another name.
    """
    if source.is_dir():
        return _packed(source, _place(directory))
    if source.suffix.lower() != ".whl":
        return source
    if not zipfile.is_zipfile(source):
        raise UsageError(f"--py-files {source}: it is no wheel, since it is no zip file")
    renamed = _place(directory)
    renamed.symlink_to(source)
    return renamed


def _place(directory: Path) -> Path:
    return Path(tempfile.mkdtemp(prefix="python-", dir=directory)) / "python.zip"


def _packed(source: Path, archive: Path) -> Path:
    """Write a directory's contents, without hidden files and bytecode; the same bytes for the same contents."""
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for path in _files(source, frozenset({source.resolve()})):
            try:
                info = zipfile.ZipInfo(str(path.relative_to(source)))
                info.external_attr = (path.stat().st_mode & 0o777) << 16
                packed.writestr(info, path.read_bytes(), zipfile.ZIP_DEFLATED)
            except OSError as error:
                raise UsageError(f"--py-files {source}: {path} cannot be read: {error.strerror}") from error
    return archive


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
