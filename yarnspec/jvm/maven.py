"""Finds Maven, or gets it: on PATH, in the user's cache, from a repository, from the system's packages.

Standard library only: `mvnw` runs this file before anything is installed.
"""

from __future__ import annotations

import fcntl
import hashlib
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
_HOW_TO_GET = (
    "Maven is not on PATH. Install it (Debian, Ubuntu: apt-get install maven), "
    "or set MVNW_REPOURL to the base address of a Maven repository to get it from there."
)


class MavenMissing(RuntimeError):  # noqa: N818 - named for what happened
    """There is no Maven here, and none could be got."""


def maven_command() -> list[str]:
    """Return the command line that starts Maven, getting Maven first where it is missing."""
    found = shutil.which("mvn")
    if found:
        return [found]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "yarnspec"
    home = cache / f"apache-maven-{MAVEN_VERSION}"
    if not (home / "bin" / "mvn").is_file():
        repository = os.environ.get("MVNW_REPOURL", "").rstrip("/")
        if repository:
            _download(repository, home)
        else:
            return _from_system_packages()
    return [str(home / "bin" / "mvn")]


def _download(repository: str, home: Path) -> None:
    """Get the pinned Maven into `home`, which appears by one rename."""
    address = f"{repository}/{_ARCHIVE}"
    if not address.startswith(("https://", "http://", "file://")):
        raise MavenMissing(f"MVNW_REPOURL is not an address: {repository}")
    home.parent.mkdir(parents=True, exist_ok=True)
    with home.with_name(home.name + ".lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if home.is_dir():
            return
        try:
            with urllib.request.urlopen(address, timeout=60) as answer:  # noqa: S310 - checked just above
                archive = answer.read()
        except (urllib.error.URLError, TimeoutError) as error:
            raise MavenMissing(f"cannot get Maven from {address}: {error}") from None
        if hashlib.sha512(archive).hexdigest() != MAVEN_SHA512:
            raise MavenMissing(f"{address} is not the Maven {MAVEN_VERSION} that was expected (SHA-512 differs)")
        with tempfile.TemporaryDirectory(dir=home.parent) as scratch:
            with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
                tar.extractall(scratch, filter="data")
            (Path(scratch) / home.name).rename(home)


def _from_system_packages() -> list[str]:
    """Install the system's Maven where that needs nobody's password."""
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise MavenMissing(_HOW_TO_GET)
    print("Maven is missing: installing the system's package", file=sys.stderr)
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (
        ["apt-get", "update", "-q"],
        ["apt-get", "install", "-q", "-y", "--no-install-recommends", "maven"],
    ):
        if subprocess.run(command, env=environment, stdout=sys.stderr, check=False).returncode != 0:
            break
    found = shutil.which("mvn")
    if not found:
        raise MavenMissing(_HOW_TO_GET)
    return [found]


def main() -> None:
    """Run Maven with our arguments in our place."""
    try:
        command = maven_command()
    except MavenMissing as error:
        sys.exit(f"error: {error}")
    os.execv(command[0], [*command, *sys.argv[1:]])  # noqa: S606


if __name__ == "__main__":
    main()
