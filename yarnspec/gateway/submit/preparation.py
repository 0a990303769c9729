"""Prepares a submit: every check that can be made beforehand, then the plan and what is shipped. Submits nothing."""

from __future__ import annotations

import os
import re
import secrets
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec

from yarnspec.gateway.cluster.access import Cluster, history_path
from yarnspec.gateway.flags.merge import redact
from yarnspec.gateway.flags.request import SubmitRequest, check_text
from yarnspec.gateway.submit.assembly import AmSize, Shipment, assemble
from yarnspec.gateway.submit.clustercheck import ask_cluster, unknown_hosts
from yarnspec.gateway.submit.sparkarchive import spark_jars_file
from yarnspec.gateway.translation import recovery, shuffleservice, speculation
from yarnspec.gateway.translation.bounds import dynamic_bounds, registered_rule
from yarnspec.gateway.translation.files.packing import as_archive
from yarnspec.gateway.translation.files.shipping import ShippedFile
from yarnspec.gateway.translation.no_effect import OWNED_KEYS
from yarnspec.gateway.translation.sizes import Sizes, plan_sizes
from yarnspec.gateway.translation.sparkconf import Translation, translate
from yarnspec.options import Loaded
from yarnspec.plan import HADOOP_CONF_JAR_FILE, SPARK_JARS_LINK, Plan, Program
from yarnspec.spark.runtime import MASTER
from yarnspec.yarn.hadoop.hadoop_conf import (
    ATTEMPTS_KEY,
    GLOBAL_ATTEMPTS_KEY,
    HadoopConf,
    passed_over,
    write_conf_jar,
)
from yarnspec.yarn.hadoop.option_files import load_options
from yarnspec.yarn.rm.placement_mode import ResolvedMode
from yarnspec.yarn.rm.rm_reports import Host
from yarnspec.yarn.skein.skein_application import UNCOUNTED_ATTEMPTS, LocalizedFile, SkeinApplication
from yarnspec.yarn.skein.skein_submission import AmHost, RolledLogs, SubmissionHook

_SECRET_BYTES = 32
_HISTORY_SERVER = "spark.yarn.historyServer.address"
_REFERENCE = re.compile(r"\$\{(?P<hadoop>hadoopconf-)?(?P<name>[^}]+)\}")
_SPARKS_DEFAULTS = {"spark.history.ui.port": "18080"}
_YARN_ATTEMPTS = 2


class Prepared(msgspec.Struct, frozen=True, kw_only=True):
    """A submit that is ready to go."""

    translation: Translation
    sizes: Sizes
    plan: Plan
    placement: ResolvedMode
    application: SkeinApplication
    hook: SubmissionHook
    warnings: tuple[str, ...]


class Read(msgspec.Struct, frozen=True, kw_only=True):
    """A request as this machine understands it."""

    loaded: Loaded
    translation: Translation
    sizes: Sizes


def read_request(request: SubmitRequest) -> Read:
    """Options, translation and sizes, without asking the cluster. Raises UsageError for wrong values."""
    check_text(request)
    own = () if request.placement_constraint is None else (f"placement.constraint={request.placement_constraint}",)
    loaded = load_options(Path(request.config_file) if request.config_file else None, (*request.settings, *own))
    translation = translate(request, loaded.options, asked=loaded.asked)
    sizes = plan_sizes(translation.properties, translation.options, translation.yarn.executor_node_label)
    return Read(loaded=loaded, translation=translation, sizes=sizes)


