"""The page's memory of stages, containers, blocks, copies and turning points. Times are milliseconds."""

from __future__ import annotations

from typing import Literal, NamedTuple

import msgspec

WIDE = ("application", "cluster")
"""The levels of blocks that keep the application off a host as a whole."""


class StageSpan(msgspec.Struct, kw_only=True):
    """One stage attempt; ``failure`` is empty unless it failed."""

    stage: int
    stage_attempt: int
    epoch: int
    name: str
    tasks: int
    began_ms: int
    ended_ms: int | None = None
    state: Literal["RUNNING", "SUCCEEDED", "FAILED"] = "RUNNING"
    failure: str = ""

    @property
    def label(self) -> str:
        """Its number, with that of its attempt where it is not the first."""
        return f"{self.stage}" if not self.stage_attempt else f"{self.stage} (attempt {self.stage_attempt})"

    def task(self, index: int) -> str:
        """The name of one of its tasks, which is another one in each attempt of the stage and each driver epoch."""
        which = [f"stage attempt {self.stage_attempt}"] if self.stage_attempt else []
        which += [f"driver epoch {self.epoch}"] if self.epoch > 1 else []
        return f"{self.stage}.{index}" + (f" ({', '.join(which)})" if which else "")


class ContainerSpan(msgspec.Struct, kw_only=True):
    """One container, from when it was allocated until it ended; ``started_ms``: what runs in it has reported."""

    id: str
    host: str
    executor_id: str
    role: Literal["am", "executor"]
    attempt: int
    began_ms: int
    started_ms: int | None = None
    ended_ms: int | None = None
    cores: int = 0
    exit_code: int | None = None
    diagnostics: str = ""


class BlockSpan(msgspec.Struct, kw_only=True):
    """One block, from its beginning to its end; ``executor_id`` is empty where it is the host's."""

    host: str
    executor_id: str
    level: str
    cause: str
    by: str
    reason: str
    began_ms: int
    until_ms: int | None
    stage: int | None = None
    index: int | None = None
    ended_ms: int | None = None
    why_ended: str = ""

    @property
    def of_whole_host(self) -> bool:
        """Whether it keeps all of the application off the host, and not one executor, stage or task only."""
        return not self.executor_id and self.level in WIDE


class CopyAsked(msgspec.Struct, kw_only=True):
    """A copy was asked for. ``stage`` is the place in the fold's list; ``not_started``: why nothing came of it.

    ``gained_ms``: about how much earlier the task ended because of it, by the ledger; None unless it was first.
    """

    stage: int
    index: int
    asked_ms: int
    reason: str
    not_hosts: tuple[str, ...] = ()
    not_started: str = ""
    gained_ms: int | None = None


MASTER = "application master"
"""Who died, where it was not only the driver."""


class Moment(NamedTuple):
    """A turning point: an attempt, a driver's death, the end. ``until_ms``: it happened between the two times.

    ``died``: of whose death it tells. ``why``: the record's own words, as warnings repeat them.
    """

    time_ms: int
    kind: str
    text: str
    until_ms: int | None = None
    died: str = ""
    why: str = ""


def reach(level: str, stage: int | None, index: int | None) -> str:
    """How far a block reaches, in words."""
    if stage is None:
        return f"the {level}"
    return f"{level} {stage}" if index is None else f"{level} {stage}.{index}"
