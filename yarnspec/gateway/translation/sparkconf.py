"""From a spark-submit line to what an application needs: properties, YARN's settings, files, environments.

Nothing is ignored in silence: each ``spark.yarn.*`` property has a row in ``yarn_keys``, each property that yarnspec
keeps for itself one in ``no_effect``.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Literal

import msgspec

from yarnspec.errors import UsageError
from yarnspec.gateway.flags.merge import merge, redact
from yarnspec.gateway.translation import (
    bounds,
    no_effect,
    python_choice,
    recovery,
    speculation,
    taskplacing,
)
from yarnspec.gateway.translation.cluster_paths import (
    READ_BY_YARN,
    SparkJars,
    class_path,
    cluster_paths,
    left_to_a_shell,
    local_jars,
    spark_jars,
    unusual_references,
)
from yarnspec.gateway.translation.files.neighbours import warn_of_modules_left_behind
from yarnspec.gateway.translation.files.shipping import Hold, Named, ShippedFile, resolve
from yarnspec.gateway.translation.jvm_options import java_options
from yarnspec.gateway.translation.no_effect import is_owned
from yarnspec.gateway.translation.python_choice import PythonChoice
from yarnspec.gateway.translation.sizes import duration_ms, truth, whole_number
from yarnspec.options import Options, suggest
from yarnspec.spark.runtime import DEPLOY_MODE_KEY, MASTER, conf_directory
from yarnspec.spark.variables import has_references, in_each_container

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from yarnspec.gateway.flags.request import SubmitRequest

# Become files of the containers, settings of YARN, or the lists that spark-submit gets in the AM container.
_CONSUMED = frozenset(
    {
        "spark.submit.pyFiles",
        "spark.files",
        "spark.archives",
        "spark.jars",
        "spark.kerberos.principal",
        "spark.kerberos.keytab",
        "spark.yarn.dist.files",
        "spark.yarn.dist.archives",
        "spark.yarn.dist.jars",
        "spark.yarn.dist.pyFiles",
    }
)
# Files of Spark's configuration directory that driver and executors look for on their class path.
_CONF_FILES = (
    *(f"log4j2.{ending}" for ending in ("properties", "xml", "yaml", "yml", "json", "jsn")),
    *("metrics.properties", "hive-site.xml", "fairscheduler.xml"),
)
_LOG_LINKS = "spark.yarn.includeDriverLogsLink"
_CONTEXT_WAIT = "spark.yarn.am.waitTime"
# Spark's "never forgotten".
_TEN_YEARS_MS = 3650 * 86_400_000
_AM_ENVIRONMENT = "spark.yarn.appMasterEnv."
_EXECUTOR_ENVIRONMENT = "spark.executorEnv."
# Names that a shell can export.
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class YarnSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings for YARN beside the containers' sizes."""

    name: str
    queue: str = "default"
    tags: tuple[str, ...] = ()
    priority: int | None = None
    max_attempts: int
    attempt_failures_validity_interval_ms: int = -1
    am_node_label: str = ""
    executor_node_label: str = ""
    log_include_pattern: str | None = None
    log_exclude_pattern: str | None = None
    proxy_user: str | None = None


class Translation(msgspec.Struct, frozen=True, kw_only=True):
    """A submit, translated.

    ``properties`` go to the driver in a file that only its user can read. They may hold secrets. Nothing else here
    does, except values that the user puts into an environment or into a JVM's options. The lists of files among them
    and ``program`` are for stock spark-submit in the AM container, and name files by their links there. ``options`` are
    yarnspec's options with those of Spark's properties that mean the same in effect. ``recovery_off`` says why finished
    work is not kept although that was wanted. ``report`` is what ``--verbose`` says: each property with its origin,
    secrets replaced.
    """

    properties: dict[str, str]
    origins: dict[str, str]
    warnings: tuple[str, ...]
    yarn: YarnSettings
    options: Options
    deploy_mode: Literal["client", "cluster"]
    wait: bool
    log_links: bool = False
    context_wait_ms: int = 0
    exclude_hosts: tuple[str, ...]
    exclude_nodes: tuple[str, ...] = ()
    """Those of the hosts to exclude that only Spark's property names."""
    program: str
    python_files: tuple[str, ...]
    listed_files: tuple[str, ...]
    files: tuple[ShippedFile, ...]
    spark_jars: SparkJars | None
    python: PythonChoice
    driver_environment: dict[str, str]
    executor_environment: dict[str, str]
    driver_java_options: tuple[str, ...]
    executor_java_options: tuple[str, ...]
    driver_class_path: tuple[str, ...]
    executor_class_path: tuple[str, ...]
    max_executor_failures: int | None = None
    recovery_off: str = ""
    report: tuple[str, ...] = ()


