"""Spark's properties from everywhere, merged as spark-submit merges them, each with where it came from."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from yarnspec.aliases import ALIASES
from yarnspec.errors import UsageError
from yarnspec.gateway.flags import javaproperties
from yarnspec.gateway.flags.request import FLAGS
from yarnspec.spark.runtime import conf_directory

if TYPE_CHECKING:
    from collections.abc import Mapping

    from yarnspec.gateway.flags.request import SubmitRequest

DEFAULTS_FILE = "spark-defaults.conf"

# Variables that spark-submit reads for what nothing else sets.
ENVIRONMENT_PROPERTIES = {
    "MASTER": "spark.master",
    "DEPLOY_MODE": "spark.submit.deployMode",
    "SPARK_EXECUTOR_MEMORY": "spark.executor.memory",
    "SPARK_EXECUTOR_CORES": "spark.executor.cores",
    "SPARK_DRIVER_MEMORY": "spark.driver.memory",
    "SPARK_YARN_APP_NAME": "spark.app.name",
}

# Names that Spark gave up; the present name wins when both are set, and of several the first one here.
OLD_NAMES = (
    ("spark.yarn.driver.memoryOverhead", "spark.driver.memoryOverhead"),
    ("spark.yarn.executor.memoryOverhead", "spark.executor.memoryOverhead"),
    ("spark.yarn.executor.failuresValidityInterval", "spark.executor.failuresValidityInterval"),
    ("spark.yarn.max.executor.failures", "spark.executor.maxNumFailures"),
    ("spark.yarn.max.worker.failures", "spark.executor.maxNumFailures"),
    ("spark.yarn.principal", "spark.kerberos.principal"),
    ("spark.yarn.keytab", "spark.kerberos.keytab"),
    ("spark.yarn.user.classpath.first", "spark.driver.userClassPathFirst"),
    ("spark.yarn.user.classpath.first", "spark.executor.userClassPathFirst"),
)

# Masters of Spark 1 and 2 that say the deploy mode as well.
OLD_MASTERS = {"yarn-client": "client", "yarn-cluster": "cluster"}

_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
# Spark's default of spark.redaction.regex.
_REDACTED = "*********(redacted)"
_USER_OF_ADDRESS = re.compile(r"(?<=://)[^/@,\s]+@")
_SECRET = re.compile(r"(?i)secret|password|token|access[.]?key|credential")


class Merged(msgspec.Struct, frozen=True, kw_only=True):
    """The merged properties, and for each one the flag, file or variable that it comes from."""

    properties: dict[str, str]
    origins: dict[str, str]
    warnings: tuple[str, ...] = ()


def merge(request: SubmitRequest, environ: Mapping[str, str]) -> Merged:
    """Merge: flags win over ``--conf``, that over files of properties, those over the environment's variables."""
    properties: dict[str, str] = {}
    origins: dict[str, str] = {}
    warnings: list[str] = []

    def add(values: Mapping[str, str], origin: str | Mapping[str, str]) -> None:
        for key, value in values.items():
            properties[key] = value
            origins[key] = origin if isinstance(origin, str) else origin[key]

    for variable, key in reversed(ENVIRONMENT_PROPERTIES.items()):
        if environ.get(variable):
            add({key: environ[variable]}, f"environment {variable}")
    defaults = defaults_file(environ)
    if defaults is not None and (request.properties_file is None or request.load_spark_defaults):
        add(read_properties(defaults, DEFAULTS_FILE, warnings), f"file {defaults}")
    if request.properties_file is not None:
        path = Path(request.properties_file)
        add(read_properties(path, "--properties-file", warnings), f"file {path}")
    for name in request.extra_properties_files:
        add(read_properties(Path(name), "--extra-properties-file", warnings), f"file {name}")
    add(request.conf, "--conf")
    for flag in FLAGS:
        value = getattr(request, flag.field) if flag.field and flag.spark_property else None
        if flag.spark_property and value is not None and value != ():
            text = ",".join(value) if isinstance(value, tuple) else str(value)
            add({flag.spark_property: text}, flag.names[0])
    foreign = [key for key in properties if not key.startswith("spark.")]
    warnings += [
        f"{key} ({origins[key]}) is ignored: a Spark property begins with 'spark.'"
        + (f"; as an option of yarnspec's it takes effect: --set {key}={properties[key]}" if key in ALIASES else "")
        for key in foreign
    ]
    for key in foreign:
        del properties[key], origins[key]
    for old, new in OLD_NAMES:
        if old in properties and new not in properties:
            add({new: properties[old]}, f"{origins[old]}, as {old}")
    if properties.get("spark.master") in OLD_MASTERS:
        mode, warning = _of_an_old_master(properties, origins)
        warnings.append(warning)
        add({"spark.master": "yarn", "spark.submit.deployMode": mode}, origins["spark.master"])
    return Merged(properties=properties, origins=origins, warnings=tuple(warnings))


def _of_an_old_master(properties: Mapping[str, str], origins: Mapping[str, str]) -> tuple[str, str]:
    """The deploy mode of Spark 2's ``yarn-client`` or ``yarn-cluster``, and the warning; a flag wins over a file."""
    master, mode = properties["spark.master"], OLD_MASTERS[properties["spark.master"]]
    origin, of_mode = origins["spark.master"], origins.get("spark.submit.deployMode", "")
    given = properties.get("spark.submit.deployMode", mode)
    if given != mode and origin.startswith("--") == of_mode.startswith("--"):
        raise UsageError(
            f"{given.capitalize()} deploy mode ({of_mode}) is not compatible with {origin} {master}; write --master "
            "yarn and one --deploy-mode"
        )
    chosen = mode if origin.startswith("--") else given
    said = f"{master} ({origin}) is Spark 2's word; it is taken as --master yarn --deploy-mode {chosen}: write that"
    return chosen, said


def defaults_file(environ: Mapping[str, str]) -> Path | None:
    """Find ``spark-defaults.conf``, or None when there is none."""
    directory = conf_directory(environ)
    if directory is None or not (directory / DEFAULTS_FILE).is_file():
        return None
    return directory / DEFAULTS_FILE


def read_properties(path: Path, flag: str, warnings: list[str]) -> dict[str, str]:
    """Read one file of properties; raise UsageError when it cannot be read.

    Bytes that are not UTF-8 are replaced, as Spark does: most stand in comments. A warning names properties with some.
    """
    try:
        raw = path.read_bytes()
        text = raw.decode("utf-8", "replace")
        properties = javaproperties.parse(text)
    except (OSError, ValueError) as error:
        raise UsageError(f"{flag} {path}: cannot be read: {error}") from error
    if text.encode() != raw:
        replaced = sorted(key for key, value in properties.items() if _REPLACEMENT in key + value)
        if replaced:
            warnings.append(f"{flag} {path}: not all bytes are UTF-8 and some are replaced, in {', '.join(replaced)}")
    return properties


def is_secret(key: str, value: str = "") -> bool:
    """Tell whether a property or variable looks like a secret, by Spark's own rule."""
    return _SECRET.search(key) is not None or _SECRET.search(value) is not None


def redact(values: Mapping[str, str]) -> dict[str, str]:
    """Return the values as they may be printed: what looks like a secret is replaced, passwords in addresses too."""
    return {
        key: _REDACTED if is_secret(key, value) else _USER_OF_ADDRESS.sub(f"{_REDACTED}@", value)
        for key, value in values.items()
    }
