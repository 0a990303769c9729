"""The user's files: which are uploaded or fetched by YARN, under which names, and which Spark fetches by itself."""

from __future__ import annotations

import glob
import re
from pathlib import Path, PurePosixPath
from typing import Literal
from urllib.parse import unquote, urlsplit

import msgspec

from yarnspec import plan
from yarnspec.errors import UsageError

Place = Literal["gateway", "cluster", "host", "web"]
Kind = Literal["FILE", "ARCHIVE"]

# Spark's driver downloads these, YARN cannot.
_WEB_SCHEMES = frozenset({"http", "https", "ftp", "ivy"})
_ARCHIVE_ENDINGS = (".zip", ".jar", ".tar", ".tar.gz", ".tgz")
# What the NodeManager writes into a shell script between double quotes must not be able to leave them.
_UNSAFE_LINK = re.compile(r"[\"$`\\/\n\r\0]")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")

_RESERVED_NAMES = frozenset({plan.JAR_FILE, "tmp"})
_RESERVED_BEGINNINGS = (plan.OWN_NAMES, ".skein")


class ShippedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file that YARN puts into the containers' working directories as ``link``.

    ``source`` is an absolute path on this machine or a URI of the cluster's file systems. An ARCHIVE is unpacked.
    The AM container gets all of them, executors those with ``executors``.
    """

    link: str
    source: str
    kind: Kind = "FILE"
    executors: bool = False


class Named(msgspec.Struct, frozen=True):
    """One file as a user names it: where it is, its path or URI, and the link asked for after ``#``."""

    place: Place
    location: str
    link: str | None

    def file_name(self) -> str:
        """Return the last part of its path."""
        path = self.location if self.place == "gateway" else unquote(urlsplit(self.location).path)
        return PurePosixPath(path).name


def resolve(entry: str, flag: str) -> list[Named]:
    """Find out what an entry of a flag's list means; a local pattern (``*.jar``) can mean several files.

    Raise UsageError when it names a file of this machine that is not there, or is a directory.
    """
    location, _, fragment = entry.partition("#")
    link = fragment or None
    scheme = location.split(":", 1)[0].lower() if _SCHEME.match(location) else ""
    if scheme in _WEB_SCHEMES:
        return [Named("web", entry, link)]
    if scheme == "local":
        return [Named("host", location, link)]
    if scheme not in ("", "file"):
        if re.search(r"[*?\[{]", urlsplit(location).path):
            raise UsageError(f"{flag} {entry}: patterns work for files of this machine only; name each file")
        return [Named("cluster", location, link)]
    path = unquote(urlsplit(location).path) if scheme else str(Path(location).expanduser())
    return [Named("gateway", found, link) for found in _local(path, entry, flag)]


def _local(path: str, entry: str, flag: str) -> list[str]:
    found = [path] if Path(path).exists() else sorted(glob.glob(path))  # noqa: PTH207 - absolute patterns too
    if not found:
        raise UsageError(f"{flag} {entry}: there is no such file")
    for each in found:
        if Path(each).is_dir():
            raise UsageError(f"{flag} {entry}: {each} is a directory; pack it and use --archives")
        try:
            with Path(each).open("rb"):
                pass
        except OSError as error:
            raise UsageError(f"{flag} {entry}: {each} cannot be read: {error.strerror}") from error
    return [str(Path(each).absolute()) for each in found]


class Hold:
    """Collects the files of one application; two files cannot have one link, so the first one keeps it."""

    def __init__(self) -> None:
        self._by_link: dict[str, ShippedFile] = {}
        self.warnings: list[str] = []

    def files(self) -> tuple[ShippedFile, ...]:
        """Return everything that was loaded so far."""
        return tuple(self._by_link.values())

    def program(self, program: str) -> str:
        """Load the program; return its name for spark-submit in the AM container."""
        if not program.endswith(".py"):
            raise UsageError(f"{program}: yarnspec runs PySpark programs, files that end in .py")
        (named,) = resolve(program, "program")[:1]
        return self._submit_argument(named, "program")

    def submit_list(self, entries: tuple[str, ...], flag: str) -> tuple[str, ...]:
        """Load jars or Python files, which the driver serves; return their names for spark-submit there."""
        names = [self._submit_argument(named, flag) for entry in entries for named in resolve(entry, flag)]
        return tuple(dict.fromkeys(names))

    def container_list(self, entries: tuple[str, ...], flag: str, kind: Kind) -> tuple[str, ...]:
        """Load files or archives for every container; return those that only Spark can fetch, for spark-submit."""
        left: list[str] = []
        for entry in entries:
            for named in resolve(entry, flag):
                if named.place == "web":
                    left.append(named.location)
                elif named.place == "host":
                    self.warnings.append(f"{flag} {entry}: every host has it already; no link to it is made")
                else:
                    if kind == "ARCHIVE" and not named.file_name().lower().endswith(_ARCHIVE_ENDINGS):
                        raise UsageError(f"{flag} {entry}: YARN unpacks only {', '.join(_ARCHIVE_ENDINGS)}")
                    self.load(named, flag, kind, executors=True)
        return tuple(left)

    def load(self, named: Named, flag: str, kind: Kind = "FILE", *, executors: bool, link: str | None = None) -> str:
        """Take one file under ``link`` (by default the one asked for, or its own name); return the link."""
        name = link or named.link or named.file_name()
        if link is None and (name in _RESERVED_NAMES or name.startswith(_RESERVED_BEGINNINGS)):
            raise UsageError(
                f"{flag}: yarnspec keeps a file named '{name}' in the containers; add '#' and another name"
            )
        if not name or name in (".", "..") or _UNSAFE_LINK.search(name):
            raise UsageError(f"{flag}: '{name}' cannot be the name of a file in a container")
        file = ShippedFile(link=name, source=named.location, kind=kind, executors=executors)
        earlier = self._by_link.get(name)
        if earlier is None:
            self._by_link[name] = file
        elif (earlier.source, earlier.kind) == (file.source, file.kind):
            self._by_link[name] = msgspec.structs.replace(file, executors=executors or earlier.executors)
        else:
            self.warnings.append(f"{flag} {named.location}: ignored, since '{name}' is {earlier.source} already")
        return name

    def _submit_argument(self, named: Named, flag: str) -> str:
        if named.place in ("web", "host"):
            return named.location
        # A link is for the containers' directories; what the driver serves keeps its own name, as in spark-submit.
        return self.load(msgspec.structs.replace(named, link=None), flag, executors=False)
