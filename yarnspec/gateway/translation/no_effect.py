"""What a user sets without effect: each is named in a warning, and nothing is ignored in silence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from yarnspec.gateway.flags.request import FLAGS
from yarnspec.gateway.translation import shuffleservice, yarn_keys
from yarnspec.options import suggest
from yarnspec.spark.runtime import conf_directory

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from yarnspec.gateway.flags.request import SubmitRequest
    from yarnspec.gateway.translation.cluster_paths import SparkJars
    from yarnspec.gateway.translation.files.shipping import ShippedFile

OWNED_KEYS: dict[str, str] = {
    "spark.master": "the program runs on YARN, under yarnspec's own cluster manager",
    "spark.submit.deployMode": "the driver always runs in the AM container; programs see the mode of the command line",
    "spark.app.id": "it is YARN's application id",
    "spark.driver.host": "it is the host of the AM container",
    "spark.driver.bindAddress": "it is the host of the AM container",
    "spark.driver.port": "executors are told the port before the driver listens",
    "spark.authenticate": "it is always on, unless a shuffle service is asked for that wants no secret",
    "spark.authenticate.secret": "each application gets a secret of its own",
    "spark.ui.proxyBase": "Spark's pages are reached through the ResourceManager's proxy",
    "spark.hadoop.mapreduce.job.application.attempt.id": "what one driver left uncommitted must not reach the next",
}
"""Properties whose values yarnspec sets, and why; so are all that begin with ``spark.yarnspec.``."""

OWNED_PREFIX = "spark.yarnspec."
_TOKENS = (
    *("spark.kerberos.access.", "spark.kerberos.renewal.", "spark.kerberos.relogin."),
    "spark.security.credentials.",
)
# How the settings of a file system begin whose scheme does not say so.
_SETTINGS = {
    **dict.fromkeys(("abfs", "abfss", "wasb", "wasbs"), ("fs.azure.",)),
    "gs": ("fs.gs.", "google.cloud."),
}


def is_owned(key: str, given: Mapping[str, str]) -> bool:
    """Tell whether yarnspec sets this property itself, with these from the user."""
    if key == shuffleservice.AUTHENTICATE and shuffleservice.wanted(given):
        return False
    return key in OWNED_KEYS or key.startswith(OWNED_PREFIX)


def warnings(
    request: SubmitRequest, given: Mapping[str, str], origins: Mapping[str, str], environ: Mapping[str, str]
) -> list[str]:
    """Name everything that is set and has no effect."""
    found = _of_flags(request, given)
    for key in given:
        if key.startswith("spark.yarn."):
            row = yarn_keys.find(key)
            if row is None:
                hint = suggest(key, yarn_keys.known())
                found.append(f"{key} ({origins[key]}) has no effect: Spark has no such property.{hint}")
            elif row.treatment == "warned":
                found.append(f"{key} ({origins[key]}) {row.note}")
        elif key.startswith(_TOKENS):
            found.append(f"{key} ({origins[key]}) {yarn_keys.NO_TOKENS}")
        elif key.startswith("spark.hadoop.yarn.resourcemanager."):
            found.append(
                f"{key} ({origins[key]}) is for the driver's Hadoop configuration only: the submit asks the cluster "
                "that HADOOP_CONF_DIR names"
            )
        elif is_owned(key, given) and key not in ("spark.master", "spark.submit.deployMode"):
            reason = OWNED_KEYS.get(key, "it is between yarnspec's own parts")
            found.append(f"{key} ({origins[key]}) is ignored: yarnspec sets it, since {reason}")
    if environ.get("SPARK_SUBMIT_OPTS"):
        found.append(
            "SPARK_SUBMIT_OPTS has no effect: give options of the driver's JVM by --driver-java-options, and each "
            "-Dspark.… by --conf"
        )
    directory = conf_directory(environ)
    if directory is not None and (directory / "spark-env.sh").is_file():
        found.append(f"{directory / 'spark-env.sh'} is not read: export what it sets before the submit")
    return found


def of_file_systems(
    given: Mapping[str, str], origins: Mapping[str, str], files: Iterable[ShippedFile], jars: SparkJars | None
) -> list[str]:
    """Name the settings of file systems that the application's files are on: the submit does not have them."""
    sources = [*(file.source for file in files), *([jars.location] if jars is not None else [])]
    schemes = {source.partition("://")[0].lower() for source in sources if "://" in source}
    found = []
    for scheme in sorted(schemes):
        prefixes = tuple(f"spark.hadoop.{start}" for start in _SETTINGS.get(scheme, (f"fs.{scheme}.",)))
        if keys := [key for key in given if key.startswith(prefixes)]:
            where = ", ".join(dict.fromkeys(origins[key] for key in keys))
            found.append(
                f"{', '.join(keys)} ({where}) hold for driver and executors only: the submit reads {scheme}://… with "
                "the settings in HADOOP_CONF_DIR"
            )
    return found


def _of_flags(request: SubmitRequest, given: Mapping[str, str]) -> list[str]:
    """Name the flags without effect that are set, on the line or as their property; those alike in one warning."""
    alike: dict[str, list[str]] = {}
    for flag in FLAGS:
        if flag.warning and flag.field:
            wanted = flag.spark_property in given if flag.spark_property else getattr(request, flag.field)
            if wanted is not None and wanted is not False:
                alike.setdefault(flag.warning, []).append(flag.names[0])
    return [f"{' and '.join(names)} {'has' if len(names) == 1 else 'have'} {said}" for said, names in alike.items()]
