"""Finds the Java that the daemons run on."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from yarnspec.errors import UsageError

OLDEST = 17
_INSTALL = "install a JDK 17 (Debian, Ubuntu: apt-get install openjdk-17-jdk-headless) or set JAVA_HOME to one"


def find_java_home() -> Path:
    """Return the home of a Java that is new enough: JAVA_HOME, else the `java` on PATH."""
    named = os.environ.get("JAVA_HOME")
    if named:
        home = Path(named)
        if not (home / "bin" / "java").is_file():
            raise UsageError(f"JAVA_HOME is {named}, and there is no bin/java in it: {_INSTALL}")
    else:
        found = shutil.which("java")
        if found is None:
            raise UsageError(f"there is no java: {_INSTALL}")
        home = Path(found).resolve().parent.parent
    version = _version(home)
    if version is not None and version < OLDEST:
        raise UsageError(f"the java in {home} is version {version}: {_INSTALL}")
    return home


def _version(home: Path) -> int | None:
    """Read the version that a Java names in its `release` file; None when it has none."""
    try:
        release = (home / "release").read_text(errors="replace")
    except OSError:
        return None
    found = re.search(r'^JAVA_VERSION="(?:1\.)?(\d+)', release, re.MULTILINE)
    return int(found.group(1)) if found else None
