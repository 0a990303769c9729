"""Waits for an application: its driver's output, its progress, and at last its exit code."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar

import msgspec

from yarnspec.core.messages.commands import EXIT_FAILED, EXIT_KILLED, EXIT_NO_RESOURCES
from yarnspec.errors import ClusterUnreachable, YarnspecError
from yarnspec.gateway.application.client import OutputCutOff, OutputPiece
from yarnspec.gateway.application.handle import Application
from yarnspec.gateway.application.kill_cleanup import GivenUp
from yarnspec.observe.forms.document import StatusDocument
from yarnspec.observe.status.progress import ProgressView

_SILENCE_S = 600.0
_BEFORE_RUNNING = frozenset({"NEW", "NEW_SAVING", "SUBMITTED", "ACCEPTED"})
_Answer = TypeVar("_Answer")


class Followed(msgspec.Struct, frozen=True, kw_only=True):
    """An application that has ended; ``whole_output`` is False when its output was asked for and broke off."""

    last: StatusDocument
    whole_output: bool = True

    @property
    def exit_code(self) -> int:
        """The exit code of ``submit --wait``: cut output is never a success."""
        code = exit_code(self.last)
        return code if self.whole_output else code or EXIT_FAILED


def follow(
    application: Application,
    progress: ProgressView,
    *,
    output: bool,
    poll_s: float,
    start_wait_s: float = 0.0,
    log_links: bool = False,
    clock_s: Callable[[], float] = time.monotonic,
) -> Followed:
    """Show an application until it has ended.

    Args:
        application: which one.
        progress: where state and output are shown.
        output: whether the driver's standard output is streamed.
        poll_s: time between two looks at its state.
        start_wait_s: an application whose attempt, the first or a later one, waits for longer than this to start is
            killed; 0: never.
        log_links: whether the pages with the driver's logs are told, once for each attempt.
        clock_s: tells the time.

    Raises:
        BrokenPipeError: nobody reads the output any more.
        YarnspecError: the cluster cannot be asked any more.
    """
    copy = _OutputCopy(application, progress)
    cluster = _PatientAsking(progress, poll_s, copy.broken, clock_s)
    waits_since_s: float | None = clock_s()
    linked: set[int] = set()
    if output:
        copy.start()
    try:
        while not copy.broken.is_set() and not cluster.ask(application.has_ended):
            try:
                document = cluster.ask(application.status)
                progress.show(document)
                if log_links and document.state == "RUNNING" and document.attempt not in linked:
                    linked |= _tell_log_pages(cluster.ask(application.driver_log_pages), progress, document.attempt)
            except YarnspecError as error:
                if isinstance(error, ClusterUnreachable):
                    raise
                progress.say(str(error))
            else:
                # A master that has its container may take its time until it registers.
                if document.state not in _BEFORE_RUNNING or document.containers:
                    waits_since_s = None
                elif waits_since_s is None:
                    waits_since_s = clock_s()
                elif 0 < start_wait_s <= clock_s() - waits_since_s:
                    _give_up(application, progress, start_wait_s, document)
                    waits_since_s = None
                    continue
            copy.broken.wait(poll_s)
        if output:
            copy.finish()
        copy.check_pipe()
        last = cluster.ask(application.status)
    except ClusterUnreachable:
        copy.check_pipe()
        raise
    progress.show(last)
    try:
        application.clear_staging()
    except (YarnspecError, OSError) as error:
        progress.say(f"its staging directory is left to the next submit: {error}")
    return Followed(last=last, whole_output=copy.whole or not output)


def _tell_log_pages(pages: dict[str, str], progress: ProgressView, attempt: int) -> set[int]:
    for stream, page in pages.items():
        progress.say(f"Driver Logs ({stream}): {page}")
    return {attempt} if pages else set()


def _give_up(application: Application, progress: ProgressView, start_wait_s: float, document: StatusDocument) -> None:
    why = document.pending_reason or "YARN gives no reason"
    which = (
        "its application master" if document.attempt <= 1 else f"the application master of attempt {document.attempt}"
    )
    reason = f"{which} got no container within {start_wait_s:g} s: {why}"
    progress.say(f"{reason}; it is killed now")
    application.kill(GivenUp(exit_code=EXIT_NO_RESOURCES, reason=reason))


def exit_code(document: StatusDocument) -> int:
    """The exit code of ``submit --wait`` for an application that has ended and whose output came."""
    if document.state == "SUCCEEDED":
        return 0
    if document.final is not None and document.final.exit_code == EXIT_NO_RESOURCES:
        return EXIT_NO_RESOURCES
    return EXIT_KILLED if document.state == "KILLED" else EXIT_FAILED


class _PatientAsking:
    """Asks a cluster that may be away for a while: the application goes on without it."""

    def __init__(
        self, progress: ProgressView, pause_s: float, over: threading.Event, clock_s: Callable[[], float]
    ) -> None:
        self._progress = progress
        self._pause_s = pause_s
        self._over = over
        self._clock_s = clock_s

    def ask(self, call: Callable[[], _Answer]) -> _Answer:
        silent_since_s: float | None = None
        said = ""
        while True:
            try:
                return call()
            except ClusterUnreachable as error:
                now_s = self._clock_s()
                silent_since_s = now_s if silent_since_s is None else silent_since_s
                if now_s - silent_since_s >= _SILENCE_S:
                    message = (
                        f"{error.message} (for {_SILENCE_S / 60:g} minutes now). The application may well go on "
                        "without anybody who waits for it."
                    )
                    raise ClusterUnreachable(message) from error
                if error.message != said:
                    said = error.message
                    self._progress.say(f"{said}; asking on")
                if self._over.wait(self._pause_s):
                    raise


class _OutputCopy:
    """Copies the driver's output in a thread of its own: live, and what the negotiator could not give from the log."""

    def __init__(self, application: Application, progress: ProgressView) -> None:
        self.broken = threading.Event()
        self.whole = False
        self._application = application
        self._progress = progress
        self._attempt = 0
        self._offset = 0
        self._application_ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="driver-output", daemon=True)
        self._pipe_error = BrokenPipeError()

    def start(self) -> None:
        self._thread.start()

    def finish(self) -> None:
        """The application has ended. Reading has deadlines; a reader of ours who takes his time may do so."""
        self._application_ended.set()
        while self._thread.is_alive() and not self.broken.is_set():
            self._thread.join(0.5)

    def check_pipe(self) -> None:
        if self.broken.is_set():
            raise self._pipe_error

    def _run(self) -> None:
        try:
            self._copy()
        except BrokenPipeError as error:
            self._pipe_error = error
            self.broken.set()
        except YarnspecError as error:
            self._progress.say(f"the output breaks off after {self._offset} bytes: {error}")

    def _copy(self) -> None:
        try:
            for piece in self._application.client.output(self._application_ended.is_set):
                self._take(piece)
        except YarnspecError as error:
            if not isinstance(error, OutputCutOff):
                self._progress.say(f"the output cannot be followed any more, the rest comes after the end: {error}")
                self._application_ended.wait()
            for piece in self._application.rest_of_output(self._attempt, self._offset):
                self._take(piece)
        self.whole = True

    def _take(self, piece: OutputPiece) -> None:
        self._attempt = piece.attempt
        if piece.restarted:
            self._offset = 0
            self._progress.say("the driver began again, and so does its output")
        if piece.data:
            self._progress.write(piece.data)
            self._offset += len(piece.data)
