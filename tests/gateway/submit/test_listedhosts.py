"""Which hosts on the cluster's list the AM's container is kept off: those that the application will keep off."""

from __future__ import annotations

from typing import Any, cast

import msgspec
import pytest

from tests.core.world import World, hosts
from yarnspec.core.messages.events import ClusterBlock, ClusterBlocksRead
from yarnspec.gateway.cluster.access import Cluster
from yarnspec.gateway.submit.listedhosts import listed_hosts
from yarnspec.options import default_options
from yarnspec.yarn.files.cluster_blocks import ListedBlocks

HOSTS = tuple(f"h{number}" for number in range(1, 7))


class Listed:
    """A cluster whose list has these entries."""

    def __init__(self, *entries: ClusterBlock) -> None:
        self.entries = entries

    def shared_blocks(self, _directory: str) -> Any:
        return self

    def read(self, _now_ms: int) -> ListedBlocks:
        return ListedBlocks(blocks=self.entries)


def entry(host: str, by: str, since_ms: int, *, admin: bool = False) -> ClusterBlock:
    return ClusterBlock(host=host, reason="r", by=by, since_ms=since_ms, until_ms=None, admin=admin)


@pytest.mark.parametrize(
    ("excluded", "entries"),
    [
        ((), (entry("h1", "ann", 1), entry("h2", "ann", 2), entry("h3", "bob", 3))),
        (("h6",), (entry("h1", "ann", 1), entry("h2", "bob", 2))),
        (("h1",), (entry("h1", "ann", 1), entry("h2", "bob", 2), entry("h3", "bob", 2))),
        ((), tuple(entry(host, "root", 1, admin=True) for host in HOSTS)),
        ((), (entry("elsewhere", "ann", 1), entry("h2", "ann", 2), entry("h5", "root", 9, admin=True))),
    ],
)
def test_the_am_is_kept_off_the_same_hosts_as_the_application(
    excluded: tuple[str, ...], entries: tuple[ClusterBlock, ...]
) -> None:
    shipped = default_options()
    third = msgspec.structs.replace(shipped.placement, max_blocked_share=0.34)
    options = msgspec.structs.replace(shipped, placement=third)
    world = World(blocked_share=options.placement.max_blocked_share, excluded_hosts=excluded)
    world.start(report=False)
    world.tell(hosts(*HOSTS))
    world.tell(ClusterBlocksRead(blocks=entries))
    blocked = {block.host for block in world.view().blocked_hosts}
    found, warnings = listed_hosts(cast(Cluster, Listed(*entries)), options, HOSTS, excluded)
    assert set(found) == (blocked & set(HOSTS)) - set(excluded)
    assert found
    assert warnings == ()
