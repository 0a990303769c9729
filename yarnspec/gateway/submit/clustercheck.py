"""Whether the cluster can take an application, found out before anything is submitted. A plan asks the same."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from yarnspec.core.blocking.blockedshare import blocked_limit
from yarnspec.core.containers.profiles import USUAL, lacks, why_nowhere, why_other_label
from yarnspec.core.messages.events import ExecutorProfile, HostReport
from yarnspec.core.messages.settings import given_mb
from yarnspec.errors import UsageError
from yarnspec.gateway.cluster.access import Cluster
from yarnspec.gateway.submit.constraintcheck import check_constraint
from yarnspec.gateway.submit.listedhosts import listed_hosts
from yarnspec.gateway.translation.sizes import Sizes
from yarnspec.gateway.translation.sparkconf import Translation
from yarnspec.yarn.rm.constraint import constraint_of
from yarnspec.yarn.rm.hosts import ALL_STATES, check_fits, check_known, check_resources, likely_reports, report_of
from yarnspec.yarn.rm.placement_mode import ResolvedMode, resolve
from yarnspec.yarn.rm.rm_reports import Host, Size


class ClusterAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What a cluster that can take the application said of itself.

    ``listed``: the running hosts that its list blocks, beside those that are excluded. ``kept_off``: both, and why.
    """

    hosts: tuple[Host, ...]
    queue_label: str
    largest: Size
    memory_step_mb: int
    mode: ResolvedMode
    listed: tuple[str, ...]
    kept_off: dict[str, str]
    warnings: tuple[str, ...]


def ask_cluster(cluster: Cluster, translation: Translation, sizes: Sizes, *, force: bool) -> ClusterAnswer:
    """Ask the ResourceManager and HDFS; ``force``: as many hosts may be excluded as the user likes.

    Raises:
        UsageError, NotFound, ClusterUnreachable: what a user can mend, before anything is submitted.
    """
    rm, options = cluster.rm, translation.options.placement
    hosts = rm.hosts(ALL_STATES)
    queue = rm.queue(translation.yarn.queue)
    largest, step_mb = rm.maximum_allocation(queue.path), rm.memory_step_mb()
    executor = check_sizes(sizes, hosts, step_mb, largest)
    check_resources("spark.executor.resource: an executor", sizes.executor.resources, hosts)
    check_resources("spark.driver.resource: the AM container", sizes.am_resources, hosts)
    forgotten = _check_exclusions(translation, hosts, force=force)
    mode = resolve(options.mode, rm, options.host_attribute)
    # Asks HDFS whether it answers and lets this user in.
    cluster.files.exists(cluster.files.home)
    # Only then the list in HDFS, whose absence is no error: nobody shall wait for a dead HDFS twice.
    running = [host.host for host in hosts if host.state == "RUNNING"]
    listed, trouble = listed_hosts(cluster, translation.options, running, translation.exclude_hosts)
    excluded = dict.fromkeys(translation.exclude_hosts, "it is excluded at submit")
    kept_off = dict.fromkeys(listed, "it is on the cluster's list of blocked hosts") | excluded
    check_constraint(options, mode, hosts, label=sizes.executor.label)
    profile = ExecutorProfile(
        id=USUAL, count=0, memory_mb=executor.memory_mb, cores=executor.vcores, resources=sizes.executor.resources
    )
    label = sizes.executor.label or queue.default_label
    suited = _check_suited(cluster, translation, profile, hosts, label, excluded=excluded, kept_off=kept_off)
    return ClusterAnswer(
        hosts=hosts,
        queue_label=queue.default_label,
        largest=largest,
        memory_step_mb=step_mb,
        mode=mode,
        listed=listed,
        kept_off=kept_off,
        warnings=(*filter(None, [queue.note]), *forgotten, *trouble, *suited),
    )


