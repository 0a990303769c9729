"""The wait of an application for resources, and the rescale timeline of its executors."""

from __future__ import annotations

import msgspec

from yarnspec.core.messages import commands, events
from yarnspec.core.messages.commands import ApplicationPhaseName
from yarnspec.observe.forms.document import RescaleStatus, ResourcesStatus

_SHOWN = 100


class ResourcesFold:
    """Folds the records about phases and rescales; the newest rescales are kept."""

    def __init__(self) -> None:
        self._phase: ApplicationPhaseName = "created"
        self._since_ms: int | None = None
        self._told: commands.EnterPhase | None = None
        self._rescales: list[RescaleStatus] = []

    def apply(self, message: events.Event | commands.Command, time_ms: int) -> None:
        """Take in the next record."""
        match message:
            case events.AttemptStarted():
                self._end(None, time_ms, "the application attempt was lost")
                self._since_ms = self._since_ms or time_ms
            case commands.EnterPhase():
                self._told = message
                self._enter(message.phase, time_ms)
            case commands.BeginRescale():
                self._end(None, time_ms, "the next rescale began")
                self._rescales.append(
                    RescaleStatus(
                        number=message.number,
                        cause=message.cause,
                        wanted=message.wanted,
                        before=message.before,
                        begin_ms=time_ms,
                    )
                )
                del self._rescales[:-_SHOWN]
            case commands.EndRescale():
                self._end(message.got, time_ms, message.why)
            case events.DriverLost():
                # Logs of older versions have no EndRescale for it. Where there is one, it follows and says more.
                self._end(None, time_ms, "the driver was lost")
            case commands.FinishApplication():
                self._end(None, time_ms, "the application ended")
                self._told = None
                self._enter("finished" if message.status == "SUCCEEDED" else "failed", time_ms)

    def status(self, have: int) -> ResourcesStatus | None:
        """The status, with so many executors on hosts that are not blocked; None before the first attempt began."""
        if self._since_ms is None:
            return None
        told = self._told
        return ResourcesStatus(
            phase=self._phase,
            since_ms=self._since_ms,
            have=have,
            sufficient=told.sufficient if told is not None else 0,
            desired=told.desired if told is not None else 0,
            waits_for=told.waits_for if told is not None else "",
            until_ms=told.until_ms if told is not None else None,
            rescales=tuple(
                one if one.end_ms is not None else msgspec.structs.replace(one, got=have) for one in self._rescales
            ),
        )

    def _enter(self, phase: ApplicationPhaseName, time_ms: int) -> None:
        if phase != self._phase:
            self._phase, self._since_ms = phase, time_ms

    def _end(self, got: int | None, time_ms: int, why: str) -> None:
        if self._rescales and (self._rescales[-1].end_ms is None or got is not None):
            last = self._rescales[-1]
            self._rescales[-1] = msgspec.structs.replace(
                last, got=last.got if got is None else got, end_ms=time_ms, why=why
            )
