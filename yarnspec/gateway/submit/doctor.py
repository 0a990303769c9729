"""Checks what a submit needs, one thing after the other, and says for each failure what to do.

A check is a function that returns its findings or raises a YarnspecError. A check is left out if one that it builds on
has failed, so that one cause is told once.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import uuid
import zipfile
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from importlib import metadata
from typing import Literal

import msgspec

from yarnspec.errors import ClusterUnreachable, NotAllowed, ResourcesTimedOut, UsageError, YarnspecError
from yarnspec.gateway.cluster.access import Cluster
from yarnspec.gateway.submit.clustercheck import check_sizes
from yarnspec.gateway.submit.hostcheck import HostPython, run_python_on_a_host
from yarnspec.gateway.translation.sizes import Sizes, plan_sizes
from yarnspec.jvm import jar_path
from yarnspec.options import Options
from yarnspec.spark.runtime import spark_home
from yarnspec.yarn.hadoop.clock import http_skew_ms, now_ms, skew_ms
from yarnspec.yarn.hadoop.hadoop_conf import passed_over
from yarnspec.yarn.rm.hosts import ALL_STATES
from yarnspec.yarn.rm.placement_mode import resolve
from yarnspec.yarn.rm.rm_reports import Host, Queue
from yarnspec.yarn.rm.yarn_command import class_path, yarn_program
from yarnspec.yarn.skein.client_driver import java_command

OLDEST_JAVA = 17
OLDEST_HADOOP = (3, 2)
_JAVA_TIMEOUT_S = 20.0
_CLOCK_WARNING_MS = 5_000
_KERBEROS_SKEW_MS = 300_000
_PROVIDER_CLASS = "org/yarnspec/rm/PlacementProxyProvider.class"
_SHOWN_HOSTS = 3

State = Literal["ok", "warning", "failed", "skipped"]


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one check. ``advice`` says what to do. ``exit_code``: that of a submit."""

    name: str
    state: State
    found: str
    advice: str = ""
    exit_code: int = 0


class Found(msgspec.Struct, frozen=True):
    """The findings of a check that did not fail; with ``advice`` they are a warning."""

    text: str
    advice: str = ""


class Patient:
    """The cluster and this machine, as the checks look at them; what one has found the next ones use."""

    def __init__(
        self,
        settings: Options,
        *,
        queue: str = "default",
        environment: str | None = None,
        environ: Mapping[str, str] | None = None,
        open_cluster: Callable[[Options], Cluster] = Cluster.from_environment,
        run_on_host: Callable[..., HostPython] = run_python_on_a_host,
        clock_ms: Callable[[], int] = now_ms,
    ) -> None:
        self.settings = settings
        self.queue_name = queue
        self.environment = environment
        self.environ = os.environ if environ is None else environ
        self.run_on_host = run_on_host
        self.clock_ms = clock_ms
        self.hdfs_skew_ms = 0
        self._open_cluster = open_cluster

    def close(self) -> None:
        """Close what was opened."""
        if "cluster" in self.__dict__:
            self.cluster.close()

    @cached_property
    def cluster(self) -> Cluster:
        """The cluster that HADOOP_CONF_DIR names."""
        return self._open_cluster(self.settings)

    @cached_property
    def hosts(self) -> tuple[Host, ...]:
        """All hosts that the ResourceManager knows."""
        return self.cluster.rm.hosts(ALL_STATES)

    @cached_property
    def queue(self) -> Queue:
        """The queue that a submit would use."""
        return self.cluster.rm.queue(self.queue_name)

    @cached_property
    def sizes(self) -> Sizes:
        """The sizes that a submit asks for without any flag about sizes."""
        return plan_sizes({}, self.settings)


class CheckStep(msgspec.Struct, frozen=True):
    """One row of the table: a check, what to do when it fails, and the checks that it builds on."""

    name: str
    check: Callable[[Patient], Found]
    advice: str
    needs: tuple[str, ...] = ()


