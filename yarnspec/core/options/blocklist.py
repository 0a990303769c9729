"""The options ``blocklist.…``: which hosts yarnspec blocks by itself, and how long."""

from __future__ import annotations

import msgspec

from yarnspec.core.options.types import Count, HostList


class BlockSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Keeping off hosts that are slow or faulty. How many may be blocked at once is placement.max_blocked_share."""

    enabled: bool = True
    """Whether yarnspec blocks hosts by itself. Hosts that users and admins block are blocked in any case."""

    never_hosts: HostList = ""
    """Hosts that yarnspec never blocks by itself, as YARN names them, separated by commas (`[w1, w2]` works, too). Slow
    and failing tasks do not keep these hosts out. A task that failed there may run there again. `yarnspec hosts`,
    `--exclude-hosts` and the cluster's list still do."""

    slow_duration_ms: int = 60_000
    """How long a slow host stays blocked, unless its tasks prove it healthy before."""

    every_slow_task: bool = False
    """Whether the host of every slow task is blocked for slow_duration, as in Flink's proposal (FLINK-10644). Off: a
    host is blocked as slow only when all its tasks together prove it slow, and the work ends no later without it."""

    faulty_duration_ms: int = 600_000
    """How long a faulty host stays blocked: one on which executors or tasks fail. Each further time doubles it."""

    faulty_duration_max_ms: int = 3_600_000
    """Longest time that a faulty host stays blocked."""

    faulty_tasks: Count = 3
    """A host is faulty when three things hold. At least this many tasks failed on it and succeeded elsewhere. These are
    at least twice as many as on all other hosts together. And they are more than chance explains, given all tasks that
    ended well there and elsewhere."""

    faulty_deaths: Count = 2
    """A host is faulty as well when this many executors died young on it while others live."""

    cluster_directory: str = "/yarnspec/blocklist"
    """Directory on the cluster's file system with the blocks that hold for all applications (`yarnspec hosts
    --cluster`). `none`: this application heeds no such list."""

    cluster_refresh_ms: int = 30_000
    """How often a running application looks at the cluster's list."""

    @property
    def never(self) -> tuple[str, ...]:
        """The names in ``never_hosts``."""
        return tuple(name.strip() for name in self.never_hosts.split(",") if name.strip())