def translate(
    request: SubmitRequest,
    options: Options,
    environ: Mapping[str, str] | None = None,
    *,
    asked: Collection[str] = (),
) -> Translation:
    """Translate a request; raise UsageError for what is wrong in it. Reads local files, asks nobody.

    ``asked``: the options that somebody set, so that not only the default holds.
    """
    environ = os.environ if environ is None else environ
    merged = merge(request, environ)
    given = merged.properties
    warnings = [*merged.warnings, *no_effect.warnings(request, given, merged.origins, environ)]
    _check_master(given, merged.origins, warnings)
    _check_kind(request, given)
    hold = Hold()
    program = hold.program(request.program)
    lists = _load_files(given, hold)
    _load_conf_files(environ, hold)
    environment = python_choice.read_environment(request.environment, hold) if request.environment else None
    driver_environment = _variables(given, _AM_ENVIRONMENT, warnings)
    for name in {"PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"} & driver_environment.keys():
        # The driver and every executor use it, each in a directory of its own.
        driver_environment[name] = in_each_container(name, driver_environment)
    deploy_mode = _deploy_mode(given)
    python = python_choice.choose(
        environment, given, driver_environment, environ, client_mode=deploy_mode == "client", warnings=warnings
    )
    executor_environment = _variables(given, _EXECUTOR_ENVIRONMENT, warnings)
    warnings += left_to_a_shell(given, (_AM_ENVIRONMENT, _EXECUTOR_ENVIRONMENT))
    for role, variables in (("driver", driver_environment), ("executor", executor_environment)):
        library_path = cluster_paths(given, f"spark.{role}.extraLibraryPath")
        if library_path:
            entries = [*library_path, variables.get("LD_LIBRARY_PATH", "$LD_LIBRARY_PATH")]
            variables["LD_LIBRARY_PATH"] = ":".join(entries)
        if hold.python_path():
            # The user's own first, as in Spark; what a container has by itself comes last.
            own = [variables["PYTHONPATH"]] if "PYTHONPATH" in variables else []
            variables["PYTHONPATH"] = ":".join([*own, *hold.python_path(), *([] if own else ["$PYTHONPATH"])])
    jars = spark_jars(request.spark_jars, given, warnings)
    limits = bounds.bounded(request, given, merged.origins, apply_to_options(given, options, asked))
    translated = limits.options
    given |= limits.properties
    warnings += limits.warnings
    recovery_off = recovery.why_off(given, translated, asked)
    if recovery_off:
        warnings.append(f"finished work is not kept for a next driver: {recovery_off}")
        translated = recovery.switched_off(translated)
    properties = {key: given[key] for key in given if key not in _CONSUMED and not is_owned(key, given)} | lists
    ours = speculation.properties(given, translated, asked="speculation.enabled" in asked)
    ours |= recovery.properties(translated, given)
    ours |= taskplacing.properties(given, translated) | {DEPLOY_MODE_KEY: deploy_mode}
    properties |= ours
    warnings += speculation.warnings(given, merged.origins, translated)
    warnings += recovery.warnings(program, properties, translated)
    _ship_ivy_settings(properties, hold)
    properties["spark.app.name"] = _name(request, given)
    for key, value in (("spark.pyspark.python", python.workers), ("spark.pyspark.driver.python", python.driver)):
        if value is not None:
            properties[key] = value
    ours |= limits.properties
    origins = {key: "yarnspec" if key in ours else merged.origins.get(key, "yarnspec") for key in properties}
    return Translation(
        properties=properties,
        origins=origins,
        warnings=(
            *warnings,
            *hold.warnings,
            *no_effect.of_file_systems(given, merged.origins, hold.files(), jars),
            *warn_of_modules_left_behind(resolve(request.program, "program")[0], hold.modules),
        ),
        yarn=_yarn_settings(request, given, translated),
        options=translated,
        deploy_mode=deploy_mode,
        wait=_wait(request, given, options),
        log_links=truth(given.get(_LOG_LINKS, "false"), _LOG_LINKS),
        context_wait_ms=_positive_ms(given, _CONTEXT_WAIT) if _CONTEXT_WAIT in given else 0,
        exclude_hosts=tuple(dict.fromkeys([*request.exclude_hosts, *_exclude_nodes(request, given)])),
        exclude_nodes=_exclude_nodes(request, given),
        program=program,
        python_files=hold.python_files(),
        listed_files=tuple(hold.listed),
        files=hold.files(),
        spark_jars=jars,
        python=python,
        driver_environment=driver_environment,
        executor_environment=executor_environment,
        driver_java_options=java_options(given, "driver", client_mode=deploy_mode == "client"),
        executor_java_options=java_options(given, "executor"),
        driver_class_path=class_path(given, "driver"),
        executor_class_path=class_path(given, "executor"),
        max_executor_failures=(
            whole_number(given["spark.executor.maxNumFailures"], "spark.executor.maxNumFailures")
            if "spark.executor.maxNumFailures" in given
            else None
        ),
        recovery_off=recovery_off,
        report=_report(properties, origins) if request.verbose else (),
    )


