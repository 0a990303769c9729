"""Waits for an application: its driver's output, its progress, and at last its exit code."""

from __future__ import annotations

import threading

from yarnspec.errors import YarnspecError
from yarnspec.gateway.application import Application
from yarnspec.observe.document import StatusDocument
from yarnspec.observe.progress import Progress

_EXIT_FAILED = 1
_EXIT_KILLED = 7
_OUTPUT_END_S = 15.0


def follow(application: Application, progress: Progress, *, output: bool, poll_s: float) -> StatusDocument:
    """Show an application until it has ended; returns its last status.

    Args:
        application: which one.
        progress: where state and output are shown.
        output: whether the driver's standard output is streamed.
        poll_s: time between two looks at its state.

    Raises:
        BrokenPipeError: nobody reads the output any more.
        YarnspecError: the cluster cannot be asked any more.
    """
    over = threading.Event()
    broken: list[BrokenPipeError] = []

    def copy_output() -> None:
        try:
            _stream(application, progress)
        except YarnspecError as error:
            progress.say(f"the output cannot be followed any more: {error}")
        except BrokenPipeError as error:
            broken.append(error)
            over.set()

    stream = threading.Thread(target=copy_output, name="driver-output", daemon=True)
    if output:
        stream.start()
    while not broken and not application.has_ended():
        try:
            progress.show(application.status())
        except YarnspecError as error:
            progress.say(str(error))
        over.wait(poll_s)
    if output:
        stream.join(_OUTPUT_END_S)
        if stream.is_alive():
            progress.say(f"the end of the output is in: yarnspec logs {application.id}")
    if broken:
        raise broken[0]
    last = application.status()
    progress.show(last)
    return last


def exit_code(document: StatusDocument) -> int:
    """What ``submit --wait`` answers for an application that has ended."""
    if document.state == "SUCCEEDED":
        return 0
    if document.state == "KILLED":
        return _EXIT_KILLED
    if document.final is not None and document.final.exit_code == 6:  # noqa: PLR2004 - resources did not come
        return 6
    return _EXIT_FAILED


def _stream(application: Application, progress: Progress) -> None:
    for piece in application.client.output(application.has_ended):
        if piece.restarted:
            progress.say("the driver began again, and so does its output")
        if piece.data:
            progress.write(piece.data)
