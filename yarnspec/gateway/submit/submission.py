"""``yarnspec.submit(...)``: prepare, submit, and the application that comes of it."""

from __future__ import annotations

import logging
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from yarnspec.errors import NotFound, UsageError, YarnspecError
from yarnspec.gateway.application.handle import Application
from yarnspec.gateway.cluster.access import Cluster
from yarnspec.gateway.flags.request import SubmitRequest
from yarnspec.gateway.submit.interrupted import SubmissionInterrupted, clear_away
from yarnspec.gateway.submit.preparation import Prepared, dry_run_document, prepare, read_request
from yarnspec.gateway.translation.sparkconf import Translation
from yarnspec.jvm import jar_path
from yarnspec.yarn.skein import staging_directory
from yarnspec.yarn.skein.skein_application import as_document
from yarnspec.yarn.skein.skein_submission import submit as submit_to_yarn

_LOGGER = logging.getLogger(__name__)
_SWEEP_S = 30.0


class Sweep:
    """Deletes the leftovers of ended applications after a submission, in the background: nobody waits for it."""

    def __init__(self, cluster: Cluster) -> None:
        # The application's connections may be closed any time.
        self._cluster = cluster.again()
        self._problems: list[str] = []
        # A daemon: a submit that is interrupted does not wait for a cluster that does not answer.
        self._thread = threading.Thread(target=self._run, name="sweep", daemon=True)
        self._thread.start()

    def problems(self) -> list[str]:
        """Sentences about what could not be swept, as soon as it is over."""
        self._thread.join(_SWEEP_S)
        return list(self._problems)

    def _run(self) -> None:
        try:
            self._problems += sweep(self._cluster)
        finally:
            self._cluster.close()


class Submission(msgspec.Struct, frozen=True, kw_only=True):
    """An application that YARN took, and what the submit found out about it."""

    application: Application
    prepared: Prepared
    sweep: Sweep


def submit(program: str | SubmitRequest, *arguments: str, **flags: Any) -> Application:
    """Submit a PySpark program to the cluster that HADOOP_CONF_DIR names; returns as soon as YARN has accepted it.

    Properties without effect here, and the like, are logged as warnings of ``yarnspec``.

    Args:
        program: the path of the program, or a whole ``SubmitRequest``.
        arguments: the program's own arguments.
        flags: the fields of ``SubmitRequest``, which are spark-submit's flags and ours with underscores.

    Raises:
        YarnspecError: what is wrong and what to do; nothing was submitted.

    Example:
        >>> app = yarnspec.submit("job.py", "2026-11-20", num_executors=4, exclude_hosts=("node7",))
        >>> app.wait().state
        'SUCCEEDED'
    """
    if isinstance(program, SubmitRequest):
        if arguments or flags:
            message = "give a SubmitRequest, or a program with arguments and flags, not both"
            raise UsageError(message)
        request = program
    else:
        try:
            request = msgspec.convert(
                {"program": str(program), "arguments": [str(one) for one in arguments], **flags}, SubmitRequest
            )
        except msgspec.ValidationError as error:
            raise UsageError(f"yarnspec.submit: {error}") from error
    if request.dry_run:
        raise UsageError("yarnspec.submit submits; for a dry run use the command line: yarnspec submit --dry-run")
    submission = submit_request(request, _log_prepared)
    # A script may end right after this.
    for problem in submission.sweep.problems():
        _LOGGER.warning(problem)
    return submission.application


def _log_prepared(prepared: Prepared) -> None:
    for line in prepared.translation.report:
        _LOGGER.info(line)
    for warning in prepared.warnings:
        _LOGGER.warning(warning)


def submit_request(
    request: SubmitRequest, on_prepared: Callable[[Prepared], None] = lambda _: None, *, follows: bool = False
) -> Submission:
    """Prepare and submit, and begin to sweep what ended applications left.

    Args:
        request: what to run, and how.
        on_prepared: called before anything leaves this machine.
        follows: whether the caller waits for the application, and in client mode reads its output.

    Raises:
        SubmissionInterrupted: ^C while it was being submitted.
        YarnspecError: as ``submit``.
    """
    read = read_request(request)
    cluster = _cluster(read.translation)
    with tempfile.TemporaryDirectory(prefix="yarnspec-") as name:
        prepared = prepare(request, cluster, read, Path(name), streams=follows and streams(read.translation))
        on_prepared(prepared)
        begun: list[str] = []
        try:
            submitted = submit_to_yarn(
                prepared.application,
                cluster.conf,
                hook=prepared.hook,
                jar=jar_path(),
                home=cluster.files.home,
                timeout_s=read.translation.options.cluster.connect_timeout_ms / 1000,
                on_broken=begun.append,
            )
        except KeyboardInterrupt as interrupt:
            raise SubmissionInterrupted(clear_away(cluster, begun)) from interrupt
        except YarnspecError as error:
            if begun:
                raise type(error)(f"{error.message}\nOf this submission: {clear_away(cluster, begun)}.") from error
            raise
    application = Application(submitted.application_id, cluster)
    return Submission(application=application, prepared=prepared, sweep=Sweep(cluster))


def _cluster(translation: Translation) -> Cluster:
    """The cluster as the user sees it whose application it will be."""
    cluster = Cluster.from_environment(translation.options)
    proxy_user = translation.yarn.proxy_user
    if proxy_user is None or proxy_user == cluster.user:
        return cluster
    return cluster.acting_for(proxy_user)


def streams(translation: Translation) -> bool:
    """Whether a submit that waits copies the driver's output to its own."""
    return translation.deploy_mode == "client" and translation.wait


def dry_run(request: SubmitRequest, on_prepared: Callable[[Prepared], None] = lambda _: None) -> dict[str, object]:
    """The files and containers that a submit would ship and ask for, as plain values. Nothing is submitted."""
    read = read_request(request)
    cluster = _cluster(read.translation)
    with tempfile.TemporaryDirectory(prefix="yarnspec-") as name:
        prepared = prepare(request, cluster, read, Path(name))
        on_prepared(prepared)
        cluster.close()
        return dry_run_document(prepared, as_document(prepared.application))


def sweep(cluster: Cluster) -> list[str]:
    """Delete what killed applications left behind and history that is older than its retention.

    Returns sentences about what could not be swept: a submit does not fail for that.
    """
    parts: tuple[Callable[[Cluster], object], ...] = (_sweep_staging, _sweep_history)
    problems = []
    for part in parts:
        try:
            part(cluster)
        except (YarnspecError, OSError) as error:
            problems.append(f"leftovers of ended applications were not swept: {error}")
    return problems


def _sweep_staging(cluster: Cluster) -> list[str]:
    return staging_directory.sweep(cluster.files, cluster.rm)


def _sweep_history(cluster: Cluster) -> list[str]:
    def may_be_alive(application_id: str) -> bool:
        try:
            return not cluster.rm.application(application_id).ended
        except NotFound:
            return False  # the ResourceManager remembers some thousand applications, or only those since it began

    return cluster.history.sweep(
        user=cluster.user,
        now_ms=int(time.time() * 1000),
        retention_ms=cluster.options.history.retention_ms,
        may_be_alive=may_be_alive,
    )