def _report(properties: Mapping[str, str], origins: Mapping[str, str]) -> tuple[str, ...]:
    shown = sorted(redact(properties).items())
    return tuple(f"{key}={value} ({origins.get(key, 'yarnspec')})" for key, value in shown)


def apply_to_options(given: Mapping[str, str], options: Options, asked: Collection[str] = ()) -> Options:
    """Fold the Spark properties that mean the same as one of yarnspec's options into these; Spark's name wins.

    A program with one attempt must not run twice. So its driver is not started again either, unless
    ``asked``, the options that somebody set, has ``recovery.driver_restarts``.
    """
    am, submit, executor = options.am, options.submit, options.executor
    again = options.recovery
    key = "spark.yarn.maxAppAttempts"
    if key in given:
        am = msgspec.structs.replace(am, max_attempts=whole_number(given[key], key))
    if am.max_attempts == 1 and "recovery.driver_restarts" not in asked:
        again = msgspec.structs.replace(again, driver_restarts=0)
    key = "spark.yarn.report.interval"
    if key in given:
        submit = msgspec.structs.replace(submit, poll_interval_ms=_positive_ms(given, key))
    key = "spark.executor.failuresValidityInterval"
    if key in given:
        window_ms = duration_ms(given[key], key)
        executor = msgspec.structs.replace(executor, failure_window_ms=window_ms if window_ms > 0 else _TEN_YEARS_MS)
    return msgspec.structs.replace(options, am=am, submit=submit, executor=executor, recovery=again)


def _check_master(given: Mapping[str, str], origins: Mapping[str, str], warnings: list[str]) -> None:
    master = given.get("spark.master", "yarn")
    if master == MASTER:
        return
    if origins["spark.master"].startswith("--"):
        raise UsageError(f"--master {master}: yarnspec runs programs on YARN; leave it out or say yarn")
    warnings.append(f"spark.master ({origins['spark.master']}) is ignored: the program runs on YARN")


def _check_kind(request: SubmitRequest, given: Mapping[str, str]) -> None:
    """Refuse programs of Spark Connect, and two users at once."""
    if "spark.remote" in given or given.get("spark.api.mode", "classic").lower() == "connect":
        raise UsageError("spark.remote, spark.api.mode: yarnspec runs classic PySpark programs, not Spark Connect")
    if request.proxy_user and "spark.kerberos.principal" in given:
        raise UsageError("--proxy-user and --principal: only one of them can be given")
    if ("spark.kerberos.principal" in given) != ("spark.kerberos.keytab" in given):
        raise UsageError("--principal and --keytab: they belong together, give both")


def _load_files(given: Mapping[str, str], hold: Hold) -> dict[str, str]:
    """Load everything that flags and properties name; return the lists for spark-submit in the AM container.

    They travel as properties, never as arguments: an address in them may hold a password.
    """

    def entries(*keys: str) -> tuple[str, ...]:
        return tuple(entry.strip() for key in keys for entry in given.get(key, "").split(",") if entry.strip())

    lists = {
        "spark.submit.pyFiles": hold.python_list(
            entries("spark.yarn.dist.pyFiles", "spark.submit.pyFiles"), "--py-files"
        ),
        "spark.jars": local_jars(given, hold.submit_list(entries("spark.yarn.dist.jars", "spark.jars"), "--jars")),
        "spark.files": hold.container_list(entries("spark.yarn.dist.files", "spark.files"), "--files", "FILE"),
        "spark.archives": hold.container_list(
            entries("spark.yarn.dist.archives", "spark.archives"), "--archives", "ARCHIVE"
        ),
    }
    if "spark.kerberos.keytab" in given:
        resolve(given["spark.kerberos.keytab"], "--keytab")
    return {key: ",".join(names) for key, names in lists.items() if names}


