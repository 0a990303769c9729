"""Submit an application: Skein's client driver uploads its files and hands it to YARN, our hook completes it."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec
import skein

from yarnspec.errors import ClusterUnreachable, NotAllowed, NotFound, UsageError, YarnspecError
from yarnspec.yarn.hadoop.deadlines import DeadlinePassed, RunningCall
from yarnspec.yarn.hadoop.hadoop_conf import HadoopConf, check_the_cluster, write_conf_dir
from yarnspec.yarn.rm.resource_manager import APPLICATION_TYPE, CONNECT_TIMEOUT_S
from yarnspec.yarn.skein.client_driver import ClientDriver
from yarnspec.yarn.skein.credential import new_credential
from yarnspec.yarn.skein.skein_application import LocalizedFile, SkeinApplication, SkeinContainer, specification
from yarnspec.yarn.skein.staging_directory import staging_directory

HOOK_PROPERTY = "yarnspec.submission"
# Files are uploaded inside of it: while data moves it may take long. What does not answer at all fails much earlier.
UPLOAD_TIMEOUT_S = 900.0
_EXCEPTION_CLASS = re.compile(r"(?:[a-z][\w]*\.)+[A-Z]\w*(?:Exception|Error)\S*:?\s*")
_MAX_TOLD_CHARACTERS = 600
_PLAIN_PATH = re.compile(r"[A-Za-z0-9_+=@~./-]+")
_OTHER_LETTERS = re.compile(r"[^A-Za-z0-9_+=@~.-]")
# Skein's client driver logs this once the ResourceManager answered with an application id.
_UPLOAD_BEGINS = "Uploading application resources"
_UPLOADED_TO = re.compile(_UPLOAD_BEGINS + r" to \S*/(application_\d+_\d+)")


class AmHost(msgspec.Struct, frozen=True):
    """A host of the cluster and its rack, for the AM container's placement."""

    host: str
    rack: str


class RolledLogs(msgspec.Struct, frozen=True):
    """Regular expressions for log files that YARN collects while they are written, and for those it leaves out."""

    rolled_include: str
    rolled_exclude: str = ""


