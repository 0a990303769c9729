"""Hosts that the cluster's list blocks, for the one container that is placed before any negotiator runs: the AM's."""

from __future__ import annotations

import time
from collections.abc import Iterable

from yarnspec.core.blocking.clusterlist import objections
from yarnspec.core.messages.events import ClusterBlock
from yarnspec.errors import YarnspecError
from yarnspec.gateway.cluster.access import Cluster
from yarnspec.options import Options


def listed_hosts(
    cluster: Cluster, options: Options, running: Iterable[str], excluded: Iterable[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The running hosts that the AM's container is kept off beside ``excluded`` ones, and what to warn of.

    They are those that the negotiator will block (``clusterlist.objections``), as long as the hosts stay as they are.
    A list that cannot be read is a warning.
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
    refused = objections(blocks, running, excluded, share)
    held = {block.host for block in refused if not refused[block]}
    return tuple(sorted(held & running - excluded))
