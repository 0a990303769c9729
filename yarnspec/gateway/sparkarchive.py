"""Spark's jars as one archive in HDFS: uploaded once per Spark version, then kept by the hosts for everybody."""

from __future__ import annotations

import tempfile
import zipfile
from pathlib import Path

from yarnspec.gateway.cluster import Cluster
from yarnspec.spark.runtime import spark_home
from yarnspec.yarn.files import Files, open_files, path_of
from yarnspec.yarn.skein_application import LocalizedFile

_OTHERS_READ = 0o004
_OTHERS_ENTER = 0o001


def spark_jars_file(location: str, cluster: Cluster, *, dry: bool = False) -> LocalizedFile:
    """The archive at ``location``, made from the installed pyspark's jars when there is none yet.

    A world-readable one is localized as YARN's PUBLIC, which hosts keep for all users' applications, any other as
    PRIVATE, kept for this user's.
    """
    files = open_files(cluster.conf, location)
    path = path_of(location)
    if not files.exists(path) and not dry:
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
        files.upload(archive, path, mode=0o644)


def _world_readable(files: Files, path: str) -> bool:
    if not files.info(path).mode & _OTHERS_READ:
        return False
    parent = path.rpartition("/")[0]
    while parent:
        if not files.info(parent).mode & _OTHERS_ENTER:
            return False
        parent = parent.rpartition("/")[0]
    return True
