"""The one jar of yarnspec: what must run inside YARN's and Spark's JVMs."""

from __future__ import annotations

from pathlib import Path

from yarnspec.errors import UsageError

JAR = Path(__file__).parent / "yarnspec.jar"


def jar_path() -> Path:
    """The built jar; UsageError with the command to run when it is missing."""
    if not JAR.is_file():
        raise UsageError(f"{JAR} is missing: build it with `make jar` (or `python -m yarnspec.jvm.build`)")
    return JAR
