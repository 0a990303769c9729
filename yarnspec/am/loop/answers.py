"""The negotiator's answers over REST: it reads from the log and the fold, and asks the loop for decisions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import structlog

from yarnspec.am.loop.output_readers import OutputReaders, Patience
from yarnspec.am.loop.shell import Shell
from yarnspec.core.copies.speculationview import Explanation, SpeculationView
from yarnspec.core.messages import commands
from yarnspec.core.messages.commands import Command
from yarnspec.core.messages.events import BlockRequested, HostReport, RunningAttempt, ScaleRequested, UnblockRequested
from yarnspec.observe.forms.document import StatusDocument
from yarnspec.observe.http.rest import (
    RUNNING_LIMIT,
    Answer,
    BlockBody,
    HostEntry,
    OutputChunk,
    ScaleBody,
    UnblockBody,
)
from yarnspec.observe.log.attempt_log import EventLogs
from yarnspec.observe.log.eventlog import EventChunk
from yarnspec.observe.status.speculation import joined

_log = structlog.get_logger()

_VIEW_DEADLINE_S = 2.0

_IN_FORCE_S = 5.0
_DECISIONS = (commands.BlockHost, commands.UnblockHost, commands.RefuseBlock)
_NOT_HEARD = "the driver has not confirmed it yet: until it does, tasks may still start there"


class Answers:
    """Implements ``observe.server.Requests``; see there. Its methods are called from several threads."""

    def __init__(
        self,
        *,
        shell: Shell,
        log: EventLogs,
        document: Callable[[], StatusDocument],
        hosts: Callable[[], Sequence[HostReport]],
        streams: dict[str, Path],
        attempt: int,
        reader_expected: bool = False,
    ) -> None:
        self._shell = shell
        self._event_log = log
        self._document = document
        self._hosts = hosts
        self._streams = streams
        self._attempt = attempt
        self._readers = OutputReaders(expected=reader_expected)
        self._stream_ended = False
        self._view: SpeculationView | None = None

    def status(self) -> StatusDocument:
        """The status now; while the core is busy, with what it knew of speculation when it was asked last."""
        try:
            self._view = self._shell.inspect(lambda core, now_ms: core.speculation_view(now_ms), _VIEW_DEADLINE_S)
        except TimeoutError:
            _log.info("the core is busy: the status has its older numbers")
        document = self._document()
        return document if self._view is None else joined(document, self._view)

    def running(self) -> tuple[RunningAttempt, ...]:
        """The task attempts that run now."""
        return self._shell.inspect(lambda core, _: core.running_attempts(RUNNING_LIMIT))

    def events(self, epoch: int, after: int, limit_bytes: int, /) -> EventChunk:
        """Records that follow the one numbered ``after`` of an epoch."""
        return self._event_log.after(epoch, after, limit_bytes)

    def output(self, stream: str, offset: int, limit_bytes: int, reader: str, /) -> OutputChunk:
        """A piece of the driver's output."""
        ended = self._stream_ended
        try:
            with self._streams[stream].open("rb") as file:
                file.seek(offset)
                data = file.read(limit_bytes)
        except FileNotFoundError:
            data = b""
        if stream == "stdout":
            self._readers.came(reader, offset, complete=ended and not data)
        return OutputChunk(data=data, next_offset=offset + len(data), ended=ended and not data, attempt=self._attempt)

    def hosts(self) -> list[HostEntry]:
        """The cluster's hosts, with what is on them and which are blocked."""
        document = self._document()
        blocked = {one.host: one for one in document.blocked_hosts}
        blocks = {one.host: one for one in document.blocks if one.executor_id is None and one.host in blocked}
        left_in_use = self._left_in_use()
        live = [container.host for container in document.containers if container.state != "COMPLETE"]
        return [
            HostEntry(
                host=report.host,
                rack=report.rack,
                state=report.state,
                containers=live.count(report.host),
                blocked=report.host in blocked,
                reason=blocked[report.host].reason if report.host in blocked else "",
                until_ms=blocked[report.host].until_ms if report.host in blocked else None,
                level=blocks[report.host].level if report.host in blocks else "",
                cause=blocks[report.host].cause if report.host in blocks else "",
                by=blocked[report.host].by if report.host in blocked else "",
                left_in_use=left_in_use.get(report.host, ""),
            )
            for report in sorted(self._hosts(), key=lambda one: one.host)
        ]

    def _left_in_use(self) -> dict[str, str]:
        try:
            return self._shell.inspect(lambda core, _: core.hosts_left_in_use, _VIEW_DEADLINE_S)
        except TimeoutError:
            return {}  # the list is worth more than this

    def block(self, body: BlockBody, /) -> Answer:
        """Ask for a block and wait for the decision."""
        return self._decision(
            BlockRequested(
                host=body.host, reason=body.reason, by=body.by, duration_ms=body.duration_ms, force=body.force
            )
        )

    def unblock(self, body: UnblockBody, /) -> Answer:
        """Ask for the end of a block and wait for the decision."""
        answer = self._decision(UnblockRequested(host=body.host, by=body.by))
        left = {one.host for one in self._document().blocks if one.level == "cluster" and one.executor_id is None}
        return msgspec.structs.replace(answer, still_blocked=body.host in left)

    def scale(self, body: ScaleBody, /) -> Answer:
        """Ask for other bounds and wait for the decision."""
        event = ScaleRequested(least=body.min_executors, most=body.max_executors, by=body.by, force=body.force)
        for done in self._shell.ask(event):
            if isinstance(done, commands.ChangeBounds | commands.RefuseScale):
                return Answer(accepted=isinstance(done, commands.ChangeBounds), reason=done.reason)
        return Answer(accepted=False, reason="the application is about to end")

    def explain_task(self, stage: int, index: int, /) -> Explanation | None:
        """Why a task was, or was not, acted on."""
        return self._shell.inspect(lambda core, now_ms: core.explain_task(stage, index, now_ms))

    def explain_host(self, host: str, /) -> Explanation | None:
        """Why a host was, or was not, acted on; None if nothing is known of it."""
        return self._shell.inspect(lambda core, now_ms: core.explain_host(host, now_ms))

    def end_streams(self, patience: Patience) -> bool:
        """The driver has ended: let those who follow its output have the rest; False when somebody did not get it."""
        self._stream_ended = True
        return self._readers.drain(patience)

    def _decision(self, event: BlockRequested | UnblockRequested) -> Answer:
        answer: list[Command] = self._shell.ask(event)
        # The first that is about the host: what follows from the decision, for entries of the cluster's list as well,
        # comes after it.
        about = [one for one in answer if isinstance(one, _DECISIONS) and one.host == event.host]
        if not about:
            return Answer(accepted=True, reason="nothing had to change", changed=False)
        done = about[0]
        if isinstance(done, commands.RefuseBlock):
            return Answer(accepted=False, reason=done.reason)
        heard = self._shell.in_force(_IN_FORCE_S)
        return Answer(accepted=True, reason=done.reason if heard else f"{done.reason}; {_NOT_HEARD}")
