"""Hosts that the cluster's list blocks, for the one container that is placed before any negotiator runs: the AM's."""

from __future__ import annotations

import time
from collections.abc import Iterable

from yarnspec.core.blocklist import blocked_limit
from yarnspec.core.events import ClusterBlock
from yarnspec.errors import YarnspecError
from yarnspec.gateway.cluster import Cluster
from yarnspec.options import Options


def listed_hosts(
    cluster: Cluster, options: Options, running: Iterable[str], excluded: Iterable[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The running hosts that the AM's container is kept off beside ``excluded`` ones, and what to warn of.

    As the negotiator does, it leaves at least one host, and takes no more than ``placement.max_blocked_share`` on the
    word of others than the list's owner. A list that cannot be read is a warning.
    """
    try:
        shared = cluster.shared_blocks(options.blocklist.cluster_directory)
        found = shared.read(int(time.time() * 1000)) if shared is not None else None
    except (YarnspecError, OSError) as error:
        return (), (f"the cluster's list of blocked hosts cannot be read: {error}",)
    if found is None:
        return (), ()
    return _within(found.blocks, frozenset(running), frozenset(excluded), options.placement.max_blocked_share), ()


def _within(
    blocks: Iterable[ClusterBlock], running: frozenset[str], excluded: frozenset[str], share: float
) -> tuple[str, ...]:
    limit = blocked_limit(share, len(running))
    avoided = set(excluded & running)
    taken = []
    for block in sorted(blocks, key=lambda one: (not one.admin, one.since_ms, one.host)):
        if block.host not in running or block.host in avoided:
            continue
        if len(avoided) + 1 >= len(running) or (not block.admin and len(avoided) >= limit):
            continue
        avoided.add(block.host)
        taken.append(block.host)
    return tuple(sorted(taken))