class SubmissionHook(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of a submission that Skein cannot express, and that our hook in the client driver's JVM adds.

    ``max_attempts``: what the ResourceManager is asked for. Skein's AM is told of another number (UNCOUNTED_ATTEMPTS).
    """

    application_type: str = APPLICATION_TYPE
    priority: int | None = None
    tags: tuple[str, ...] | None = None
    am_excluded_hosts: tuple[str, ...] = ()
    all_hosts: tuple[AmHost, ...] = ()
    max_attempts: int | None = None
    attempt_failures_validity_interval_ms: int = -1
    am_node_label: str | None = None
    am_resources: dict[str, int] = {}
    log_aggregation: RolledLogs | None = None


class Submitted(msgspec.Struct, frozen=True, kw_only=True):
    """An application that YARN took."""

    application_id: str
    staging_directory: str


def submit(
    application: SkeinApplication,
    conf: HadoopConf,
    *,
    hook: SubmissionHook,
    jar: Path,
    home: str,
    timeout_s: float = CONNECT_TIMEOUT_S,
    upload_timeout_s: float = UPLOAD_TIMEOUT_S,
    environ: Mapping[str, str] = os.environ,
    on_broken: Callable[[str], None] = lambda _: None,
) -> Submitted:
    """Upload the files, submit the application, and return as soon as YARN accepted it.

    ``jar`` holds our proxy provider; ``home`` is the user's home directory in the cluster's file system. A cluster
    that does not answer is ClusterUnreachable after about ``timeout_s``. ``on_broken`` is told the application's id
    when the submission broke off (by an error, a deadline or ^C) after the upload had begun: nobody else would delete
    what is in the staging directory, unless YARN has taken the application all the same.
    """
    security = new_credential()
    check_local_files(application)
    with tempfile.TemporaryDirectory(prefix="yarnspec-submit-") as name:
        directory = Path(name)
        spec = specification(with_plain_sources(application, directory / "files"), security)
        overrides = {**conf.placement_overrides(), **patience(timeout_s)}
        configuration_directory = write_conf_dir(conf, directory / "conf", overrides)
        hook_file = directory / "submission.json"
        hook_file.write_bytes(msgspec.json.encode(hook))
        driver = ClientDriver(
            configuration_directory=configuration_directory,
            class_path_entries=(jar,),
            security=security,
            log=directory / "client-driver.log",
            timeout_s=timeout_s,
            system_properties={HOOK_PROPERTY: str(hook_file)},
            environ=environ,
        )
        try:
            with driver:
                try:
                    application_id = _submitted(driver, spec, timeout_s, upload_timeout_s)
                except (skein.exceptions.SkeinError, ValueError, KeyError) as error:
                    raise explained(str(error), driver.last_log_lines()) from error
        except BaseException:
            # Only now: as long as its JVM ran it could have gone on.
            begun = driver.told(_UPLOADED_TO)
            if begun:
                on_broken(begun)
            raise
    return Submitted(application_id=application_id, staging_directory=staging_directory(home, application_id))


def _submitted(driver: ClientDriver, spec: skein.ApplicationSpec, timeout_s: float, upload_timeout_s: float) -> str:
    running = RunningCall(lambda: str(driver.client.submit(spec)), "the submission")
    # Hadoop's own patience is set to less than this; some of its retries multiply all the same.
    if not running.wait(timeout_s) and not driver.said(_UPLOAD_BEGINS):
        raise ClusterUnreachable(
            f"The ResourceManager gave no application id within {timeout_s:g} s. {check_the_cluster()} "
            f"Skein's client driver said:\n{driver.last_log_lines()}"
        )
    try:
        return running.result(upload_timeout_s)
    except DeadlinePassed as error:
        raise ClusterUnreachable(
            f"The submission did not end within {upload_timeout_s:g} s. Skein's client driver said:\n"
            f"{driver.last_log_lines()}"
        ) from error


def patience(timeout_s: float) -> dict[str, str]:
    """Hadoop settings that make its client give up after ``timeout_s`` instead of after 15 minutes or never."""
    # The part of the time that is left once the JVM has started.
    wait_ms = str(int(timeout_s * 750))
    return {
        "yarn.resourcemanager.connect.max-wait.ms": wait_ms,
        "yarn.resourcemanager.connect.retry-interval.ms": "1000",
        "yarn.client.failover-sleep-base-ms": "200",
        "yarn.client.failover-sleep-max-ms": "1000",
        # The retries above are enough: each of them would else be ten of these, six minutes together.
        "ipc.client.connect.max.retries": "0",
        "ipc.client.connect.timeout": wait_ms,
        "ipc.client.connect.max.retries.on.timeouts": "0",
        # A server that took the connection and says nothing.
        "ipc.client.rpc-timeout.ms": wait_ms,
        # A file can be closed when its DataNode has reported the last block, which is a matter of milliseconds; by
        # default the client asks again after 400 ms, for every file. The sum of the waits stays what it is.
        "dfs.client.block.write.locateFollowingBlock.initial.delay.ms": "5",
        "dfs.client.block.write.locateFollowingBlock.retries": "11",
        "dfs.client.failover.max.attempts": "4",
        "dfs.client.failover.sleep.max.millis": "2000",
        "yarn.client.application-client-protocol.poll-interval-ms": "50",
        "yarn.client.application-client-protocol.poll-timeout-ms": wait_ms,
        # Hadoop's client would otherwise fetch delegation tokens of a timeline service that may not be there.
        "yarn.timeline-service.enabled": "false",
    }


def with_plain_sources(application: SkeinApplication, directory: Path) -> SkeinApplication:
    """Give local files with other letters in their paths than plain ones a link in ``directory``, and name that.

    A JVM in the C locale cannot open paths with other letters than ASCII's. Hadoop's paths can have no colon. And the
    hosts store a file under the name of its source. The link in the containers keeps its own name.
    """
    links: dict[str, str] = {}

    def plain(file: LocalizedFile) -> LocalizedFile:
        path = _local_path(file)
        if path is None or _PLAIN_PATH.fullmatch(str(path)):
            return file
        if file.source not in links:
            link = directory / str(len(links)) / _OTHER_LETTERS.sub("_", path.name)
            link.parent.mkdir(parents=True)
            link.symlink_to(path)
            links[file.source] = str(link)
        return msgspec.structs.replace(file, source=links[file.source])

    def plain_files(container: SkeinContainer) -> SkeinContainer:
        files = {link: plain(file) for link, file in container.files.items()}
        return msgspec.structs.replace(container, files=files)

    return msgspec.structs.replace(
        application, master=plain_files(application.master), executor=plain_files(application.executor)
    )


def _local_path(file: LocalizedFile) -> Path | None:
    return Path(file.source) if file.source.startswith("/") else None


def check_local_files(application: SkeinApplication) -> None:
    """Refuse local files that are not there or cannot be read before anything is started."""
    for container in (application.master, application.executor):
        for file in container.files.values():
            path = _local_path(file)
            if path is None:
                continue
            if not path.is_file():
                raise UsageError(f"There is no file {path}.")
            if not os.access(path, os.R_OK):
                raise UsageError(f"The file {path} cannot be read; check its permissions.")


_NO_QUEUE = (
    *("unknown queue", "non-leaf queue", "not a leaf queue", "ambiguous queue", "illegal queue name"),
    *("rejected by queue placement policy", "to specified queue", "to  queue :"),
)
# Words in Hadoop's messages, of which the first match counts: (any of these words, the error, how it begins).
_REASONS: tuple[tuple[tuple[str, ...], type[YarnspecError], str], ...] = (
    (_NO_QUEUE, NotFound, "YARN has no such queue to submit to"),
    (
        ("accesscontrolexception", "permission denied", "not have permission", "cannot submit", "not authorized"),
        NotAllowed,
        "The cluster refuses the submission",
    ),
    (("not allowed to impersonate",), NotAllowed, "The cluster does not let this user submit for another"),
    (("invalidresourcerequest", "invalid resource request"), UsageError, "YARN has no container of this size"),
    (("no filesystem for scheme",), UsageError, "Hadoop knows no file system of this scheme"),
    (("wrong fs",), UsageError, "A file of the application is on another file system than its URI says"),
    (("filenotfound", "file does not exist", "no such file"), UsageError, "A file of the application is missing"),
    (
        ("connectexception", "connection refused", "noroutetohost", "unknownhost", "sockettimeout", "call from "),
        ClusterUnreachable,
        "The cluster does not answer; check that it runs and that HADOOP_CONF_DIR names the right one",
    ),
)


def explained(text: str, log_lines: str) -> YarnspecError:
    """Our error for what Skein's client driver (that is, Hadoop's client in it) answered."""
    told = told_by_hadoop(text)
    for words, error, beginning in _REASONS:
        if any(word in text.lower() for word in words):
            return error(f"{beginning}: {told}")
    return ClusterUnreachable(f"The submission failed: {told} Skein's client driver said:\n{log_lines}")


def told_by_hadoop(text: str) -> str:
    """Hadoop's message without Skein's preface, Java's class names and the stack."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("at ")]
    words = " ".join(" ".join(lines).split())
    words = words.removeprefix("Failed to submit application, exception:").strip()
    words = _EXCEPTION_CLASS.sub("", words)
    if len(words) > _MAX_TOLD_CHARACTERS:
        words = words[:_MAX_TOLD_CHARACTERS] + " …"
    return words if words.endswith((".", "…")) else f"{words}."