def _ship_ivy_settings(properties: dict[str, str], hold: Hold) -> None:
    """``--packages`` are resolved by the driver, so a settings file for them has to travel."""
    key = "spark.jars.ivySettings"
    if key in properties:
        for named in resolve(properties[key], key)[:1]:
            if named.place != "gateway":
                raise UsageError(f"{key}: {properties[key]} must be a file of this machine, as for Spark")
            properties[key] = hold.load(named, key, executors=False)


def _load_conf_files(environ: Mapping[str, str], hold: Hold) -> None:
    """Ship Spark's own configuration files, as Spark does."""
    directory = conf_directory(environ)
    found = [directory / name for name in _CONF_FILES if (directory / name).is_file()] if directory else []
    for path in found:
        hold.load(Named("gateway", str(path.absolute()), None), str(path), executors=True)


def _yarn_settings(request: SubmitRequest, given: Mapping[str, str], options: Options) -> YarnSettings:
    interval = "spark.yarn.am.attemptFailuresValidityInterval"
    priority = "spark.yarn.priority"
    return YarnSettings(
        name=_name(request, given),
        queue=given.get("spark.yarn.queue", "default"),
        tags=tuple(dict.fromkeys(tag.strip() for tag in given.get("spark.yarn.tags", "").split(",") if tag.strip())),
        priority=whole_number(given[priority], priority, least=0) if priority in given else None,
        max_attempts=options.am.max_attempts,
        attempt_failures_validity_interval_ms=duration_ms(given[interval], interval) if interval in given else -1,
        am_node_label=given.get("spark.yarn.am.nodeLabelExpression", ""),
        executor_node_label=given.get("spark.yarn.executor.nodeLabelExpression", ""),
        log_include_pattern=given.get("spark.yarn.rolledLog.includePattern"),
        log_exclude_pattern=given.get("spark.yarn.rolledLog.excludePattern"),
        proxy_user=request.proxy_user,
    )


def _name(request: SubmitRequest, given: Mapping[str, str]) -> str:
    return given.get("spark.app.name") or request.program.rstrip("/").rsplit("/", 1)[-1]


def _deploy_mode(given: Mapping[str, str]) -> Literal["client", "cluster"]:
    mode = given.get("spark.submit.deployMode", "client")
    if mode == "client":
        return "client"
    if mode == "cluster":
        return "cluster"
    raise UsageError(f"--deploy-mode {mode}: write client or cluster.{suggest(mode, ['client', 'cluster'])}")


def _wait(request: SubmitRequest, given: Mapping[str, str], options: Options) -> bool:
    if request.wait is not None:
        return request.wait
    key = "spark.yarn.submit.waitAppCompletion"
    return truth(given[key], key) if key in given else options.submit.wait


def _exclude_nodes(request: SubmitRequest, given: Mapping[str, str]) -> tuple[str, ...]:
    named = (host.strip() for host in given.get("spark.yarn.exclude.nodes", "").split(","))
    return tuple(dict.fromkeys(host for host in named if host and host not in request.exclude_hosts))


def _variables(given: Mapping[str, str], prefix: str, warnings: list[str]) -> dict[str, str]:
    """The variables that properties with a prefix set; warns of references that may be meant as text."""
    variables = _with_prefix(given, prefix)
    for name, value in variables.items():
        if not _VARIABLE.fullmatch(name):
            raise UsageError(f"{prefix}{name}: '{name}' cannot be the name of an environment variable")
        if name.startswith(READ_BY_YARN) and has_references(value):
            raise UsageError(f"{prefix}{name}: YARN reads it before the container begins; write it without references")
    warnings += unusual_references(prefix, variables)
    return variables


def _with_prefix(given: Mapping[str, str], prefix: str) -> dict[str, str]:
    return {key[len(prefix) :]: value for key, value in given.items() if key.startswith(prefix) and key != prefix}


def _positive_ms(given: Mapping[str, str], key: str) -> int:
    value = duration_ms(given[key], key)
    if value <= 0:
        raise UsageError(f"{key}: '{given[key]}' must be more than nothing")
    return value
