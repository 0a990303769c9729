"""Arguments that a shell can complete: applications and hosts, asked of the cluster with little patience."""

from __future__ import annotations

from collections.abc import Callable

import click
import msgspec
from click.shell_completion import CompletionItem

from yarnspec.gateway.cluster.access import Cluster
from yarnspec.gateway.cluster.application_list import LAST, listed
from yarnspec.yarn.hadoop.option_files import load_options

_PATIENCE_MS = 3_000
_MOST = 30


class _FromTheCluster(click.ParamType[str]):
    """Any text; what the cluster knows is offered. A cluster that does not answer offers nothing, and says nothing."""

    def __init__(self, name: str, known: Callable[[Cluster], list[CompletionItem]], *, files: bool = False) -> None:
        self.name = name
        self._known = known
        self._files = files

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002 - click's signature
        """Return the names that begin with ``incomplete``, and files where one may be named."""
        files = [CompletionItem(incomplete, type="file")] if self._files else []
        return [*self._from_the_cluster(incomplete), *files]

    def _from_the_cluster(self, incomplete: str) -> list[CompletionItem]:
        try:
            loaded = load_options().options
            patient = msgspec.structs.replace(loaded.cluster, connect_timeout_ms=_PATIENCE_MS)
            cluster = Cluster.from_environment(msgspec.structs.replace(loaded, cluster=patient))
            try:
                return [one for one in self._known(cluster) if str(one.value).startswith(incomplete)]
            finally:
                cluster.close()
        except Exception:
            return []


def _applications(cluster: Cluster) -> list[CompletionItem]:
    found = [
        CompletionItem(one.id, help=f"{one.name}, {one.state.lower()}")
        for one in listed(cluster, user=cluster.user, most=_MOST)
    ]
    return [CompletionItem(LAST, help="the newest"), *found] if found else []


def _hosts(cluster: Cluster) -> list[CompletionItem]:
    return [CompletionItem(one.host, help=one.state.lower()) for one in cluster.rm.hosts()]


APPLICATION = _FromTheCluster("application", _applications)
APPLICATION_OR_FILE = _FromTheCluster("application", _applications, files=True)
HOST = _FromTheCluster("host", _hosts)

application_argument = click.argument("application", metavar="APP", type=APPLICATION)
host_argument = click.argument("host", metavar="HOST", type=HOST)