def prepare(
    request: SubmitRequest, cluster: Cluster, read: Read, directory: Path, *, streams: bool = False
) -> Prepared:
    """Ask the cluster whether it can take the application, and put it together in ``directory`` (0700).

    ``streams``: whoever submits will follow the driver's output.

    Raises:
        UsageError, NotFound, ClusterUnreachable: what a user can mend, before anything is submitted.
    """
    translation, sizes = read.translation, read.sizes
    answer = ask_cluster(cluster, translation, sizes, force=request.force)
    plan = msgspec.structs.replace(
        _plan(request, cluster, translation, sizes, answer.mode),
        queue_label=answer.queue_label,
        largest_container=(answer.largest.memory_mb, answer.largest.vcores),
        memory_step_mb=answer.memory_step_mb,
        streams=streams,
        max_attempts=granted_attempts(cluster, translation.yarn.max_attempts),
    )
    said: list[str] = []
    localized = {file: _for_yarn(file, directory, said.append) for file in translation.files}
    everywhere = {file.link: found for file, found in localized.items() if file.executors}
    if plan.spark_jars == SPARK_JARS_LINK and translation.spark_jars is not None:
        everywhere[SPARK_JARS_LINK] = spark_jars_file(translation.spark_jars.location, cluster, dry=request.dry_run)
    service = shuffleservice.properties(translation.properties, cluster.conf)
    shipment = Shipment(
        properties=translation.properties | sizes.properties | service | _history_server(translation, cluster.conf),
        secret=secrets.token_hex(_SECRET_BYTES)
        if shuffleservice.authenticates(translation.properties, cluster.conf)
        else None,
        conf_jar=write_conf_jar(
            cluster.conf,
            directory / HADOOP_CONF_JAR_FILE,
            cluster.conf.master_overrides(UNCOUNTED_ATTEMPTS) | shuffleservice.master_overrides(translation.properties),
        ),
        am_files={file.link: found for file, found in localized.items() if not file.executors},
        everywhere_files=everywhere,
        executor_variables=translation.executor_environment,
        am=AmSize(memory_mb=sizes.am_memory_mb, vcores=sizes.am_vcores, label=translation.yarn.am_node_label),
        queue=translation.yarn.queue,
        tags=translation.yarn.tags,
        proxy_user=cluster.user if cluster.user != cluster.login else "",
    )
    return Prepared(
        translation=translation,
        sizes=sizes,
        plan=plan,
        placement=answer.mode,
        application=assemble(plan, shipment, directory),
        hook=_hook(translation, answer.hosts, answer.listed, sizes.am_resources),
        warnings=(
            *read.loaded.warnings,
            *translation.warnings,
            *sizes.warnings,
            *recovery.fewer_attempts(translation.yarn.max_attempts, read.loaded.asked, plan.max_attempts),
            *recovery.fewer_restarts(translation.options, read.loaded.asked, plan.max_attempts),
            *shuffleservice.warnings(translation.properties, cluster.conf, cluster.rm.configuration),
            *answer.warnings,
            *unknown_hosts("blocklist.never_hosts", translation.options.blocklist.never, answer.hosts),
            *said,
            *filter(None, [passed_over(os.environ)]),
        ),
    )


def _plan(
    request: SubmitRequest, cluster: Cluster, translation: Translation, sizes: Sizes, placement: ResolvedMode
) -> Plan:
    environment = translation.python.environment
    python = environment.python if environment is not None else sys.executable
    spark_jars = translation.spark_jars
    ratio, wait_ms = registered_rule(translation.properties)
    return Plan(
        name=translation.yarn.name,
        user=cluster.user,
        queue=translation.yarn.queue,
        program=Program(
            primary=translation.program,
            arguments=tuple(argument.encode("utf-8", "surrogateescape") for argument in request.arguments),
            python_files=translation.python_files,
            files=translation.listed_files,
        ),
        executors=sizes.executor,
        initial_executors=sizes.initial_executors,
        registered_ratio=ratio,
        registered_wait_ms=wait_ms,
        dynamic_bounds=dynamic_bounds(translation.properties),
        decommissions=shuffleservice.decommissions(translation.properties),
        placement_mode=placement.mode,
        host_attribute=translation.options.placement.host_attribute,
        excluded_hosts=translation.exclude_hosts,
        force_excluded=request.force,
        python=python,
        driver_python=translation.python.driver or python,
        worker_python=translation.python.workers or python,
        activate=environment.activate if environment is not None else None,
        spark_jars=None
        if spark_jars is None
        else (SPARK_JARS_LINK if spark_jars.kind == "archive" else spark_jars.location),
        driver_heap_mb=sizes.driver_heap_mb,
        driver_java_options=translation.driver_java_options,
        driver_class_path=translation.driver_class_path,
        driver_environment=translation.driver_environment,
        executor_java_options=translation.executor_java_options,
        executor_class_path=translation.executor_class_path,
        owned_keys=(
            *OWNED_KEYS,
            *speculation.owned_keys(translation.options),
            *recovery.owned_keys(translation.options),
        ),
        sized_properties=tuple(key for key in sizes.properties if key not in sizes.of_executors),
        executor_properties=sizes.of_executors,
        history_directory=cluster.files.url(history_path(translation.options.history.directory, cluster.files.home)),
        options=translation.options,
        max_executor_failures=translation.max_executor_failures,
        recovery_off=translation.recovery_off,
        attempts_are_forgotten=translation.yarn.attempt_failures_validity_interval_ms > 0,
        http_scheme=cluster.node_scheme,
        cluster_id=cluster.conf.get("yarn.resourcemanager.cluster-id") or "",
        context_wait_ms=translation.context_wait_ms,
    )


