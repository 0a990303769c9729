"""The cluster's hosts by name: is there such a host, and is any of them large enough."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping, Sequence

from yarnspec.core.messages.events import HostReport
from yarnspec.errors import NotFound, UsageError
from yarnspec.yarn.rm.constraint import Constraint
from yarnspec.yarn.rm.rm_reports import Host, Size

ALL_STATES = ("NEW", "RUNNING", "UNHEALTHY", "DECOMMISSIONING", "DECOMMISSIONED", "LOST", "REBOOTED", "SHUTDOWN")


def check_known(names: Iterable[str], hosts: Sequence[Host]) -> None:
    """NotFound, with what was probably meant, for a host name that the ResourceManager does not know."""
    known = {host.host for host in hosts}
    for name in names:
        if name in known:
            continue
        close = difflib.get_close_matches(name, known, n=1)
        meant = f" Did you mean {close[0]}?" if close else ""
        shown = ", ".join(sorted(known)[:10]) or "none"
        raise NotFound(f"The ResourceManager knows no host {name!r}.{meant} Its hosts: {shown}.")


def check_fits(what: str, size: Size, hosts: Sequence[Host], maximum: Size) -> None:
    """UsageError when a container is larger than the scheduler gives, or than any running host is."""
    if size.memory_mb > maximum.memory_mb or size.vcores > maximum.vcores:
        raise UsageError(
            f"{what} needs {size.memory_mb} MiB and {size.vcores} cores, but YARN's largest container here is "
            f"{maximum.memory_mb} MiB and {maximum.vcores} cores."
        )
    running = [host for host in hosts if host.state == "RUNNING"]
    # No host at all is not the request's fault: the application waits for one.
    if running and not any(host.memory_mb >= size.memory_mb and host.vcores >= size.vcores for host in running):
        largest = max(running, key=lambda host: (host.memory_mb, host.vcores))
        raise UsageError(
            f"{what} needs {size.memory_mb} MiB and {size.vcores} cores, and no host has that much; the largest, "
            f"{largest.host}, has {largest.memory_mb} MiB and {largest.vcores} cores."
        )


def check_resources(what: str, wanted: Mapping[str, int], hosts: Sequence[Host]) -> None:
    """UsageError when no running host has that many of each resource type, or the cluster does not know the type."""
    running = [host for host in hosts if host.state == "RUNNING"]
    known = sorted({name for host in hosts for name in host.resources})
    for name, amount in wanted.items():
        if running and name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            meant = f" Did you mean {close[0]}?" if close else ""
            shown = f"The cluster's hosts have {', '.join(known)}." if known else "No host has any."
            raise UsageError(f"{what} needs the resource type {name}, which no host of the cluster has.{meant} {shown}")
        most = max((host.resources.get(name, 0) for host in running), default=amount)
        if most < amount:
            raise UsageError(f"{what} needs {amount} of {name}, and no running host has more than {most}.")
    if running and not any(_has(host, wanted) for host in running):
        shown = ", ".join(f"{amount} of {name}" for name, amount in wanted.items())
        raise UsageError(f"{what} needs {shown}, and no running host has all of that.")


def _has(host: Host, wanted: Mapping[str, int]) -> bool:
    return all(host.resources.get(name, 0) >= amount for name, amount in wanted.items())


def likely_reports(hosts: Collection[Host], constraint: Constraint | None) -> list[HostReport]:
    """The hosts for a plan, by name.

    YARN tells only application masters whether the scheduler counts cores. One that does never gives more than a host
    has.
    """
    counts_cores = all(host.used_vcores <= host.vcores for host in hosts)
    reports = [report_of(host, constraint, counts_cores=counts_cores) for host in hosts]
    return sorted(reports, key=lambda one: one.host)


def report_of(host: Host, constraint: Constraint | None = None, *, counts_cores: bool = False) -> HostReport:
    """The host as the core is told of it.

    ``constraint`` is the user's. ``counts_cores``: the scheduler does, beside memory.
    """
    return HostReport(
        host=host.host,
        rack=host.rack,
        state=host.state,
        memory_mb=host.memory_mb,
        vcores=host.vcores,
        free_memory_mb=max(0, host.memory_mb - host.used_memory_mb),
        free_vcores=max(0, host.vcores - host.used_vcores) if counts_cores else None,
        labels=host.labels,
        resources=host.resources,
        free_resources=host.free_resources,
        suits=constraint is None or constraint.can_hold(host.attributes),
    )
