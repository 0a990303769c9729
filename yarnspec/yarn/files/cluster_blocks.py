"""The list of blocked hosts that all applications of a cluster share: a directory of small files.

::

    <blocklist.cluster_directory>/<host>@<user>.json     {"schema": 1, "host": "worker7", "reason": "slow disk",
                                                          "by": "ann", "since_ms": …, "until_ms": … or null}

Each file is written whole under another name and renamed, so a reader sees all of it or nothing. A user who may write
into the directory may block hosts for everybody. The user who makes the directory lets everybody (mode 1777: nobody can
change another one's entries); an admin may narrow that. An entry belongs to its file's owner. An entry that names
somebody else is forged. Such an entry is reported and not believed, as is one that cannot be read: the others hold.
"""

from __future__ import annotations

import re
from urllib.parse import quote

import msgspec

from yarnspec.core.blocking.clusterlist import counts_since_ms
from yarnspec.core.messages.events import ClusterBlock
from yarnspec.errors import NotAllowed, NotFound, UsageError
from yarnspec.yarn.files.cluster_files import FileInfo, Files, open_files, path_of
from yarnspec.yarn.hadoop.hadoop_conf import HadoopConf

SCHEMA = 1
OFF = "none"
"""The value of ``blocklist.cluster_directory`` that says: no such list."""

_SUFFIX = ".json"
_ENTRY_BYTES = 16 * 1024
_MOST_ENTRIES = 5_000
_MOST_PROBLEMS = 20
_REASON_CHARACTERS = 500
_HOST = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._:-]{0,254}")
_EVERYBODY = 0o1777
_ABOVE = 0o755
_READABLE = 0o644
_LATEST_MS = 2**53
# Clocks of hosts differ: an entry that has just expired here may hold a little longer for its writer.
_SWEEP_AFTER_MS = 600_000


class _Entry(msgspec.Struct, frozen=True, kw_only=True):
    """The contents of a file."""

    schema: int
    host: str
    reason: str
    by: str
    since_ms: int
    until_ms: int | None = None


class ListedBlocks(msgspec.Struct, frozen=True, kw_only=True):
    """The list at one moment: what holds now, and what was not believed, in words."""

    blocks: tuple[ClusterBlock, ...] = ()
    problems: tuple[str, ...] = ()


class Standing(ClusterBlock, frozen=True, kw_only=True):
    """The user's existing entry. It was kept because the new one would end no later."""


