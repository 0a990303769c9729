"""Whether the cluster can take the user's placement constraint, found out before anything is submitted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from yarnspec.core.options.placement import PlacementSettings
from yarnspec.errors import UsageError
from yarnspec.yarn.rm.constraint import check_hosts, check_tags, own_tags, parse
from yarnspec.yarn.rm.hosts import why_other_label
from yarnspec.yarn.rm.placement_mode import ResolvedMode
from yarnspec.yarn.rm.rm_reports import Host

_SHOWN_HOSTS = 4


def check_constraint(
    options: PlacementSettings,
    mode: ResolvedMode,
    hosts: Iterable[Host],
    *,
    label: str,
    queue_label: str,
    kept_off: Mapping[str, str],
) -> None:
    """Refuse a constraint, or allocation tags, that YARN would misread, ignore, or never satisfy.

    ``label``: that of the executors. ``kept_off``: the hosts that get no container of this application, and why.

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
    running = [host for host in hosts if host.state == "RUNNING"]
    check_hosts(constraint, [host.attributes for host in running])
    suited = [host for host in running if constraint.can_hold(host.attributes)]
    why_not = {one.host: kept_off.get(one.host) or why_other_label(one.labels, queue_label) for one in suited}
    if all(why_not.values()):
        shown = "; ".join(f"{host}: {why}" for host, why in sorted(why_not.items())[:_SHOWN_HOSTS])
        more = "; …" if len(why_not) > _SHOWN_HOSTS else ""
        raise UsageError(f"placement.constraint: no running host that satisfies it takes executors: {shown}{more}")
