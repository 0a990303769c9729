"""The list of blocked hosts that all applications of a cluster share: look at it, block and unblock hosts on it."""

from __future__ import annotations

import time
from types import TracebackType

from yarnspec.core.messages.events import ClusterBlock
from yarnspec.errors import UsageError
from yarnspec.gateway.cluster.access import Cluster
from yarnspec.options import Options
from yarnspec.units import parse_duration_ms
from yarnspec.yarn.files.cluster_blocks import OFF, ClusterBlocks, ListedBlocks
from yarnspec.yarn.rm.hosts import ALL_STATES, check_known


class ClusterHosts:
    """The shared list of the cluster that HADOOP_CONF_DIR names, as the user sees it.

    Every method asks anew. ``ClusterUnreachable``: HDFS does not answer.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    @classmethod
    def from_environment(cls, settings: Options | None = None) -> ClusterHosts:
        """The list of the cluster that HADOOP_CONF_DIR names; nothing is asked yet."""
        return cls(Cluster.from_environment(settings))

    def __enter__(self) -> ClusterHosts:
        """Close on leaving."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the connections."""
        self._cluster.close()

    def read(self) -> ListedBlocks:
        """The blocks for all applications now, and the entries that are not believed."""
        return self._list().read(_now_ms())

    def block(self, host: str, duration: str | None = None, *, reason: str) -> ClusterBlock:
        """Block a host for every application that heeds the list, for ``duration`` (None: until it is unblocked).

        Raises:
            NotFound: the cluster has no such host.
            NotAllowed: the user may not write into the list's directory.
        """
        duration_ms = None if duration is None else _parsed(duration)
        if not reason.strip():
            message = "say why: others see the block and want to know"
            raise UsageError(message)
        shared = self._list()
        check_known([host], self._cluster.rm.hosts(ALL_STATES))
        done = shared.block(host, reason=reason.strip(), duration_ms=duration_ms, now_ms=_now_ms())
        shared.sweep(_now_ms())
        return done

    def unblock(self, host: str) -> tuple[str, ...]:
        """Take a host off the list; returns who had blocked it. Raises as ``ClusterBlocks.unblock``."""
        shared = self._list()
        whose = shared.unblock(host)
        shared.sweep(_now_ms())
        return whose

    def _list(self) -> ClusterBlocks:
        options = self._cluster.options
        location = options.blocklist.cluster_directory
        shared = self._cluster.shared_blocks(location)
        if shared is None:
            message = f"there is no list for all applications: blocklist.cluster_directory is '{OFF}'"
            raise UsageError(message)
        return shared


def _parsed(duration: str) -> int:
    try:
        duration_ms = parse_duration_ms(duration)
    except ValueError as error:
        raise UsageError(str(error)) from error
    if duration_ms <= 0:
        message = "the duration of a block must be longer than 0"
        raise UsageError(message)
    return duration_ms


def _now_ms() -> int:
    return int(time.time() * 1000)
