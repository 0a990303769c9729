"""What is to be done, in the imperative: the only things that the core answers.

Every command carries its ``reason``: the facts and numbers that led to it.
"""

from __future__ import annotations

from typing import Literal

import msgspec


class Command(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Base of everything that ``Negotiator.handle`` returns."""

    reason: str


class WantedContainer(msgspec.Struct, frozen=True, kw_only=True):
    """One container that is still to come: its size and where it may, must or must not be placed."""

    id: str
    memory_mb: int
    vcores: int
    label: str = ""
    hosts: tuple[str, ...] = ()
    not_hosts: tuple[str, ...] = ()
    strict: bool = False


class StartDriver(Command, frozen=True):
    """Start the user's program and its JVM for this epoch."""

    epoch: int


class StopDriver(Command, frozen=True):
    """End the driver's processes in order, by force after a grace period."""


class RequestContainers(Command, frozen=True):
    """Ask Skein for one container per executor id; the ids are new, and never used again in this application."""

    executor_ids: tuple[str, ...]


class ReleaseContainer(Command, frozen=True):
    """Give back an executor's container, or withdraw the request when none was allocated yet."""

    executor_id: str


class UpdatePlacement(Command, frozen=True):
    """The whole desired placement, replacing what was there: blocked hosts and containers still to come."""

    version: int
    blocked_hosts: tuple[str, ...]
    wanted: tuple[WantedContainer, ...]


class BlockHost(Command, frozen=True):
    """Keep new containers and new tasks off a host until ``until_ms`` (None: until it is unblocked)."""

    host: str
    until_ms: int | None
    by: str


class UnblockHost(Command, frozen=True):
    """Let containers and tasks onto a host again."""

    host: str


class RefuseBlock(Command, frozen=True):
    """A request to block (or unblock) a host was refused; ``reason`` says why."""

    host: str
    kind: Literal["block", "unblock"] = "block"


class RemoveExecutor(Command, frozen=True):
    """Tell Spark that an executor is gone and whether the application is to blame (a task failure) or not."""

    executor_id: str
    exit_code: int
    caused_by_app: bool


class SetTimer(Command, frozen=True):
    """Send ``TimerFired`` with this name at ``at_ms``; a timer of the same name is replaced."""

    name: str
    at_ms: int


class FinishApplication(Command, frozen=True):
    """End the application for good, without another attempt, with this exit code for ``submit --wait``."""

    status: Literal["SUCCEEDED", "FAILED", "KILLED"]
    exit_code: int
    diagnostics: str = ""


class AbandonAttempt(Command, frozen=True):
    """End this attempt as crashed, so that YARN starts the next one while attempts are left."""

    exit_code: int
    diagnostics: str = ""
