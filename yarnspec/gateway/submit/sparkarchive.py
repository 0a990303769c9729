"""Spark's jars as one archive in HDFS: uploaded once per Spark version, then kept by the hosts for everybody."""

from __future__ import annotations

import io
import tempfile
import uuid
import zipfile
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath
from typing import Any

from yarnspec.errors import UsageError
from yarnspec.gateway.cluster.access import Cluster
from yarnspec.spark.runtime import spark_home
from yarnspec.yarn.files.cluster_files import Files, open_files, path_of
from yarnspec.yarn.skein.skein_application import LocalizedFile

_OTHERS_READ = 0o004
_OTHERS_ENTER = 0o001
_ZIPS = (".zip", ".jar")
_CORE = "spark-core_*.jar"


def spark_jars_file(location: str, cluster: Cluster, *, dry: bool = False) -> LocalizedFile:
    """The archive at ``location``, made from the installed pyspark's jars when there is none yet.

    A world-readable one is localized as YARN's PUBLIC, which hosts keep for all users' applications, any other as
    PRIVATE, kept for this user's.

    Raises:
        UsageError: the archive that is there has the jars of another Spark than the installed pyspark.
    """
    files = open_files(cluster.conf, location)
    path = path_of(location)
    if files.exists(path):
        _check_version(files, path)
    elif not dry:
        _upload(files, path)
    public = not dry and _world_readable(files, path)
    return LocalizedFile(files.url(path), kind="ARCHIVE", visibility="PUBLIC" if public else "PRIVATE")


def _upload(files: Files, path: str) -> None:
    with tempfile.TemporaryDirectory(prefix="yarnspec-spark-jars-") as directory:
        archive = Path(directory) / "spark-jars.zip"
        # Jars are compressed already.
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_STORED) as target:
            for jar in sorted((spark_home() / "jars").glob("*.jar")):
                target.write(jar, jar.name)
        parent = path.rpartition("/")[0]
        if not files.exists(parent):
            files.make_directories(parent, mode=0o755)
        beside = f"{parent}/.{PurePosixPath(path).name}.{uuid.uuid4().hex}"
        try:
            files.upload(archive, beside, mode=0o644)
            files.rename(beside, path)
        except FileExistsError:
            # Another submit was quicker. Its application has the file's time by now: with a newer file YARN would start
            # none of its containers.
            files.delete(beside)
            _check_version(files, path)
        except BaseException:
            files.delete(beside)
            raise


def _check_version(files: Files, path: str) -> None:
    """Compare with the installed pyspark; an archive of a kind that cannot be looked into is taken as it is."""
    if not path.lower().endswith(_ZIPS):
        return
    try:
        with zipfile.ZipFile(io.BufferedReader(_Remote(files, path))) as archive:
            found = {name for name in archive.namelist() if "/" not in name and fnmatch(name, _CORE)}
    except zipfile.BadZipFile as error:
        raise UsageError(f"--spark-jars: {path} is no zip archive: {error}") from error
    wanted = {jar.name for jar in (spark_home() / "jars").glob(_CORE)}
    if found != wanted:
        raise UsageError(
            f"--spark-jars: {path} has {', '.join(sorted(found)) or 'no spark-core jar'} at its top, and the installed "
            f"pyspark {', '.join(sorted(wanted))}; name another path, and the right archive is made there"
        )


class _Remote(io.RawIOBase):
    """A file of the cluster's that is read where it is needed."""

    def __init__(self, files: Files, path: str) -> None:
        self._files = files
        self._path = path
        self._size_bytes = files.info(path).size_bytes
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        begin = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size_bytes}[whence]
        self._at = max(0, begin + offset)
        return self._at

    def readinto(self, buffer: Any) -> int:
        """Read as much as the buffer takes, or as there is."""
        view = memoryview(buffer)
        data = self._files.read(self._path, offset=self._at, size_bytes=len(view))
        view[: len(data)] = data
        self._at += len(data)
        return len(data)


def _world_readable(files: Files, path: str) -> bool:
    if not files.info(path).mode & _OTHERS_READ:
        return False
    parent = path.rpartition("/")[0]
    while parent:
        if not files.info(parent).mode & _OTHERS_ENTER:
            return False
        parent = parent.rpartition("/")[0]
    return True
