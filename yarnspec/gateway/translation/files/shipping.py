"""The user's files: which are uploaded or fetched by YARN, under which names, and which Spark fetches by itself."""

from __future__ import annotations

import glob
import hashlib
import re
from pathlib import Path, PurePosixPath
from typing import Literal
from urllib.parse import unquote, urlsplit

import msgspec

from yarnspec import plan
from yarnspec.errors import UsageError
from yarnspec.gateway.translation.cluster_paths import whole_uri
from yarnspec.gateway.translation.files.packing import is_package

Place = Literal["gateway", "cluster", "host", "web"]
Kind = Literal["FILE", "ARCHIVE"]

# Spark's driver downloads these, YARN cannot.
_WEB_SCHEMES = frozenset({"http", "https", "ftp", "ivy"})
_ARCHIVE_ENDINGS = (".zip", ".jar", ".tar", ".tar.gz", ".tgz")
_WHEEL_ENDING = ".whl"
# The NodeManager writes the name into a shell script between double quotes, and the name must not be able to leave
# them. It also takes the name for a path of Hadoop's, where a colon ends a scheme.
_UNSAFE_LINK = re.compile(r"[\"$`\\/:\n\r\0]")
# Spark takes names in its lists for URIs and for patterns: '#', '%', '[', '*' and their like mean something else there.
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_+=@~.][A-Za-z0-9_+=@~.-]*")
# The name of a module is that of its file, so that only names that no module can have are replaced.
_MODULE_NAME = re.compile(r"[^-,:#%*?\[\]{}\\][^,:#%*?\[\]{}\\]*\.py")
# The program stands in no list.
_PROGRAM_NAME = re.compile(r"[^-:#?][^:#?]*")
_IMPORTED_ENDINGS = (".py", ".zip", ".egg", ".whl", ".jar")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")

_RESERVED_NAMES = frozenset({plan.JAR_FILE, "tmp"})
_RESERVED_BEGINNINGS = (plan.OWN_NAMES, ".skein")
# Skein's application master looks into its working directory first: a file of this name would hide ours.
_CLUSTERS_FILE = "yarn-site.xml"
_OWN_PYTHON = f"{plan.OWN_NAMES}py-"
_WORKING_DIRECTORY = "{{PWD}}"


class ShippedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file that YARN puts into the containers' working directories as ``link``.

    ``source`` is an absolute path on this machine or a URL of the cluster's file systems, without percent-escapes. An
    ARCHIVE is unpacked; a directory or a wheel of this machine is packed for that (``packing``). The AM container gets
    all of them, executors those with ``executors``.
    """

    link: str
    source: str
    kind: Kind = "FILE"
    executors: bool = False


class Named(msgspec.Struct, frozen=True):
    """One file as a user names it: where it is, its path or URI, and the link asked for after ``#``.

    The URL of a file of the cluster has no percent-escapes any more; what Spark fetches itself keeps them.
    """

    place: Place
    location: str
    link: str | None

    def file_name(self) -> str:
        """Return the last part of its path."""
        if self.place in ("gateway", "cluster"):
            return PurePosixPath(self.location).name
        return PurePosixPath(unquote(urlsplit(self.location).path)).name

    def is_wheel(self) -> bool:
        """Tell whether it is a Python wheel."""
        return self.file_name().lower().endswith(_WHEEL_ENDING)


def resolve(entry: str, flag: str, *, directories: bool = False) -> list[Named]:
    """Find out what an entry of a flag's list means; a local pattern (``*.jar``) can mean several files.

    Raise UsageError when it names a file of this machine that is not there, or a directory where that makes no sense.
    """
    location, _, fragment = entry.partition("#")
    link = unquote(fragment) or None
    if link is not None and not _SCHEME.match(location) and _exists(entry, entry, flag):
        location, link = entry, None  # a file with '#' in its name
    scheme = location.split(":", 1)[0].lower() if _SCHEME.match(location) else ""
    if scheme in _WEB_SCHEMES:
        return [Named("web", entry, link)]
    if scheme == "local":
        return [Named("host", location, link)]
    if scheme not in ("", "file"):
        uri = _uri(location, f"{flag} {entry}")
        if re.search(r"[*?\[{]", urlsplit(location).path):
            raise UsageError(f"{flag} {entry}: patterns work for files of this machine only; name each file")
        return [Named("cluster", uri, link)]
    path = unquote(urlsplit(location).path) if scheme else str(Path(location).expanduser())
    found = _local(path, entry, flag, directories=directories)
    if link is not None and len(found) > 1:
        raise UsageError(f"{flag} {entry}: {len(found)} files fit, and only one can be called '{link}'; name each file")
    return [Named("gateway", each, link) for each in found]


def _uri(text: str, said: str) -> str:
    """A whole URI of the cluster, unescaped."""
    uri = whole_uri(text)
    try:
        whole = urlsplit(uri).path.startswith("/") and urlsplit(uri).port != 0
    except ValueError:  # the port is no number, or a bracket stays open
        whole = False
    if not whole:
        raise UsageError(f"{said}: write a whole URI, like hdfs:///path or hdfs://host:8020/path")
    return whole_uri(unquote(uri))


def _exists(path: str, entry: str, flag: str) -> bool:
    try:
        return Path(path).expanduser().exists()
    except OSError as error:  # a directory on the way
        raise UsageError(f"{flag} {entry}: it cannot be read: {error.strerror}") from error


def _local(path: str, entry: str, flag: str, *, directories: bool) -> list[str]:
    if _exists(path, entry, flag):
        found = [path]
    else:
        # As in Spark, a pattern means files. Python's packages are the only directories that anybody can mean by one.
        fit = sorted(glob.glob(path))  # noqa: PTH207 - absolute patterns too
        found = [each for each in fit if not Path(each).is_dir() or (directories and is_package(Path(each)))]
        if fit and not found:
            raise UsageError(f"{flag} {entry}: no file fits, only directories; name the files in them")
    if not found:
        raise UsageError(f"{flag} {entry}: there is no such file")
    for each in found:
        if Path(each).is_dir():
            if directories:
                continue
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
        self.modules: list[Named] = []
        """What Python may be able to import in the containers."""
        self.listed: dict[str, None] = {}
        """The links of files and archives."""
        self._python: dict[str, str] = {}

    def python_path(self) -> tuple[str, ...]:
        """Return the containers' PYTHONPATH: modules first, as in Spark, then everything in the order of the list."""
        return tuple(sorted(dict.fromkeys(self._python.values()), key=_WORKING_DIRECTORY.__ne__))

    def python_files(self) -> tuple[str, ...]:
        """Return the Python files that are not unpacked: their links, or their paths on the hosts."""
        return tuple(name for name in self._python if not name.startswith(_OWN_PYTHON))

    def files(self) -> tuple[ShippedFile, ...]:
        """Return everything that was loaded so far."""
        return tuple(self._by_link.values())

    def program(self, program: str) -> str:
        """Load the program; return its name for spark-submit in the AM container."""
        if not program.endswith(".py"):
            raise UsageError(f"{program}: yarnspec runs PySpark programs, files that end in .py")
        (named,) = resolve(program, "program")[:1]
        return self._submit_argument(named, "program", _PROGRAM_NAME, executors=False)

    def submit_list(self, entries: tuple[str, ...], flag: str) -> tuple[str, ...]:
        """Load jars for every container; return their names for spark-submit in the AM container."""
        names = [
            self._submit_argument(named, flag, _PLAIN_NAME, executors=True)
            for entry in entries
            for named in resolve(entry, flag)
        ]
        return tuple(dict.fromkeys(names))

    def python_list(self, entries: tuple[str, ...], flag: str) -> tuple[str, ...]:
        """Load Python files for every container, and note the PYTHONPATH; return those that only Spark can fetch."""
        left: list[str] = []
        for entry in entries:
            for named in resolve(entry, flag, directories=True):
                self._check_python(named, entry, flag)
                self.modules.append(named)
                if named.place == "web":
                    left.append(named.location)
                elif named.place == "host":
                    path = urlsplit(named.location).path
                    self._python[path] = str(PurePosixPath(path).parent) if path.endswith(".py") else path
                elif named.place == "gateway" and (named.is_wheel() or Path(named.location).is_dir()):
                    # Python imports neither compiled modules nor directories of data from an archive. The link has
                    # more than the name: two directories of one name, as 'src', are no clash.
                    link = f"{_OWN_PYTHON}{_made_plain(named.file_name(), named.location)}"
                    self.load(named, flag, "ARCHIVE", executors=True, link=link)
                    self._python[link] = f"{_WORKING_DIRECTORY}/{link}"
                else:
                    module = named.file_name().endswith(".py")
                    link = self._plainly(named, flag, _MODULE_NAME if module else _PLAIN_NAME, executors=True)
                    self._python[link] = _WORKING_DIRECTORY if module else f"{_WORKING_DIRECTORY}/{link}"
        return tuple(dict.fromkeys(left))

    def _check_python(self, named: Named, entry: str, flag: str) -> None:
        name = named.file_name()
        if named.place == "cluster" and not PurePosixPath(name).suffix:
            raise UsageError(
                f"{flag} {entry}: Python imports nothing from a directory of the cluster's file system; copy it to "
                "this machine, or name an archive"
            )
        directory = named.place == "host" or (named.place == "gateway" and Path(named.location).is_dir())
        if not directory and not name.lower().endswith(_IMPORTED_ENDINGS):
            self.warnings.append(
                f"{flag} {entry}: Python imports nothing from it; name files that end in "
                f"{', '.join(_IMPORTED_ENDINGS)}, or directories of this machine"
            )

    def container_list(self, entries: tuple[str, ...], flag: str, kind: Kind) -> tuple[str, ...]:
        """Load files or archives for every container; return those that only Spark can fetch, for spark-submit."""
        left: list[str] = []
        for entry in entries:
            for named in resolve(entry, flag):
                if named.file_name().endswith(".py"):
                    self.modules.append(named)
                if named.place == "web":
                    left.append(named.location)
                elif named.place == "host":
                    self.warnings.append(f"{flag} {entry}: every host has it already; no link to it is made")
                elif (named.link or named.file_name()) == _CLUSTERS_FILE:
                    self.warnings.append(
                        f"{flag} {entry}: left out; every container has the cluster's {_CLUSTERS_FILE}, with what the "
                        "application master needs"
                    )
                else:
                    if kind == "ARCHIVE" and not named.file_name().lower().endswith(_ARCHIVE_ENDINGS):
                        raise UsageError(f"{flag} {entry}: YARN unpacks only {', '.join(_ARCHIVE_ENDINGS)}")
                    self.listed[self.load(named, flag, kind, executors=True)] = None
        return tuple(left)

    def load(self, named: Named, flag: str, kind: Kind = "FILE", *, executors: bool, link: str | None = None) -> str:
        """Take one file under ``link`` (by default the one asked for, or its own name); return the link."""
        name = link or named.link or named.file_name()
        if link is None and (name in _RESERVED_NAMES or name.startswith(_RESERVED_BEGINNINGS)):
            raise UsageError(
                f"{flag}: yarnspec keeps a file named '{name}' in the containers; add '#' and another name"
            )
        if not name or name in (".", "..") or _UNSAFE_LINK.search(name):
            raise UsageError(f"{flag}: '{name}' cannot be the name of a file in a container; add '#' and another name")
        file = ShippedFile(link=name, source=named.location, kind=kind, executors=executors)
        earlier = self._by_link.get(name)
        if earlier is None:
            self._by_link[name] = file
        elif (earlier.source, earlier.kind) == (file.source, file.kind):
            self._by_link[name] = msgspec.structs.replace(file, executors=executors or earlier.executors)
        else:
            self.warnings.append(f"{flag} {named.location}: ignored, since '{name}' is {earlier.source} already")
        return name

    def _submit_argument(self, named: Named, flag: str, kept: re.Pattern[str], *, executors: bool) -> str:
        if named.place in ("web", "host"):
            return named.location
        return self._plainly(named, flag, kept, executors=executors)

    def _plainly(self, named: Named, flag: str, kept: re.Pattern[str], *, executors: bool) -> str:
        # A link asked for is for --files and --archives; other files keep their own names, as in spark-submit.
        named = msgspec.structs.replace(named, link=None)
        name = named.file_name()
        link = None if kept.fullmatch(name) else _made_plain(name, named.location)
        return self.load(named, flag, executors=executors, link=link)


def _made_plain(name: str, location: str) -> str:
    """Return a name of plain letters that ends as this one does; another one for a file of this name elsewhere."""
    letters = re.sub(r"[^A-Za-z0-9_+=@~.]+", "-", name).lstrip("-")
    return f"{hashlib.sha256(location.encode(errors='surrogateescape')).hexdigest()[:8]}-{letters}"
