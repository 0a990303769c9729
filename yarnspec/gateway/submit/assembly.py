"""Puts an application together: the files that are shipped, and what Skein is told."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import msgspec

from yarnspec.gateway.flags.merge import is_secret
from yarnspec.gateway.translation.cluster_paths import READ_BY_YARN
from yarnspec.jvm import jar_path
from yarnspec.plan import (
    EXECUTOR_VARIABLES_FILE,
    HADOOP_CONF_JAR_FILE,
    JAR_FILE,
    PLAN_FILE,
    SPARK_PROPERTIES_FILE,
    SPARK_SECRET_FILE,
    Plan,
)
from yarnspec.spark.executor import launch_script
from yarnspec.spark.variables import export_script
from yarnspec.yarn.skein.skein_application import (
    UNCOUNTED_ATTEMPTS,
    Acls,
    LocalizedFile,
    SkeinApplication,
    SkeinContainer,
)

# Skein fixes its AM's command line; the java program itself reads this variable. The JVM works little and holds up the
# driver while it starts: quick to start and small matters, the best machine code does not (0.6 s of 2 on two cores).
_SKEIN_JVM = {"JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}


class AmSize(msgspec.Struct, frozen=True, kw_only=True):
    """The AM container: Skein's JVM, the negotiator and the driver together."""

    memory_mb: int
    vcores: int
    label: str = ""


class Shipment(msgspec.Struct, frozen=True, kw_only=True):
    """The values of one application that are not in the plan."""

    properties: dict[str, str]
    secret: str | None
    conf_jar: Path
    am_files: dict[str, LocalizedFile] = {}
    everywhere_files: dict[str, LocalizedFile] = {}
    executor_variables: dict[str, str] = {}
    am: AmSize
    queue: str
    tags: tuple[str, ...] = ()
    proxy_user: str = ""


def assemble(plan: Plan, shipment: Shipment, directory: Path) -> SkeinApplication:
    """Write the application's own files into ``directory`` (0700) and describe it to Skein."""
    written = {
        PLAN_FILE: msgspec.json.encode(plan),
        SPARK_PROPERTIES_FILE: msgspec.json.encode(shipment.properties),
        EXECUTOR_VARIABLES_FILE: export_script(shipment.executor_variables).encode(),
    }
    if shipment.secret is not None:
        written[SPARK_SECRET_FILE] = shipment.secret.encode()
    for name, content in written.items():
        descriptor = os.open(directory / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
    shared = {HADOOP_CONF_JAR_FILE: LocalizedFile(str(shipment.conf_jar)), **shipment.everywhere_files}
    if shipment.secret is not None:
        shared[SPARK_SECRET_FILE] = LocalizedFile(str(directory / SPARK_SECRET_FILE))
    own = {
        JAR_FILE: LocalizedFile(str(jar_path())),
        PLAN_FILE: LocalizedFile(str(directory / PLAN_FILE)),
        SPARK_PROPERTIES_FILE: LocalizedFile(str(directory / SPARK_PROPERTIES_FILE)),
    }
    authenticate = shipment.secret is not None
    return SkeinApplication(
        name=plan.name,
        queue=shipment.queue,
        tags=shipment.tags,
        max_attempts=UNCOUNTED_ATTEMPTS,
        proxy_user=shipment.proxy_user,
        acls=acls_of(shipment.properties),
        master=SkeinContainer(
            memory_mb=shipment.am.memory_mb,
            vcores=shipment.am.vcores,
            label=shipment.am.label,
            script="\n".join(filter(None, [plan.activate, f"exec {shlex.quote(plan.python)} -m yarnspec.am"])),
            files=shared | own | shipment.am_files,
            environment=_SKEIN_JVM | _runtime(plan.driver_environment),
        ),
        # The placement file says how large each container is: stages and the program may want other sizes than were
        # submitted. Skein gives a container back that has less memory than its service, so the service is tiny.
        executor=SkeinContainer(
            memory_mb=1,
            vcores=1,
            label=plan.executors.label,
            script=launch_script(
                plan, authenticate=authenticate, network_options=_network_options(shipment.properties)
            ),
            files=shared | _executor_files(plan, directory),
            environment=_runtime(shipment.executor_variables),
        ),
    )


def _runtime(variables: dict[str, str]) -> dict[str, str]:
    """The variables by which a NodeManager chooses how to run a container (Docker, say), before anything runs in it."""
    return {name: value for name, value in variables.items() if name.startswith(READ_BY_YARN)}


def acls_of(properties: dict[str, str]) -> Acls | None:
    """The users who may look at the application and change it, by Spark's properties; None where Spark's ACLs are off.

    As in Spark, administrators may do both.
    """

    def listed(*keys: str) -> tuple[str, ...]:
        words = ",".join(properties.get(key, "") for key in keys)
        return tuple(dict.fromkeys(word.strip() for word in words.split(",") if word.strip()))

    enabled = properties.get("spark.acls.enable", properties.get("spark.ui.acls.enable", "false"))
    if enabled.strip().lower() != "true":
        return None
    return Acls(
        view_users=listed("spark.admin.acls", "spark.ui.view.acls"),
        view_groups=listed("spark.admin.acls.groups", "spark.ui.view.acls.groups"),
        modify_users=listed("spark.admin.acls", "spark.modify.acls"),
        modify_groups=listed("spark.admin.acls.groups", "spark.modify.acls.groups"),
    )


def _executor_files(plan: Plan, directory: Path) -> dict[str, LocalizedFile]:
    files = {EXECUTOR_VARIABLES_FILE: LocalizedFile(str(directory / EXECUTOR_VARIABLES_FILE))}
    if plan.options.recovery.enabled:
        # The jar has the plugin that keeps an executor's files for a next driver, and finds them again.
        files[JAR_FILE] = LocalizedFile(str(jar_path()))
    return files


def _network_options(properties: dict[str, str]) -> tuple[str, ...]:
    """The properties that an executor needs before the driver's configuration, by Spark's rule; no secrets."""
    early = ("spark.auth", "spark.rpc", "spark.network", "spark.ssl", "spark.port.")

    def needed(key: str) -> bool:
        port = key.startswith("spark.") and key.endswith(".port")
        return (key.startswith(early) or port) and not is_secret(key)

    return tuple(f"-D{key}={value}" for key, value in sorted(properties.items()) if needed(key))