def granted_attempts(cluster: Cluster, wanted: int) -> int:
    """How many attempts the ResourceManager will grant: it caps them by its own configuration, not by ours."""
    own_cap = cluster.conf.get_int(GLOBAL_ATTEMPTS_KEY, cluster.conf.get_int(ATTEMPTS_KEY, _YARN_ATTEMPTS))
    told = cluster.rm.configuration(GLOBAL_ATTEMPTS_KEY) or cluster.rm.configuration(ATTEMPTS_KEY)
    try:
        return min(wanted, int(told) if told else own_cap)
    except ValueError:
        return min(wanted, own_cap)


def _history_server(translation: Translation, conf: HadoopConf) -> dict[str, str]:
    """The History Server's address with the references that Spark replaces in it; what is not known stays."""

    def value(found: re.Match[str]) -> str:
        if found["hadoop"]:
            known = conf.get(found["name"])
        else:
            known = translation.properties.get(found["name"], _SPARKS_DEFAULTS.get(found["name"]))
        return found[0] if known is None else known

    address = translation.properties.get(_HISTORY_SERVER)
    return {} if address is None else {_HISTORY_SERVER: _REFERENCE.sub(value, address)}


def _for_yarn(file: ShippedFile, directory: Path, say: Callable[[str], None]) -> LocalizedFile:
    source = file.source
    if file.kind == "ARCHIVE" and source.startswith("/"):
        source = str(as_archive(Path(source), directory, say))
    return LocalizedFile(source, kind=file.kind)


def _hook(
    translation: Translation, hosts: tuple[Host, ...], listed: tuple[str, ...], am_resources: dict[str, int]
) -> SubmissionHook:
    yarn, known = translation.yarn, {host.host for host in hosts}
    return SubmissionHook(
        priority=yarn.priority,
        tags=yarn.tags or None,
        am_excluded_hosts=(*(host for host in translation.exclude_hosts if host in known), *listed),
        all_hosts=tuple(AmHost(host.host, host.rack) for host in hosts if host.state == "RUNNING"),
        max_attempts=yarn.max_attempts,
        attempt_failures_validity_interval_ms=yarn.attempt_failures_validity_interval_ms,
        am_node_label=yarn.am_node_label or None,
        am_resources=am_resources,
        log_aggregation=RolledLogs(yarn.log_include_pattern, yarn.log_exclude_pattern or "")
        if yarn.log_include_pattern
        else None,
    )


def dry_run_document(prepared: Prepared, spec: dict[str, object]) -> dict[str, object]:
    """The output of ``--dry-run``: Skein's specification, the placement and Spark's configuration, without secrets."""
    return {
        "schema": 1,
        "name": prepared.plan.name,
        "deploy_mode": prepared.translation.deploy_mode,
        "placement": {
            "mode": prepared.placement.mode,
            "reason": prepared.placement.reason,
            "excluded_hosts": list(prepared.plan.excluded_hosts),
        },
        "spark": {
            "master": MASTER,
            "program": prepared.plan.program.primary,
            "arguments": [argument.decode(errors="replace") for argument in prepared.plan.program.arguments],
            "properties": redact(prepared.translation.properties | prepared.sizes.properties),
        },
        "skein": spec,
        "warnings": list(prepared.warnings),
    }