def unknown_hosts(option: str, names: Iterable[str], hosts: Iterable[Host]) -> tuple[str, ...]:
    """A warning, not an error: what is set for all users may still name a host that was taken away."""
    unknown = sorted(set(names).difference(host.host for host in hosts))
    said = f"{option} names hosts that the ResourceManager does not know"
    return (f"{said}: {', '.join(unknown)}",) if unknown else ()


def check_sizes(sizes: Sizes, hosts: Sequence[Host], step_mb: int, largest: Size, which: str = "") -> Size:
    """Return an executor's size as YARN gives it; UsageError when it or the AM container fits on no host.

    ``which``: the executors and AM containers that are meant, for the error.
    """
    executor = Size(given_mb(sizes.executor.container_memory_mb, step_mb, largest.memory_mb), sizes.executor.cores)
    check_fits(f"--executor-memory/--executor-cores: an executor{which}", executor, hosts, largest)
    master = Size(given_mb(sizes.am_memory_mb, step_mb, largest.memory_mb), sizes.am_vcores)
    check_fits(f"--driver-memory/--driver-cores: the AM container{which}", master, hosts, largest)
    return executor


def _check_suited(
    cluster: Cluster,
    translation: Translation,
    size: ExecutorProfile,
    hosts: Sequence[Host],
    label: str,
    *,
    excluded: Mapping[str, str],
    kept_off: Mapping[str, str],
) -> tuple[str, ...]:
    """Warn when no running host takes executors now; UsageError when none will as long as the hosts stay as they are.

    A block on the cluster's list ends by itself. Nobody knows before whether the scheduler counts cores. As long as no
    host has the right node label, one may still come.
    """
    constraint = constraint_of(translation.options.placement)
    why_now = why_nowhere(likely_reports(hosts, constraint), size, label, kept_off)
    if not why_now:
        return ()
    shared = frozenset() if label else cluster.rm.shared_labels()
    certain = [report_of(one, constraint) for one in hosts if one.state == "RUNNING"]
    certain = [msgspec.structs.replace(one, labels=tuple(set(one.labels) - shared)) for one in certain]
    why = why_nowhere(certain, size, label, excluded)
    if why and not all(why_other_label(one.labels, label) for one in certain):
        causes = ", ".join(_causes(certain, size, label, excluded))
        raise UsageError(f"no running host takes executors: {why}. Change one of these: {causes}.")
    return (f"no running host takes executors now: {why_now}",)


def _causes(
    hosts: Sequence[HostReport], size: ExecutorProfile, label: str, excluded: Mapping[str, str]
) -> Iterator[str]:
    """What keeps executors off one of these hosts or another."""
    if any(why_other_label(one.labels, label) for one in hosts):
        yield "their node label (spark.yarn.executor.nodeLabelExpression)"
    if not all(one.suits for one in hosts):
        yield "placement.constraint"
    if any(lacks(one, size) for one in hosts):
        yield "their size (--executor-memory, --executor-cores, spark.executor.resource.*)"
    if any(one.host in excluded for one in hosts):
        yield "--exclude-hosts"


def _check_exclusions(translation: Translation, hosts: tuple[Host, ...], *, force: bool) -> tuple[str, ...]:
    """Hosts that YARN does not know are an error, and a warning where Spark's property names them."""
    excluded = translation.exclude_hosts
    check_known((host for host in excluded if host not in translation.exclude_nodes), hosts)
    running = {host.host for host in hosts if host.state == "RUNNING"}
    if running and running <= set(excluded):
        raise UsageError(f"--exclude-hosts: all {len(running)} running hosts are excluded; leave at least one")
    share = translation.options.placement.max_blocked_share
    limit = blocked_limit(share, len(running))
    blocked = len(running & set(excluded))
    if blocked > limit and not force:
        message = (
            f"--exclude-hosts: {blocked} of {len(running)} running hosts are more than placement.max_blocked_share "
            f"({share:g}: {limit}) allows; add --force to exclude them all the same"
        )
        raise UsageError(message)
    return unknown_hosts("spark.yarn.exclude.nodes", translation.exclude_nodes, hosts)
