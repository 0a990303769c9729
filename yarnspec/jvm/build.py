"""Builds `yarnspec.jar` from the Java sources beside this file: `python -m yarnspec.jvm.build`.

With `--tests` it checks the format of the Java sources and runs JUnit's tests instead; with `--format` it formats them.

Standard library only: it runs in environments in which nothing of yarnspec's is installed.
"""

from __future__ import annotations

import fcntl
import importlib.util
import subprocess
import sys
from pathlib import Path

from yarnspec.jvm.maven import MavenMissing, maven_command

ROOM = Path(__file__).resolve().parent
POM = ROOM / "pom.xml"
JAR = ROOM / "yarnspec.jar"
SUREFIRE = ROOM / "target" / "surefire-reports"
BUILD_TIMEOUT_S = 1200


class JarNotBuilt(RuntimeError):  # noqa: N818 - named for what happened
    """The jar could not be built; the message says why."""


def is_current() -> bool:
    """Tell whether the jar is there and no source, and no list of sources, is newer."""
    if not JAR.is_file():
        return False
    built = JAR.stat().st_mtime
    # Directories count as well: they change when a source is removed.
    sources = [POM, *(ROOM / "src" / "main").rglob("*")]
    return all(source.stat().st_mtime <= built for source in sources)


def ensure_jar() -> Path:
    """Build the jar unless it is current."""
    if is_current():
        return JAR
    if not POM.is_file():
        raise JarNotBuilt(f"{JAR} is missing, and so are its sources: reinstall yarnspec")
    lock = ROOM / "target" / "build.lock"
    lock.parent.mkdir(exist_ok=True)
    with lock.open("a") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        if not is_current():
            _build()
    return JAR


def format_sources() -> None:
    """Format all Java sources.

    Raises:
        JarNotBuilt: the formatter does not understand a source.
    """
    status = _maven("-Punit-tests", "spotless:apply")
    if status != 0:
        raise JarNotBuilt(f"the Java sources cannot be formatted (exit code {status}): see above")


def run_tests() -> None:
    """Check the format of the Java sources, and run JUnit's tests.

    Raises:
        JarNotBuilt: something is not formatted (`make format` does it) or does not compile, or a test failed.
    """
    status = _maven("-Punit-tests", "test")
    if status != 0:
        raise JarNotBuilt(f"the Java sources or their tests fail (exit code {status}): see above, and {SUREFIRE}")


def _build() -> None:
    status = _maven("package")
    if status != 0 or not JAR.is_file():
        raise JarNotBuilt(f"Maven could not build {JAR} (exit code {status}); what it said is above")
    # Maven leaves a jar alone that would come out the same.
    JAR.touch()


def _maven(*goals: str) -> int:
    try:
        maven = maven_command()
    except MavenMissing as error:
        raise JarNotBuilt(str(error)) from None
    command = [*maven, "-q", "-B", f"--file={POM}", f"-Dspark.jars.dir={_spark_jars()}", *goals]
    try:
        return subprocess.run(command, stdout=sys.stderr, timeout=BUILD_TIMEOUT_S, check=False).returncode
    except subprocess.TimeoutExpired:
        raise JarNotBuilt(f"Maven did not end within {BUILD_TIMEOUT_S} s") from None


def _spark_jars() -> Path:
    """Return the jars to compile against: those of the pyspark of this Python environment."""
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise JarNotBuilt(
            "pyspark is not installed in this Python environment, and the jar is compiled against its jars: "
            "run `make jar`, or install pyspark first"
        )
    return Path(spec.origin).parent / "jars"


def main() -> None:
    """Build, and say where the jar is; or run the tests; or format the sources."""
    try:
        if sys.argv[1:] == ["--tests"]:
            run_tests()
        elif sys.argv[1:] == ["--format"]:
            format_sources()
        else:
            print(ensure_jar())
    except JarNotBuilt as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
