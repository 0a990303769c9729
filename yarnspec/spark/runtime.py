"""Where Spark is, and how a JVM of Spark 4.3 must be started."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from pathlib import Path

from yarnspec.errors import UsageError

SPARK_VERSION = "4.3"

MASTER = "yarn"
"""The master that programs see, and that our cluster manager claims."""

DEPLOY_MODE_KEY = "spark.yarnspec.deployMode"
"""The deploy mode of the user's command line, which the program sees. The driver's own command line says ``client``.

For ``cluster`` spark-submit would ask for Spark's own YARN client. ``DRIVER_MAIN`` sets the mode afterwards.
"""

COMMAND_LINE_MASTER = "local-yarnspec"
"""The master on the driver's command line: spark-submit lets every name through that begins with ``local``.

With ``yarn`` it would ask for Spark's own YARN client. ``DRIVER_MAIN`` sets the master's name afterwards.
"""

DRIVER_MAIN = "org.yarnspec.driver.ProgramSubmit"
"""The driver's main class: spark-submit itself, which then names the master ``yarn`` and puts our hook first."""

MODULE_OPTIONS = (
    "-XX:+IgnoreUnrecognizedVMOptions",
    "--add-modules=jdk.incubator.vector",
    *(
        f"--add-opens=java.base/{package}=ALL-UNNAMED"
        for package in (
            "java.lang",
            "java.lang.invoke",
            "java.lang.reflect",
            "java.io",
            "java.net",
            "java.nio",
            "java.util",
            "java.util.concurrent",
            "java.util.concurrent.atomic",
            "jdk.internal.ref",
            "sun.nio.ch",
            "sun.nio.cs",
            "sun.security.action",
            "sun.util.calendar",
        )
    ),
    "--add-opens=java.security.jgss/sun.security.krb5=ALL-UNNAMED",
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-Dio.netty.allocator.type=pooled",
    "-Dio.netty.handler.ssl.defaultEndpointVerificationAlgorithm=NONE",
    "--sun-misc-unsafe-memory-access=allow",
    "--enable-native-access=ALL-UNNAMED",
)
"""The options that ``org.apache.spark.launcher.JavaModuleOptions`` of Spark 4.3.0 prints; a test compares the two."""

UTF_8_FOR_THE_JVM = """\
case "$(locale charmap 2>/dev/null || true)" in
  '' | ANSI_X3.4-1968 | US-ASCII)
    for locale in C.UTF-8 C.utf8 en_US.UTF-8; do
      if [ "$(LC_ALL=$locale locale charmap 2>/dev/null || true)" = UTF-8 ]; then
        export LC_CTYPE=$locale
        if [ -n "${LC_ALL:-}" ]; then export LC_ALL=$locale; fi
        break
      fi
    done
    ;;
esac"""
"""Lines of shell to run before a JVM. Java 17 reads and writes arguments and names of files in the locale's letters.

The locales C and POSIX, and one that the host does not have, know ASCII alone: every other letter would become a
question mark. Python 3.7 and later takes UTF-8 there by itself (PEP 538); here the JVM gets the same.
"""


def spark_home() -> Path:
    """The directory of the installed pyspark, which is a whole Spark distribution.

    Raises:
        UsageError: pyspark is missing, or its version is not the one our hooks were written for.
    """
    found = importlib.util.find_spec("pyspark")
    if found is None or not found.submodule_search_locations:
        message = "pyspark is not installed in this Python; install yarnspec with its dependencies"
        raise UsageError(message)
    home = Path(found.submodule_search_locations[0])
    version = next(iter(home.glob("jars/spark-core_2.13-*.jar")), Path("unknown")).stem.rpartition("-")[2]
    if not version.startswith(f"{SPARK_VERSION}."):
        message = f"Spark {version} at {home} does not fit: this yarnspec works with Spark {SPARK_VERSION}.x only"
        raise UsageError(message)
    return home


def conf_directory(environ: Mapping[str, str]) -> Path | None:
    """Find Spark's configuration directory as spark-submit does, or None when it is not there."""
    if environ.get("SPARK_CONF_DIR"):
        found = Path(environ["SPARK_CONF_DIR"])
    elif environ.get("SPARK_HOME"):
        found = Path(environ["SPARK_HOME"]) / "conf"
    else:
        package = importlib.util.find_spec("pyspark")
        places = package.submodule_search_locations if package else None
        if not places:
            return None
        found = Path(places[0]) / "conf"
    return found if found.is_dir() else None


def driver_class_path(jars: Path) -> list[str]:
    """Spark's jars without its own YARN client, so that nothing else can claim the master ``yarn``."""
    return sorted(str(jar) for jar in jars.glob("*.jar") if not jar.name.startswith("spark-yarn_"))
