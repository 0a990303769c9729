"""Hadoop's jars, fetched once by Maven and kept in the user's cache."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from yarnspec.errors import ClusterUnreachable, UsageError
from yarnspec.jvm.maven import MavenMissing, maven_command
from yarnspec.minicluster.hadoop.home import cache_directory
from yarnspec.minicluster.machine.locks import locked

if TYPE_CHECKING:
    from collections.abc import Callable

HADOOP_VERSION = "3.5.0"
FETCH_TIMEOUT_S = 900


def hadoop_directory() -> Path:
    """Return the cache directory that holds (or will hold) this Hadoop version."""
    return cache_directory() / f"hadoop-{HADOOP_VERSION}"


def ensure_jars(directory: Path | None = None, say: Callable[[str], None] = lambda _: None) -> Path:
    """Return the directory with Hadoop's jars, fetching them first when they are not there yet.

    Starters that come at the same moment wait for the first of them. The directory appears by one rename: what is
    there is complete.
    """
    home = directory or hadoop_directory()
    jars = home / "jars"
    if jars.is_dir():
        return jars
    with locked(home.with_name(home.name + ".lock"), timeout_s=FETCH_TIMEOUT_S, doing="fetching Hadoop's jars"):
        if not jars.is_dir():
            say(f"fetching Hadoop {HADOOP_VERSION} into {home} (once, about 100 MB)")
            _fetch(home, jars)
    return jars


def _fetch(home: Path, jars: Path) -> None:
    home.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=home, prefix="fetching-") as scratch:
        pom = Path(scratch) / "pom.xml"
        pom.write_bytes(resources.files("yarnspec.minicluster").joinpath("hadoop-pom.xml").read_bytes())
        target = Path(scratch) / "jars"
        try:
            maven = maven_command()
        except MavenMissing as error:
            raise UsageError(str(error)) from None
        command = [
            *maven,
            "--batch-mode",
            "--no-transfer-progress",
            f"--file={pom}",
            "dependency:copy-dependencies",
            f"-DoutputDirectory={target}",
            "-DincludeScope=runtime",
        ]
        try:
            run = subprocess.run(
                command,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=FETCH_TIMEOUT_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise ClusterUnreachable(f"Maven did not fetch Hadoop's jars within {FETCH_TIMEOUT_S} s") from None
        if run.returncode != 0:
            shown = "\n".join(line for line in run.stdout.splitlines() if "ERROR" in line) or run.stdout[-2000:]
            raise ClusterUnreachable(f"Maven could not fetch Hadoop's jars:\n{shown}")
        if not any(target.glob("hadoop-yarn-server-resourcemanager-*.jar")):
            raise ClusterUnreachable(f"Maven ended well, but without Hadoop's jars in {target}")
        shutil.move(target, jars)
