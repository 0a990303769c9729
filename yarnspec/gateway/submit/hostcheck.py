"""Runs Python on a host of the cluster, the way a submit would: through Skein, with the same files, then ends."""

from __future__ import annotations

import shlex
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import msgspec

from yarnspec.errors import ClusterUnreachable, ResourcesTimedOut, UsageError, YarnspecError
from yarnspec.gateway.cluster.access import Cluster
from yarnspec.gateway.translation.files.shipping import Hold
from yarnspec.gateway.translation.python_choice import read_environment
from yarnspec.jvm import jar_path
from yarnspec.plan import HADOOP_CONF_JAR_FILE, JAR_FILE
from yarnspec.yarn.hadoop.hadoop_conf import write_conf_jar
from yarnspec.yarn.rm.rm_reports import ApplicationReport
from yarnspec.yarn.rm.yarn_command import kill_application
from yarnspec.yarn.skein.skein_application import LocalizedFile, SkeinApplication, SkeinContainer
from yarnspec.yarn.skein.skein_submission import SubmissionHook, submit

DEADLINE_S = 60.0
_POLL_S = 0.5

# Exit codes of the program below, where a shell, Python itself or a signal use none.
_PYTHON_TOO_OLD, _NO_PYSPARK, _NO_YARNSPEC, _OTHER_PYSPARK, _OTHER_YARNSPEC = 91, 92, 93, 94, 95
_NOT_FOUND, _NOT_EXECUTABLE = 127, 126


class HostPython(msgspec.Struct, frozen=True, kw_only=True):
    """A host on which Python could run yarnspec, and what was asked for there."""

    host: str
    python: str


def program() -> str:
    """The program that runs there: it imports the negotiator's modules, and compares versions with those here."""
    yarnspec, pyspark = metadata.version("yarnspec"), metadata.version("pyspark")
    return f"""\
import sys, traceback
from importlib import metadata
if sys.version_info < (3, 11):
    sys.exit({_PYTHON_TOO_OLD})
try:
    import pyspark
except ImportError:
    traceback.print_exc()
    sys.exit({_NO_PYSPARK})
try:
    import yarnspec.am.__main__
    import yarnspec.feed.arrow
except ImportError:
    traceback.print_exc()
    sys.exit({_NO_YARNSPEC})
if metadata.version("pyspark") != {pyspark!r}:
    sys.exit({_OTHER_PYSPARK})
if metadata.version("yarnspec") != {yarnspec!r}:
    sys.exit({_OTHER_YARNSPEC})
"""


def run_python_on_a_host(
    cluster: Cluster,
    *,
    queue: str,
    environment: str | None,
    deadline_s: float = DEADLINE_S,
    pause: Callable[[float], None] = time.sleep,
) -> HostPython:
    """Run the program above in an application master of its own; nothing of it is left behind.

    Raises:
        UsageError: no Python there that can run yarnspec, with what is missing.
        ResourcesTimedOut: the cluster did not run it within ``deadline_s``.
        ClusterUnreachable, NotAllowed, NotFound: the submission failed.
    """
    hold = Hold()
    chosen = read_environment(environment, hold) if environment else None
    python = chosen.python if chosen is not None else sys.executable
    command = f"exec {shlex.quote(python)} -c {shlex.quote(program())}"
    am = cluster.options.am
    with tempfile.TemporaryDirectory(prefix="yarnspec-doctor-") as name:
        conf_jar = write_conf_jar(cluster.conf, Path(name) / HADOOP_CONF_JAR_FILE, cluster.conf.placement_overrides())
        files = {
            HADOOP_CONF_JAR_FILE: LocalizedFile(str(conf_jar)),
            JAR_FILE: LocalizedFile(str(jar_path())),
            **{file.link: LocalizedFile(file.source, kind=file.kind) for file in hold.files()},
        }
        size_mb = am.skein_memory_mb + am.negotiator_memory_mb
        submitted = submit(
            SkeinApplication(
                name="yarnspec doctor",
                queue=queue,
                max_attempts=1,
                master=SkeinContainer(
                    memory_mb=size_mb,
                    vcores=1,
                    script="\n".join(filter(None, [chosen.activate if chosen else None, command])),
                    files=files,
                ),
                executor=SkeinContainer(memory_mb=size_mb, vcores=1, script="true"),
            ),
            cluster.conf,
            hook=SubmissionHook(),
            jar=jar_path(),
            home=cluster.files.home,
            timeout_s=cluster.options.cluster.connect_timeout_ms / 1000,
        )
    ended = None
    try:
        ended = _await_end(cluster, submitted.application_id, deadline_s, pause)
        if ended is None:
            reason = cluster.rm.why_pending(submitted.application_id)
            raise ResourcesTimedOut(
                f"an application with one small container did not end within {deadline_s:g} s"
                + (f": {reason}" if reason else "")
            )
    finally:
        # Also after ^C, and when the ResourceManager stopped answering.
        try:
            if ended is None:
                kill_application(submitted.application_id)
        finally:
            cluster.files.delete(submitted.staging_directory)
    if ended.final_status != "SUCCEEDED":
        raise explained(ended, python)
    return HostPython(host=ended.am_host or "a host", python=python)


def _await_end(
    cluster: Cluster, application_id: str, deadline_s: float, pause: Callable[[float], None]
) -> ApplicationReport | None:
    for _ in range(int(deadline_s / _POLL_S)):
        found = cluster.rm.application(application_id)
        if found.ended:
            return found
        pause(_POLL_S)
    return None


def explained(report: ApplicationReport, python: str) -> YarnspecError:
    """Our error for an application that failed: the program's exit code stands in the diagnostics."""
    where = f"on {report.am_host}" if report.am_host else "on the hosts"
    reasons = {
        _PYTHON_TOO_OLD: f"{python} {where} is older than Python 3.11",
        _NO_PYSPARK: f"{python} {where} cannot import pyspark",
        _NO_YARNSPEC: f"{python} {where} cannot import yarnspec, or something that yarnspec needs",
        _OTHER_PYSPARK: f"{python} {where} has another pyspark than {metadata.version('pyspark')}, which runs here",
        _OTHER_YARNSPEC: f"{python} {where} has another yarnspec than {metadata.version('yarnspec')}, which runs here",
        _NOT_FOUND: f"there is no {python} {where}",
        _NOT_EXECUTABLE: f"{python} {where} cannot be executed",
    }
    for code, reason in reasons.items():
        if f"exit code {code}," in report.diagnostics:
            return UsageError(f"{reason} (yarnspec logs {report.id} has its words)")
    if "timed out" in report.diagnostics:
        return ResourcesTimedOut(f"the application master of {report.id} was too slow to start {where}; try again")
    told = " ".join(report.diagnostics.split())[:300]
    return ClusterUnreachable(f"{report.id} failed {where}: {told or 'YARN gives no reason'}")
