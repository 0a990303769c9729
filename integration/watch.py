"""Where an application's containers were, seen from the ResourceManager's REST during the whole run."""

from __future__ import annotations

import threading
from types import TracebackType

from integration.cluster import Cluster

POLL_S = 0.5


class PlacementWatch:
    """Collects container → host while it is open; the hosts' own logs complete what was too short to be seen."""

    def __init__(self, cluster: Cluster, application_id: str) -> None:
        self._cluster = cluster
        self._application_id = application_id
        self._seen: dict[str, str] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, name=f"watch-{application_id}", daemon=True)

    def __enter__(self) -> PlacementWatch:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join(30)

    def _look(self) -> None:
        while True:
            self._seen |= self._cluster.containers(self._application_id)
            if self._over.wait(POLL_S):
                return

    @property
    def by_rest(self) -> dict[str, str]:
        """What the ResourceManager's REST showed so far."""
        return dict(self._seen)

    @property
    def hosts(self) -> set[str]:
        """The hosts on which a container of the application was, by either source."""
        return set(self._seen.values()) | set(self._cluster.launched(self._application_id).values())
