"""`yarnspec submit`: run a PySpark program on the cluster."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import BinaryIO

import click

from yarnspec.cli.printing import print_document
from yarnspec.errors import YarnspecError
from yarnspec.gateway.application.following import Followed, follow
from yarnspec.gateway.application.handle import Application
from yarnspec.gateway.flags.arguments import SubmitCommand
from yarnspec.gateway.flags.request import SubmitRequest
from yarnspec.gateway.submit.interrupted import SubmissionInterrupted
from yarnspec.gateway.submit.preparation import Prepared
from yarnspec.gateway.submit.submission import Submission, dry_run, streams, submit_request
from yarnspec.observe.forms.document import StatusDocument
from yarnspec.observe.status.progress import progress_on
from yarnspec.spark.last_words import SHOWN_BYTES, without_middle

_INTERRUPTED = 130

EXAMPLES = """
\b
Examples:
  yarnspec submit --master yarn --num-executors 4 --executor-memory 2g job.py 2026-11-20
  yarnspec submit --exclude-hosts node7,node9 --deploy-mode cluster --no-wait job.py
  yarnspec submit --dry-run -o yaml job.py
"""


def run(request: SubmitRequest) -> int:
    """Submit, and wait unless told otherwise; returns the exit code."""
    if request.dry_run:
        document = dry_run(request, _say_prepared)
        print_document(document, "yaml" if request.output == "table" else request.output)
        return 0
    submission = _submitted(request)
    if submission is None:
        return _INTERRUPTED
    application, translation = submission.application, submission.prepared.translation
    data_only = request.output != "table"
    if translation.deploy_mode == "cluster" and not data_only:
        click.echo(application.id)
    else:
        click.echo(f"yarnspec: submitted {application.id}", err=True)
    if not translation.wait:
        if data_only:
            _print(application, application.status(), request.output, 0)
        elif translation.deploy_mode == "client":
            click.echo(application.id)
        _say_how_to_go_on(application)
        _say_not_swept(submission)
        application.close()
        return 0
    try:
        followed = _follow(submission, sys.stderr.buffer if data_only else sys.stdout.buffer)
    except KeyboardInterrupt:
        click.echo(f"\nyarnspec: {application.id} goes on.", err=True)
        _say_how_to_go_on(application)
        return _INTERRUPTED
    except (YarnspecError, BrokenPipeError):
        _say_how_to_go_on(application)
        raise
    last, code = followed.last, followed.exit_code
    if data_only:
        _print(application, last, request.output, code)
    _say_not_swept(submission)
    _say_end(application, followed)
    # Only here: where waiting broke off, the thread that reads the output may still use the connections.
    application.close()
    return code


def _submitted(request: SubmitRequest) -> Submission | None:
    """The submission; None when ^C came before, and what is left of it was said."""
    try:
        return submit_request(request, _say_prepared, follows=True)
    except SubmissionInterrupted as interrupt:
        said = str(interrupt)
    except KeyboardInterrupt:
        said = "nothing was submitted"
    click.echo(f"\nyarnspec: interrupted: {said}.", err=True)
    return None


def _follow(submission: Submission, stdout: BinaryIO) -> Followed:
    translation = submission.prepared.translation
    if streams(translation):
        click.echo(
            "yarnspec: the driver runs in the application master on the cluster, so that it can be recovered; "
            "its output follows",
            err=True,
        )
    with progress_on(sys.stderr, stdout) as progress:
        return follow(
            submission.application,
            progress,
            output=streams(translation),
            poll_s=translation.options.submit.poll_interval_ms / 1000,
            start_wait_s=translation.options.resources.wait_timeout_ms / 1000,
            log_links=translation.log_links,
        )


def _say_prepared(prepared: Prepared) -> None:
    for line in prepared.translation.report:
        click.echo(f"yarnspec: {line}", err=True)
    for warning in prepared.warnings:
        click.echo(f"warning: {warning}", err=True)
    if prepared.translation.options.placement.mode == "auto":
        click.echo(f"yarnspec: placement by {prepared.placement.mode}: {prepared.placement.reason}", err=True)


def _say_not_swept(submission: Submission) -> None:
    for problem in submission.sweep.problems():
        click.echo(f"warning: {problem}", err=True)


def _say_how_to_go_on(application: Application) -> None:
    click.echo(
        f"yarnspec: follow it with  yarnspec status {application.id}\n"
        f"yarnspec: end it with     yarnspec kill {application.id}",
        err=True,
    )


def _say_end(application: Application, followed: Followed) -> None:
    if not followed.whole_output:
        click.echo(
            f"error: the program's output is not whole; try  yarnspec logs {application.id} --file driver.stdout",
            err=True,
        )
    if followed.last.state != "SUCCEEDED":
        _say_failure(application, followed.last)
    if followed.last.links.report is not None:
        click.echo(f"yarnspec: its report: {followed.last.links.report}", err=True)


def _say_failure(application: Application, last: StatusDocument) -> None:
    reason = last.final.reason if last.final is not None else ""
    click.echo(f"error: {application.id} {last.state}" + (f": {reason}" if reason else ""), err=True)
    diagnostics = last.final.diagnostics if last.final is not None else ""
    for line in without_middle(diagnostics.strip(), SHOWN_BYTES).splitlines():
        click.echo(f"  {line}", err=True)
    if last.state == "FAILED" and last.attempt and not last.epoch:
        click.echo("No driver was begun. `yarnspec doctor` tries the hosts and their Python out.", err=True)
    click.echo(f"The whole log: yarnspec logs {application.id}", err=True)


def _print(application: Application, document: StatusDocument, output: str, code: int) -> None:
    print_document(
        {
            "schema": 1,
            "application_id": application.id,
            "state": document.state,
            "exit_code": code,
            "status": document,
        },
        "json" if output == "json" else "yaml",
    )


command = SubmitCommand(
    name=Path(__file__).stem,
    callback=run,
    short_help="Run a PySpark program on the cluster that HADOOP_CONF_DIR names.",
    help="Run a PySpark program on the cluster that HADOOP_CONF_DIR names. A line for `spark-submit --master yarn` "
    "works as it is.",
    epilog=EXAMPLES,
)
