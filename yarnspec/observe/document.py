"""The status document: what ``yarnspec status -o json`` and the negotiator's REST show of an application.

``state`` is the ResourceManager's word while the application lives (NEW, NEW_SAVING, SUBMITTED, ACCEPTED, RUNNING) and
how it ended afterwards (SUCCEEDED, FAILED, KILLED). ``phase`` is ours and says what a running one is at. Fields are
only ever added. Times are milliseconds since the Unix epoch.
"""

from __future__ import annotations

from typing import Literal

import msgspec

ENDED_STATES = frozenset({"SUCCEEDED", "FAILED", "KILLED"})

Phase = Literal["", "starting", "waiting", "executing", "finishing", "ended"]


class ContainerStatus(msgspec.Struct, frozen=True, kw_only=True):
    """One container of the application; ALLOCATED until what runs in it has reported, then RUNNING, then COMPLETE."""

    id: str
    host: str
    role: Literal["am", "executor"]
    state: Literal["ALLOCATED", "RUNNING", "COMPLETE"]
    executor_id: str | None = None
    attempt: int = 1
    exit_code: int | None = None
    diagnostics: str = ""


class BlockedHost(msgspec.Struct, frozen=True, kw_only=True):
    """A host that gets no new containers and tasks until ``until_ms`` (None: until somebody unblocks it)."""

    host: str
    reason: str
    until_ms: int | None
    by: str = ""


class StageStatus(msgspec.Struct, frozen=True, kw_only=True):
    """One stage attempt; ``finished`` counts tasks of the stage that are done, ``failed`` task attempts."""

    stage: int
    stage_attempt: int
    name: str
    tasks: int
    finished: int
    failed: int
    state: Literal["RUNNING", "SUCCEEDED", "FAILED"]


class TaskCounts(msgspec.Struct, frozen=True, kw_only=True):
    """Tasks of all stages so far."""

    running: int = 0
    finished: int = 0
    total: int = 0
    failed: int = 0


class Links(msgspec.Struct, frozen=True, kw_only=True):
    """Pages about the application; None when there is none (any more)."""

    resource_manager: str | None = None
    spark_ui: str | None = None


class Final(msgspec.Struct, frozen=True, kw_only=True):
    """How the application ended; ``exit_code`` is what ``yarnspec submit --wait`` answers."""

    status: str
    exit_code: int
    reason: str
    diagnostics: str = ""


class StatusDocument(msgspec.Struct, frozen=True, kw_only=True):
    """An application at one moment; see the module."""

    schema: int = 1
    application_id: str
    name: str = ""
    user: str = ""
    queue: str = ""
    state: str
    phase: Phase = ""
    attempt: int = 0
    epoch: int = 0
    placement_mode: str = ""
    started_ms: int | None = None
    finished_ms: int | None = None
    am_on_blocked_host: bool = False
    containers: tuple[ContainerStatus, ...] = ()
    dropped_containers: int = 0
    blocked_hosts: tuple[BlockedHost, ...] = ()
    wanted_containers: int = 0
    running_containers: int = 0
    pending_reason: str = ""
    stages: tuple[StageStatus, ...] = ()
    tasks: TaskCounts = TaskCounts()
    links: Links = Links()
    warnings: tuple[str, ...] = ()
    final: Final | None = None

    @property
    def ended(self) -> bool:
        """Whether nothing will change any more."""
        return self.state in ENDED_STATES
