"""The one jar of yarnspec: what must run inside YARN's and Spark's JVMs.

This room decides how the jar is built and where it lies. The room must not know what the negotiator decides: its Java
does what it is told. Each Java package says in its ``package-info.java`` what it decides.
"""

from __future__ import annotations

from pathlib import Path

from yarnspec.errors import UsageError

JAR = Path(__file__).parent / "yarnspec.jar"


def jar_path() -> Path:
    """The built jar; UsageError with the command to run when it is missing."""
    if not JAR.is_file():
        raise UsageError(f"{JAR} is missing: build it with `make jar` (or `python -m yarnspec.jvm.build`)")
    return JAR