class ClusterBlocks:
    """The shared list, as one user sees it. Files that did not change are read once only."""

    def __init__(self, files: Files, directory: str, user: str) -> None:
        self._files = files
        self._directory = directory.rstrip("/")
        self._user = user
        self._known: dict[_Stamp, _Entry | str] = {}
        self._since_ms: dict[_Stamp, int] = {}
        self._looked_ms: int | None = None

    @classmethod
    def of(cls, conf: HadoopConf, location: str, *, timeout_s: float) -> ClusterBlocks | None:
        """The list at the option's value; None when it says that there is none."""
        if location.strip().lower() == OFF:
            return None
        path = path_of(location)
        if not path.startswith("/") or not path.rstrip("/"):
            message = f"blocklist.cluster_directory: {location!r} is no absolute path of a directory (or '{OFF}')"
            raise UsageError(message)
        return cls(open_files(conf, location, timeout_s=timeout_s), path, conf.user)

    @property
    def directory(self) -> str:
        """Where it is."""
        return self._files.url(self._directory)

    def read(self, now_ms: int) -> ListedBlocks:
        """The blocks on the list. A directory that does not exist is an empty list.

        Of several entries about a host one of the directory's owner counts, else the first one, until the last of them
        ends. Since when an entry counts depends on what earlier calls found (``clusterlist.counts_since_ms``).

        Raises:
            ClusterUnreachable, NotAllowed: the file system does not answer, or refuses.
        """
        found = self._entries()
        owner = self._owner() if found else ""
        problems = {f"{info.path} is ignored: {entry}" for info, entry in found if isinstance(entry, str)}
        blocks: dict[str, ClusterBlock] = {}
        since_ms: dict[_Stamp, int] = {}
        for info, entry in found:
            if isinstance(entry, str) or _over(entry, now_ms):
                continue
            stamp = _stamp(info)
            told_ms = max(entry.since_ms, info.modified_ms)
            known_ms = self._since_ms.get(stamp)
            since_ms[stamp] = counts_since_ms(told_ms, now_ms, self._looked_ms) if known_ms is None else known_ms
            block = ClusterBlock(
                host=entry.host,
                reason=entry.reason,
                by=info.owner,
                since_ms=since_ms[stamp],
                until_ms=entry.until_ms,
                admin=info.owner == owner,
            )
            known = blocks.get(entry.host)
            blocks[entry.host] = block if known is None else _together(known, block)
        self._since_ms, self._looked_ms = since_ms, now_ms
        told = sorted(problems)
        if len(told) > _MOST_PROBLEMS:
            told = [*told[:_MOST_PROBLEMS], f"and {len(told) - _MOST_PROBLEMS} more are ignored"]
        return ListedBlocks(blocks=tuple(blocks[host] for host in sorted(blocks)), problems=tuple(told))

    def block(self, host: str, *, reason: str, duration_ms: int | None, now_ms: int) -> ClusterBlock:
        """Block a host for all applications; a shorter entry of the same user for this host is replaced.

        One that lasts as long or longer is left as it is, and returned as ``Standing``; to shorten it is to unblock.

        Raises:
            NotAllowed: this user may not write into the directory, or not make it.
        """
        if not _HOST.fullmatch(host):
            message = f"{host!r} is no host's name"
            raise UsageError(message)
        block = ClusterBlock(
            host=host,
            reason=reason[:_REASON_CHARACTERS],
            by=self._user,
            since_ms=now_ms,
            until_ms=None if duration_ms is None else now_ms + duration_ms,
        )
        own = self._own(host)
        if own is not None and _end(own) >= _end(block):
            return own
        self._make_directory()
        entry = {name: value for name, value in msgspec.structs.asdict(block).items() if name != "admin"}
        data = msgspec.json.encode({"schema": SCHEMA, **entry})
        self._files.write(self._path(host, self._user), data + b"\n", mode=_READABLE)
        return block

    def unblock(self, host: str) -> tuple[str, ...]:
        """Take a host off the list, broken and forged entries about it included; returns whose they were.

        Raises:
            NotFound: there is no entry about it.
            NotAllowed: an entry is another user's, and the file system refuses to delete it.
        """
        prefix = f"{quote(host, safe='')}@"
        found = [
            info
            for info, entry in self._entries()
            if info.name.startswith(prefix) or (isinstance(entry, _Entry) and entry.host == host)
        ]
        if not found:
            message = f"{host} is not on the cluster's list ({self.directory})"
            raise NotFound(message)
        kept = []
        for info in found:
            try:
                self._files.delete(info.path)
            except NotAllowed:
                kept.append(info.owner)
        if kept:
            message = (
                f"{host} stays blocked: {_names(kept)} blocked it, and only {_names(kept)} or the owner of "
                f"{self.directory} can take that back"
            )
            raise NotAllowed(message)
        return tuple(sorted({info.owner for info in found}))

    def sweep(self, now_ms: int) -> int:
        """Delete this user's entries that expired a while ago; returns how many."""
        swept = 0
        for info, entry in self._entries():
            if info.owner != self._user or isinstance(entry, str) or not _over(entry, now_ms - _SWEEP_AFTER_MS):
                continue
            swept += self._files.delete(info.path)
        return swept

    def _owner(self) -> str:
        try:
            return self._files.info(self._directory).owner
        except FileNotFoundError:
            return ""

    def _own(self, host: str) -> Standing | None:
        """This user's entry about a host, if there is one that is to be believed."""
        try:
            entry = self._read(self._files.info(self._path(host, self._user)))
        except (FileNotFoundError, NotAllowed, PermissionError):
            return None
        if isinstance(entry, str):
            return None
        return Standing(
            host=entry.host, reason=entry.reason, by=entry.by, since_ms=entry.since_ms, until_ms=entry.until_ms
        )

    def _entries(self) -> list[tuple[FileInfo, _Entry | str]]:
        """Each file with what it holds, or with what is wrong with it."""
        try:
            files = [one for one in self._files.list(self._directory) if _is_entry(one)]
        except FileNotFoundError:
            self._known.clear()
            return []
        if len(files) > _MOST_ENTRIES:
            # Nobody crowds out the entries of the directory's owner.
            owner = self._owner()
            files.sort(key=lambda one: one.owner != owner)
        fresh: dict[_Stamp, _Entry | str] = {}
        found: list[tuple[FileInfo, _Entry | str]] = []
        for info in files[:_MOST_ENTRIES]:
            stamp = _stamp(info)
            known = self._known.get(stamp)
            try:
                entry = self._read(info) if known is None else known
            except FileNotFoundError:
                continue  # deleted just now
            except (NotAllowed, PermissionError) as error:
                # Not remembered: a change of the file's mode does not show in its stamp.
                found.append((info, f"it may not be read: {error}"))
                continue
            fresh[stamp] = entry
            found.append((info, entry))
        found += [(info, f"there are more than {_MOST_ENTRIES} entries") for info in files[_MOST_ENTRIES:]]
        self._known = fresh
        return found

    def _read(self, info: FileInfo) -> _Entry | str:
        if info.size_bytes > _ENTRY_BYTES:
            return f"it has {info.size_bytes} bytes, and {_ENTRY_BYTES} are the most"
        try:
            entry = msgspec.json.decode(self._files.read(info.path, size_bytes=_ENTRY_BYTES + 1), type=_Entry)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            return f"it is broken: {error}"
        return self._doubt(entry, info) or msgspec.structs.replace(entry, reason=entry.reason[:_REASON_CHARACTERS])

    def _doubt(self, entry: _Entry, info: FileInfo) -> str:
        if entry.schema != SCHEMA:
            return f"it has schema {entry.schema}, and this yarnspec reads {SCHEMA}"
        if not _HOST.fullmatch(entry.host):
            return "it names no host"
        if not all(0 <= moment <= _LATEST_MS for moment in (entry.since_ms, entry.until_ms or 0)):
            return "its times are none"
        if entry.by != info.owner:
            return f"it says that it is {entry.by!r}'s, and it is {info.owner!r}'s: it is forged"
        if info.name != self._path(entry.host, info.owner).rpartition("/")[2]:
            return f"it is about {entry.host!r}, but its name is that of another host"
        return ""

    def _path(self, host: str, user: str) -> str:
        return f"{self._directory}/{quote(host, safe='')}@{quote(user, safe='')}{_SUFFIX}"

    def _make_directory(self) -> None:
        try:
            if self._files.exists(self._directory):
                return
            # One at a time: those above get the same mode, and who may write there can replace the list.
            self._files.make_directories(self._directory.rpartition("/")[0] or "/", mode=_ABOVE)
            self._files.make_directories(self._directory, mode=_EVERYBODY)
            # HDFS may take bits away from the mode when it makes directories.
            self._files.set_mode(self._directory, _EVERYBODY)
        except NotAllowed as error:
            message = (
                f"{self.directory} does not exist, and {self._user} may not make it; an admin can: "
                f"hdfs dfs -mkdir -p {self._directory} && hdfs dfs -chmod 1777 {self._directory}"
            )
            raise NotAllowed(message) from error


