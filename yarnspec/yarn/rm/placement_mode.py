"""Which of YARN's two ways keeps containers off hosts here: the blacklist, or placement constraints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

import msgspec

from yarnspec.errors import UsageError
from yarnspec.yarn.rm.resource_manager import SCHEDULER_KEY
from yarnspec.yarn.rm.rm_reports import Host

DEFAULT_ATTRIBUTE = "nm.yarn.io/host"
_HANDLER_KEY = "yarn.resourcemanager.placement-constraints.handler"
_ACCEPTING_HANDLERS = frozenset({"scheduler", "placement-processor"})

Mode = Literal["blacklist", "constraints"]


class ResolvedMode(msgspec.Struct, frozen=True):
    """The mode and why it is that one."""

    mode: Mode
    reason: str


class _Asked(Protocol):
    def configuration(self, name: str) -> str | None: ...

    def hosts(self, states: Sequence[str] = ()) -> tuple[Host, ...]: ...


def resolve(
    wanted: Literal["auto", "blacklist", "constraints"],
    resource_manager: _Asked,
    attribute: str = DEFAULT_ATTRIBUTE,
) -> ResolvedMode:
    """The mode to use; ``constraints`` where the cluster cannot do it is UsageError."""
    if wanted == "blacklist":
        return ResolvedMode("blacklist", "placement.mode is blacklist")
    obstacle = constraints_obstacle(resource_manager, attribute)
    if obstacle is None:
        return ResolvedMode(
            "constraints", f"the ResourceManager accepts placement constraints and all hosts publish {attribute}"
        )
    if wanted == "constraints":
        raise UsageError(f"placement.mode is constraints, but {obstacle}. Use placement.mode=auto or blacklist.")
    return ResolvedMode("blacklist", obstacle)


def constraints_obstacle(resource_manager: _Asked, attribute: str = DEFAULT_ATTRIBUTE) -> str | None:
    """Why placement constraints on the hosts' attribute cannot be used; None when they can."""
    handler = resource_manager.configuration(_HANDLER_KEY) or "disabled"
    if handler != "scheduler":
        if handler in _ACCEPTING_HANDLERS:
            return f"the ResourceManager's {_HANDLER_KEY} is {handler}, and only `scheduler` knows node attributes"
        return f"the ResourceManager's {_HANDLER_KEY} is {handler}, so it refuses placement constraints"
    scheduler = resource_manager.configuration(SCHEDULER_KEY) or ""
    if scheduler and not scheduler.endswith("CapacityScheduler"):
        return f"its scheduler is {scheduler.rpartition('.')[2]}, and only the capacity scheduler takes constraints"
    running = [host for host in resource_manager.hosts() if host.state == "RUNNING"]
    if not running:
        return "no host is RUNNING that could publish its attributes"
    without = sorted(host.host for host in running if host.attributes.get(attribute) != host.host)
    if without:
        shown = ", ".join(without[:3]) + (", …" if len(without) > 3 else "")  # noqa: PLR2004
        return (
            f"{len(without)} of {len(running)} hosts do not publish their name as the attribute {attribute} ({shown})"
        )
    return None