def java(patient: Patient) -> Found:
    """Skein's client driver and the driver run on it."""
    program = java_command(patient.environ)
    try:
        done = subprocess.run(
            [program, "-version"],
            capture_output=True,
            text=True,
            timeout=_JAVA_TIMEOUT_S,
            check=False,
            env=dict(patient.environ),
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UsageError(f"{program} -version does not run: {error}") from error
    said = done.stderr + done.stdout
    version = re.search(r'version "(?:1\.)?(\d+)[^"]*"', said)
    if done.returncode != 0 or version is None:
        raise UsageError(f"{program} -version says: {' '.join(said.split())[:200]}")
    if int(version[1]) < OLDEST_JAVA:
        raise UsageError(f"{program} is Java {version[1]}; Spark 4.3 needs {OLDEST_JAVA} or newer")
    return Found(f"{program}, {version[0]}")


def yarn(patient: Patient) -> Found:
    """Hadoop's class path comes from it."""
    program = yarn_program(patient.environ)
    try:
        path = class_path(patient.environ)
    except ClusterUnreachable as error:
        # This command asks nobody: what fails is here.
        raise UsageError(error.message) from error
    jars = [entry for entry in path.split(os.pathsep) if entry.endswith(".jar")]
    if not any("hadoop" in os.path.basename(jar) for jar in jars):  # noqa: PTH119 - entries of a class path
        raise UsageError(f"`{program} classpath --glob` names no jar of Hadoop: {path[:200] or '(nothing)'}")
    return Found(f"{program}, {len(jars)} jars")


def jar(_: Patient) -> Found:
    """Checks the jar that runs inside YARN's and Spark's JVMs."""
    path = jar_path()
    try:
        with zipfile.ZipFile(path) as archive:
            archive.getinfo(_PROVIDER_CLASS)
    except (OSError, zipfile.BadZipFile, KeyError) as error:
        raise UsageError(f"{path} is not whole: {error}") from error
    return Found(str(path))


def pyspark(_: Patient) -> Found:
    """The Spark that would run."""
    return Found(f"{metadata.version('pyspark')} in {spark_home()}, Python {sys.version.split()[0]}")


def configuration(patient: Patient) -> Found:
    """The cluster's addresses."""
    conf = patient.cluster.conf
    conf.rm_addresses()
    found = f"{conf.where}: file system {conf.default_fs}, user {conf.user}"
    if conf.default_fs.startswith("file:"):
        raise UsageError(f"{found}; Skein cannot stage an application's files there")
    if conf.secure:
        return Found(f"{found}, Kerberos", "this yarnspec is not tested with Kerberos; run kinit before a submit")
    return Found(found, passed_over(patient.environ))


def hdfs(patient: Patient) -> Found:
    """Writes, reads and deletes a small file where a submit stages its files."""
    files = patient.cluster.files
    path = f"{files.home}/.yarnspec-doctor-{uuid.uuid4().hex}"
    content = b"written by yarnspec doctor\n"
    try:
        before_ms = patient.clock_ms()
        files.write(path, content)
        try:
            after_ms = patient.clock_ms()
            patient.hdfs_skew_ms = skew_ms(files.info(path).modified_ms, before_ms, after_ms)
            if files.read(path) != content:
                raise ClusterUnreachable(f"{files.url(path)} does not hold what was just written into it")
        finally:
            files.delete(path)
    except OSError as error:
        raise ClusterUnreachable(f"{files.url(path)}: {error}") from error
    return Found(f"{files.url(files.home)} can be written and read")


def resource_manager(patient: Patient) -> Found:
    """Whether it answers, and its version."""
    info = patient.cluster.rm.cluster()
    found = f"Hadoop {info.version} at {patient.cluster.rm.url}"
    if info.state != "STARTED" or info.ha_state not in {"ACTIVE", ""}:
        raise ClusterUnreachable(f"{found} is {info.state}, {info.ha_state}")
    numbers = re.match(r"(\d+)\.(\d+)", info.version)
    if numbers is not None and (int(numbers[1]), int(numbers[2])) < OLDEST_HADOOP:
        return Found(found, "yarnspec is tested with Hadoop 3.5; this one may lack what it needs")
    return Found(found)


def queue(patient: Patient) -> Found:
    """Whether it takes applications, and whether an application master of the default size fits into its share."""
    found = patient.queue
    if found.state != "RUNNING":
        raise NotAllowed(f"{found.path} is {found.state} and takes no application")
    needed_mb, limit_mb, used_mb = patient.sizes.am_memory_mb, found.am_limit_memory_mb, found.am_used_memory_mb or 0
    if found.note:
        return Found(found.path, found.note)
    text = f"{found.path} is RUNNING"
    if limit_mb is None:
        return Found(text)
    share = f"its share for application masters is {limit_mb} MiB, {used_mb} MiB in use; a default one has {needed_mb}"
    if needed_mb > limit_mb:
        advice = "only one application at a time will run; raise yarn.scheduler.capacity…maximum-am-resource-percent"
        return Found(f"{text}; {share}", advice)
    if used_mb + needed_mb > limit_mb:
        return Found(f"{text}; {share}", "an application submitted now waits until another one ends")
    return Found(f"{text}; {share}")


def hosts(patient: Patient) -> Found:
    """Whether there are any, and whether the containers of a submit without flags fit."""
    running = [host for host in patient.hosts if host.state == "RUNNING"]
    if not running:
        raise ClusterUnreachable(f"none of the {len(patient.hosts)} hosts is RUNNING")
    rm = patient.cluster.rm
    largest = rm.maximum_allocation(patient.queue.path)
    executor = check_sizes(patient.sizes, running, rm.memory_step_mb(), largest, which=" of the default size")
    room = sum(min(host.memory_mb // executor.memory_mb, host.vcores // executor.vcores) for host in running)
    text = (
        f"{len(running)} RUNNING, room for {room} executors of the default size "
        f"({executor.memory_mb} MiB, {executor.vcores} core)"
    )
    away = [host for host in patient.hosts if host.state not in {"RUNNING", "DECOMMISSIONED"}]
    if away:
        names = ", ".join(f"{host.host} {host.state}" for host in away[:_SHOWN_HOSTS])
        more = ", …" if len(away) > _SHOWN_HOSTS else ""
        return Found(f"{text}; not in use: {names}{more}", "nothing, unless you miss them: ask the cluster's admin")
    return Found(text)


def placement(patient: Patient) -> Found:
    """By which of YARN's ways containers would be kept off hosts."""
    options = patient.settings.placement
    mode = resolve(options.mode, patient.cluster.rm, options.host_attribute)
    return Found(f"{mode.mode} (placement.mode is {options.mode}): {mode.reason}")


def clocks(patient: Patient) -> Found:
    """Whether this machine and the cluster agree what time it is."""
    seen = {
        "the ResourceManager": http_skew_ms(f"{patient.cluster.rm.url}/ws/v1/cluster/info", patient.clock_ms),
        "HDFS": patient.hdfs_skew_ms,
    }
    told = ", ".join(f"{name} {_skew(skew)}" for name, skew in seen.items())
    worst_ms = max(abs(skew) for skew in seen.values())
    if worst_ms > _KERBEROS_SKEW_MS and patient.cluster.conf.secure:
        raise NotAllowed(f"{told}: Kerberos takes no more than 5 minutes")
    if worst_ms > _CLOCK_WARNING_MS:
        return Found(told, "times and durations will look wrong; let NTP set the clocks")
    return Found(told)


def python_on_hosts(patient: Patient) -> Found:
    """Runs there what would run the negotiator."""
    ran = patient.run_on_host(patient.cluster, queue=patient.queue_name, environment=patient.environment)
    return Found(f"{ran.python} on {ran.host} imports yarnspec {metadata.version('yarnspec')} and pyspark")


PYTHON_ON_HOSTS = "Python on hosts"
"""The check that starts an application, and can therefore be left out."""

STEPS = (
    CheckStep("java", java, "install a JDK 17 and set JAVA_HOME to it"),
    CheckStep("yarn", yarn, "put the bin directory of your cluster's Hadoop client on PATH"),
    CheckStep("jar", jar, "build it with `make jar`, or install yarnspec from its wheel"),
    CheckStep("pyspark", pyspark, "install yarnspec together with its dependencies"),
    CheckStep("configuration", configuration, "set HADOOP_CONF_DIR to your cluster's core-site.xml and yarn-site.xml"),
    CheckStep(
        "HDFS",
        hdfs,
        "start HDFS, or have its admin give you a home directory that you can write",
        ("configuration",),
    ),
    CheckStep(
        "ResourceManager", resource_manager, "start it, or correct its address in yarn-site.xml", ("configuration",)
    ),
    CheckStep("queue", queue, "choose a queue with --queue (`yarn queue -list`)", ("ResourceManager",)),
    CheckStep("hosts", hosts, "start NodeManagers, or ask for smaller containers", ("queue",)),
    CheckStep("placement", placement, "set placement.mode to auto", ("ResourceManager",)),
    CheckStep("clocks", clocks, "let NTP set the clocks", ("ResourceManager",)),
    CheckStep(
        PYTHON_ON_HOSTS,
        python_on_hosts,
        "install yarnspec on every host under this path, or say with --environment where it is",
        ("java", "yarn", "jar", "HDFS", "queue", "hosts"),
    ),
)


def examine(patient: Patient, *, leave_out: frozenset[str] = frozenset()) -> Iterator[Check]:
    """Make all checks, in order; each is handed out as soon as it is made."""
    unwell: set[str] = set()
    for step in STEPS:
        missing = [name for name in step.needs if name in unwell]
        if step.name in leave_out:
            yield Check(name=step.name, state="skipped", found="left out, as asked for")
            continue
        if missing:
            unwell.add(step.name)
            yield Check(name=step.name, state="skipped", found=f"cannot be checked without: {', '.join(missing)}")
            continue
        check = make(step, patient)
        if check.state == "failed":
            unwell.add(step.name)
        yield check


def make(step: CheckStep, patient: Patient) -> Check:
    """Make one check."""
    try:
        found = step.check(patient)
    except ResourcesTimedOut as error:
        # A busy cluster is no failure: a submit would wait as well.
        advice = "the cluster is busy or has no room for it (see its scheduler's page), or a host is very slow"
        return Check(name=step.name, state="warning", found=error.message, advice=advice)
    except YarnspecError as error:
        return Check(name=step.name, state="failed", found=error.message, advice=step.advice, exit_code=error.exit_code)
    return Check(name=step.name, state="warning" if found.advice else "ok", found=found.text, advice=found.advice)


def exit_code(checks: list[Check]) -> int:
    """The exit code of the first check that failed; 0 if none did."""
    return next((check.exit_code for check in checks if check.state == "failed"), 0)


def _skew(skew: int) -> str:
    if abs(skew) < 1000:  # noqa: PLR2004 - a second
        return "within a second"
    return f"{abs(skew) / 1000:.0f} s {'ahead' if skew > 0 else 'behind'}"