_Stamp = tuple[str, int, int, str]


def _stamp(info: FileInfo) -> _Stamp:
    """The marks by which a file that has changed is told from what it was."""
    return info.path, info.modified_ms, info.size_bytes, info.owner


def _is_entry(info: FileInfo) -> bool:
    # A name that begins with a dot is a file that is being written.
    return not info.is_directory and info.name.endswith(_SUFFIX) and not info.name.startswith(".")


def _over(entry: _Entry, now_ms: int) -> bool:
    return entry.until_ms is not None and entry.until_ms <= now_ms


def _together(one: ClusterBlock, other: ClusterBlock) -> ClusterBlock:
    """Merges two users' entries for one host. The earlier keeps its place even if the later lasts longer.

    Of an admin's entry and another one only the admin's counts.
    """
    if one.admin != other.admin:
        return one if one.admin else other
    first, later = sorted((one, other), key=lambda block: (block.since_ms, block.by))
    if _end(later) <= _end(first):
        return first
    said = f"{first.reason}; {later.by}: {later.reason}"[:_REASON_CHARACTERS]
    return msgspec.structs.replace(first, reason=said, until_ms=later.until_ms)


def _end(block: ClusterBlock) -> float:
    return float("inf") if block.until_ms is None else block.until_ms


def _names(users: list[str]) -> str:
    return " and ".join(sorted(set(users)))
