"""Whether the cluster can take the user's placement constraint, found out before anything is submitted."""

from __future__ import annotations

from collections.abc import Iterable

from yarnspec.core.options.placement import PlacementSettings
from yarnspec.errors import UsageError
from yarnspec.yarn.rm.constraint import check_hosts, check_tags, own_tags, parse
from yarnspec.yarn.rm.placement_mode import ResolvedMode
from yarnspec.yarn.rm.rm_reports import Host


def check_constraint(options: PlacementSettings, mode: ResolvedMode, hosts: Iterable[Host], *, label: str) -> None:
    """Refuse a constraint, or allocation tags, that YARN would misread, ignore, or never satisfy.

    ``label``: that of the executors.

    Raises:
        UsageError: what is wrong, with the part of the expression.
    """
    if options.tags:
        check_tags(options.tags)
    constraint = parse(options.constraint) if options.constraint else None
    if (constraint is not None or options.tags) and mode.mode != "constraints":
        what = "placement.constraint" if constraint is not None else "placement.tags"
        raise UsageError(f"{what}: it needs placement constraints, and the mode is blacklist: {mode.reason}")
    if constraint is None:
        return
    if label:
        raise UsageError(
            f"placement.constraint: YARN heeds no node label beside it, and executors have the label {label}; write "
            "the hosts' node attributes into the constraint instead"
        )
    if options.max_per_host and constraint.follows_tags(own_tags(options)):
        raise UsageError(
            "placement.constraint: with `in` or `cardinality` only YARN chooses the hosts, and placement.max_per_host "
            "cannot hold; give executors a tag (placement.tags) and limit it with cardinality,node,TAG,0,MAX-1"
        )
    check_hosts(constraint, [host.attributes for host in hosts if host.state == "RUNNING"])
