"""Archives of the daemons' loaded classes (Java's class data sharing): a daemon that has one starts in half the time.

They are made once for each Java and each kind of daemon, from the first cluster that runs, and kept beside Hadoop's
jars. Java itself checks that an archive fits its class path, and goes on without when it does not.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from yarnspec.errors import ClusterUnreachable
from yarnspec.minicluster.machine.locks import locked

if TYPE_CHECKING:
    from collections.abc import Mapping

_DUMP_TIMEOUT_S = 60


class ClassArchives:
    """The archives for one Java and one directory of jars."""

    def __init__(self, jars: Path, java_home: Path) -> None:
        try:
            release = (java_home / "release").read_bytes()
        except OSError:
            release = b""
        # Another Java, or another build of it, has archives of its own.
        key = hashlib.sha256(f"{java_home}\n".encode() + release).hexdigest()[:12]
        self._directory = jars.parent / f"classes-{key}"
        self._jcmd = java_home / "bin" / "jcmd"

    def options(self, kind: str) -> list[str]:
        """Return the Java options with which this kind of daemon uses its archive, or can give one."""
        if self._path(kind).is_file():
            return [f"-XX:SharedArchiveFile={self._path(kind)}"]
        if self._can_make():
            return ["-XX:+RecordDynamicDumpInfo"]
        return []

    def make_missing(self, running: Mapping[str, int]) -> None:
        """Make the archives that are missing from running daemons (process id by kind).

        Only speed depends on it: what does not succeed is left out.
        """
        missing = {kind: pid for kind, pid in running.items() if not self._path(kind).is_file()}
        if not missing or not self._can_make():
            return
        try:
            with locked(self._directory.with_suffix(".lock"), timeout_s=0, doing="archiving classes"):
                self._directory.mkdir(exist_ok=True)
                for kind, pid in missing.items():
                    self._make(kind, pid)
        except (ClusterUnreachable, OSError, subprocess.TimeoutExpired):
            return

    def _make(self, kind: str, pid: int) -> None:
        scratch = self._directory / f"{kind}.{os.getpid()}.new"
        dump = [str(self._jcmd), str(pid), "VM.cds", "dynamic_dump", str(scratch)]
        try:
            subprocess.run(dump, capture_output=True, timeout=_DUMP_TIMEOUT_S, check=False)
            if scratch.is_file():
                scratch.rename(self._path(kind))
        finally:
            scratch.unlink(missing_ok=True)

    def _path(self, kind: str) -> Path:
        return self._directory / f"{kind}.jsa"

    def _can_make(self) -> bool:
        return self._jcmd.is_file() and os.access(self._directory.parent, os.W_OK)
