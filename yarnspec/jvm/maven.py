"""Finds Maven on PATH or in the user's cache, or gets it: from a repository that is named, or by pyspark's Ivy.

Standard library only: `mvnw` runs this file before anything is installed.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import urllib.error
import urllib.request
from pathlib import Path

MAVEN_VERSION = "3.9.9"
MAVEN_SHA512 = (
    "a555254d6b53d267965a3404ecb14e53c3827c09c3b94b5678835887ab404556"
    "bfaf78dcfe03ba76fa2508649dca8531c74bca4d5846513522404d48e8c4ac8b"
)
_ARCHIVE = f"org/apache/maven/apache-maven/{MAVEN_VERSION}/apache-maven-{MAVEN_VERSION}-bin.tar.gz"
_IVY_TIMEOUT_S = 180
_IVY = """\
<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven">
  <info organisation="org.yarnspec" module="maven"/>
  <dependencies>
    <dependency org="org.apache.maven" name="apache-maven" rev="{version}" transitive="false">
      <artifact name="apache-maven" type="tar.gz" ext="tar.gz" m:classifier="bin"/>
    </dependency>
  </dependencies>
</ivy-module>
"""
_HOW_TO_GET = (
    "Maven is not on PATH. Install it (Debian, Ubuntu: apt-get install maven), "
    "or set MVNW_REPOURL to the base address of a Maven repository to get it from there."
)


class MavenMissing(RuntimeError):  # noqa: N818 - named for what happened
    """This machine has no Maven, and none could be fetched."""


def maven_command() -> list[str]:
    """Return the command line that starts Maven, getting Maven first where it is missing."""
    found = shutil.which("mvn")
    if found:
        return [found]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "yarnspec"
    home = cache / f"apache-maven-{MAVEN_VERSION}"
    if not (home / "bin" / "mvn").is_file():
        cache.mkdir(parents=True, exist_ok=True)
        with home.with_name(home.name + ".lock").open("a") as lock, tempfile.TemporaryDirectory(dir=cache) as scratch:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not home.is_dir():
                _get(home, Path(scratch))
    return [str(home / "bin" / "mvn")]


def _get(home: Path, scratch: Path) -> None:
    """Get the pinned Maven into `home`, which appears by one rename."""
    repository = os.environ.get("MVNW_REPOURL", "").rstrip("/")
    archive = _download(repository) if repository else _by_ivy(scratch)
    if hashlib.sha512(archive).hexdigest() != MAVEN_SHA512:
        raise MavenMissing(f"what came is not the Maven {MAVEN_VERSION} that was expected (SHA-512 differs)")
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        tar.extractall(scratch, filter="data")
    (scratch / home.name).rename(home)


def _download(repository: str) -> bytes:
    """Get the archive from the repository that the user names."""
    address = f"{repository}/{_ARCHIVE}"
    if not address.startswith(("https://", "http://", "file://")):
        raise MavenMissing(f"MVNW_REPOURL is not an address: {repository}")
    try:
        with urllib.request.urlopen(address, timeout=60) as answer:  # noqa: S310 - checked just above
            return bytes(answer.read())
    except (urllib.error.URLError, TimeoutError) as error:
        raise MavenMissing(f"cannot get Maven from {address}: {error}") from None


def _by_ivy(scratch: Path) -> bytes:
    """Let the Ivy that pyspark brings along get the archive: it knows where Maven's own repository is."""
    spec = importlib.util.find_spec("pyspark")
    found = [] if spec is None or spec.origin is None else sorted(Path(spec.origin).parent.glob("jars/ivy-*.jar"))
    java_home = os.environ.get("JAVA_HOME")
    java = f"{java_home}/bin/java" if java_home else shutil.which("java")
    if not found or java is None:
        raise MavenMissing(_HOW_TO_GET)
    print(f"getting Maven {MAVEN_VERSION} (once, about 9 MB)", file=sys.stderr)
    wanted = scratch / "ivy.xml"
    wanted.write_text(_IVY.format(version=MAVEN_VERSION), encoding="utf-8")
    pattern = f"{scratch}/[artifact].[ext]"
    command = [java, "-jar", str(found[0]), "-ivy", str(wanted), "-cache", f"{scratch}/cache", "-retrieve", pattern]
    try:
        said = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=_IVY_TIMEOUT_S, check=False
        ).stdout
    except (OSError, subprocess.TimeoutExpired) as error:
        raise MavenMissing(f"{_HOW_TO_GET}\n{error}") from None
    archive = scratch / "apache-maven.tar.gz"
    if not archive.is_file():
        raise MavenMissing(f"{_HOW_TO_GET}\n{said[-1000:]}")
    return archive.read_bytes()


def main() -> None:
    """Run Maven with our arguments in our place."""
    try:
        command = maven_command()
    except MavenMissing as error:
        sys.exit(f"error: {error}")
    os.execv(command[0], [*command, *sys.argv[1:]])  # noqa: S606


if __name__ == "__main__":
    main()
